//! The servers that are compared: ours by this very program, nginx with a configuration made here.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gateway::{Doors, Gateway, Route, Settings, Table};
use tokio_util::sync::CancellationToken;

use crate::Outcome;

const START_LIMIT: Duration = Duration::from_secs(5);
/// The unit of processor time in `/proc`, on every Linux that is in use.
const TICK: Duration = Duration::from_millis(10);

/// All of them; dropping ends every process.
pub struct Servers {
    pub files: Server,
    pub proxy: Server,
    pub nginx_files: Option<Server>,
    pub nginx_proxy: Option<Server>,
}

impl Servers {
    pub fn start(directory: &Path) -> Outcome<Self> {
        let files = Server::ours("serve-files", &directory.display().to_string())?;
        let proxy = Server::ours("serve-proxy", &files.address.to_string())?;
        let nginx = nginx_program();
        let start = |name: &str, location: String| {
            nginx
                .as_ref()
                .map(|program| Server::nginx(program, &directory.join(name), files.address, &location))
                .transpose()
        };
        let nginx_files = start("nginx-files", format!("root {};", directory.display()))?;
        let nginx_proxy = start("nginx-proxy", format!("proxy_pass http://backend; {PROXY}"))?;
        return Ok(Self { nginx_files, nginx_proxy, files, proxy });

        /// What our gateway does without being told.
        const PROXY: &str = "proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_set_header Host $host; \
            proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Host $host; \
            proxy_set_header X-Forwarded-Proto $scheme;";
    }
}

/// One process with its children.
pub struct Server {
    pub address: SocketAddr,
    child: Child,
}

impl Server {
    fn ours(role: &str, argument: &str) -> Outcome<Self> {
        let mut child =
            Command::new(std::env::current_exe()?).args([role, argument]).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        Ok(Self { address: line.trim().parse()?, child })
    }

    fn nginx(program: &Path, home: &Path, backend: SocketAddr, location: &str) -> Outcome<Self> {
        fs::create_dir(home)?;
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let home_path = home.display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {home_path}/{kind};\n"))
            .concat();
        let configuration = format!(
            "worker_processes 2;\ndaemon off;\npid {home_path}/pid;\nerror_log stderr crit;\nevents {{ worker_connections 1024; }}\n\
            http {{\naccess_log off;\nsendfile on;\ntcp_nopush on;\nkeepalive_requests 1000000000;\n{temporary}\
            upstream backend {{ server {backend}; keepalive 256; keepalive_requests 1000000000; }}\n\
            server {{ listen {address}; location / {{ {location} }} }}\n}}\n"
        );
        fs::write(home.join("nginx.conf"), configuration)?;
        let child =
            Command::new(program).arg("-p").arg(home).arg("-c").arg(home.join("nginx.conf")).spawn()?;
        let server = Self { address, child };
        let began = Instant::now();
        while TcpStream::connect(address).is_err() {
            if began.elapsed() > START_LIMIT {
                return Err("nginx does not listen".into());
            }
            std::thread::yield_now();
        }
        Ok(server)
    }

    /// User and system time so far, with that of children.
    pub fn cpu(&self) -> Outcome<Duration> {
        let id = self.child.id();
        let tasks = fs::read_to_string(format!("/proc/{id}/task/{id}/children"))?;
        let ids = tasks.split_whitespace().map(str::to_owned).chain([id.to_string()]);
        ids.map(|id| ticks(&id)).sum::<Outcome<u32>>().map(|ticks| TICK * ticks)
    }
}

fn ticks(id: &str) -> Outcome<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    Ok(fields.get(11).ok_or("no user time")?.parse::<u32>()?
        + fields.get(12).ok_or("no system time")?.parse::<u32>()?)
}

impl Drop for Server {
    /// nginx ends its workers when it is asked to, and not when it is killed.
    fn drop(&mut self) {
        let id = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap_or_default());
        if id.as_raw() > 0 {
            let _ = nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM);
        }
        let _ = self.child.wait();
    }
}

/// From `scripts/ensure nginx`, or installed.
fn nginx_program() -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache");
    let cache = std::env::var_os("TERRACE_CACHE_DIR").map_or(workspace, PathBuf::from);
    let places = [cache.join("tools/nginx/usr/sbin/nginx"), PathBuf::from("/usr/sbin/nginx")];
    places.into_iter().find(|place| place.is_file())
}

fn runtime() -> Outcome<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

async fn listener() -> Outcome<tokio::net::TcpListener> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
    Ok(listener)
}

/// The process of our static files.
pub fn files(directory: &str) -> Outcome<()> {
    runtime()?.block_on(async {
        let listener = listener().await?;
        Ok(gateway::files::serve(Path::new(directory), listener, CancellationToken::new()).await?)
    })
}

/// The process of our proxy.
pub fn proxy(backend: &str) -> Outcome<()> {
    let (host, path_prefix, name) = ("bench.test".to_owned(), String::new(), "demo/bench".to_owned());
    let route = Route {
        host,
        path_prefix,
        exact: false,
        priority: 0,
        doors: Doors::BOTH,
        backends: vec![backend.parse()?],
        name,
    };
    runtime()?.block_on(async {
        let gateway = Gateway::new(Settings::default());
        gateway.follow(Table { routes: vec![route], ..Table::default() });
        gateway.serve_http(listener().await?, CancellationToken::new()).await;
        Ok(())
    })
}
