//! Questions over sockets, and by commands.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;

use super::{Check, Prober};

/// How much of an answer is read: the first line is enough.
const ENOUGH: usize = 1024;

/// Asks for real.
#[derive(Clone, Copy, Debug, Default)]
pub struct Live;

impl Prober for Live {
    async fn ask(&self, check: &Check, timeout: Duration) -> Result<(), String> {
        match tokio::time::timeout(timeout, ask(check)).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("no answer within {} s", timeout.as_secs_f32())),
        }
    }
}

async fn ask(check: &Check) -> Result<(), String> {
    match check {
        Check::Tcp(address) => connect(*address).await.map(drop),
        Check::Http { address, path, headers } => http(*address, path, headers).await,
        Check::Exec { .. } => exec(check).await,
    }
}

async fn connect(address: SocketAddr) -> Result<TcpStream, String> {
    TcpStream::connect(address).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::ConnectionRefused => format!("nothing listens on port {}", address.port()),
        _ => format!("cannot connect to port {}: {error}", address.port()),
    })
}

async fn http(address: SocketAddr, path: &str, headers: &[(String, String)]) -> Result<(), String> {
    let mut stream = connect(address).await?;
    let mut question = format!("GET {} HTTP/1.1\r\n", clean(path).replace(' ', "%20"));
    let named = |name: &str| headers.iter().any(|(held, _)| held.eq_ignore_ascii_case(name));
    if !named("host") {
        question.push_str(&format!("Host: {address}\r\n"));
    }
    if !named("user-agent") {
        question.push_str("User-Agent: kube-probe/1.36\r\n");
    }
    for (name, value) in headers {
        question.push_str(&format!("{}: {}\r\n", clean(name), clean(value)));
    }
    question.push_str("Accept: */*\r\nConnection: close\r\n\r\n");
    let dead = |error| format!("port {} broke the connection: {error}", address.port());
    stream.write_all(question.as_bytes()).await.map_err(dead)?;
    let mut answer = Vec::with_capacity(ENOUGH);
    while answer.len() < ENOUGH && !answer.contains(&b'\n') {
        if stream.read_buf(&mut answer).await.map_err(dead)? == 0 {
            break;
        }
    }
    judge(&answer, path, address)
}

/// Takes out what would end a line of the question.
fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

fn judge(answer: &[u8], path: &str, address: SocketAddr) -> Result<(), String> {
    let line = String::from_utf8_lossy(answer);
    let mut words = line.split_ascii_whitespace();
    let http = words.next().is_some_and(|word| word.starts_with("HTTP/1"));
    let code = words.next().filter(|_| http).and_then(|word| word.parse::<u16>().ok());
    match code {
        Some(200..=399) => Ok(()),
        Some(code) => Err(format!("{path} on port {} answered {code}", address.port())),
        None => Err(format!("port {} did not answer in HTTP", address.port())),
    }
}

async fn exec(check: &Check) -> Result<(), String> {
    let Check::Exec { command, directory, env, user } = check else { return Ok(()) };
    let Some((program, arguments)) = command.split_first() else {
        return Err("the command of the probe is empty".into());
    };
    let mut order = Command::new(program);
    order.args(arguments).current_dir(directory).env_clear();
    order.envs(env.iter().map(|(name, value)| (name, value.open())));
    order.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    if let Some(user) = user {
        order.uid(*user).gid(*user);
    }
    let ended = order.status().await.map_err(|error| format!("`{program}` cannot be run: {error}"))?;
    match ended.code() {
        Some(0) => Ok(()),
        Some(code) => Err(format!("`{program}` ended with code {code}")),
        None => Err(format!("`{program}` was ended by a signal")),
    }
}
