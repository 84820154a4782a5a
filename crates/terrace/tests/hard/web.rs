//! A browser in miniature: one connection, one request at a time, every byte of the answer accounted for.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Whoever waits so long for an answer has been dropped.
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection to the gateway.
pub struct Browser {
    address: SocketAddr,
    line: Option<BufReader<TcpStream>>,
}

/// An answer, whole.
pub struct Answer {
    pub status: u16,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

impl Browser {
    pub fn new(address: SocketAddr) -> Self {
        Self { address, line: None }
    }

    /// The next request takes a new connection.
    pub fn close(&mut self) {
        self.line = None;
    }

    pub fn get(&mut self, host: &str, path: &str) -> Result<Answer, String> {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"))
    }

    pub fn post(&mut self, host: &str, body: &str) -> Result<Answer, String> {
        self.post_to(host, "/", body)
    }

    pub fn post_to(&mut self, host: &str, path: &str, body: &str) -> Result<Answer, String> {
        let length = body.len();
        self.ask(&format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n{body}"))
    }

    fn ask(&mut self, request: &str) -> Result<Answer, String> {
        let answer = self.attempt(request);
        if answer.is_err() {
            self.line = None;
        }
        answer.map_err(|error| error.to_string())
    }

    fn attempt(&mut self, request: &str) -> std::io::Result<Answer> {
        let mut line = match self.line.take() {
            Some(line) => line,
            None => {
                let socket = TcpStream::connect_timeout(&self.address, PATIENCE)?;
                socket.set_read_timeout(Some(PATIENCE))?;
                socket.set_nodelay(true)?;
                BufReader::new(socket)
            }
        };
        line.get_mut().write_all(request.as_bytes())?;
        let mut head = Vec::new();
        loop {
            let mut text = String::new();
            if line.read_line(&mut text)? == 0 {
                return Err(std::io::Error::other(format!("closed after {head:?}")));
            }
            if text.trim_end().is_empty() {
                break;
            }
            head.push(text.trim_end().to_ascii_lowercase());
        }
        let field = |name: &str| head.iter().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let status = head.first().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let status = status.ok_or_else(|| std::io::Error::other("no status line"))?;
        let length = field("content-length:").and_then(|text| text.parse().ok());
        let length: usize = length.ok_or_else(|| std::io::Error::other(format!("no length in {head:?}")))?;
        let mut body = vec![0; length];
        line.read_exact(&mut body)?;
        if field("connection:") != Some("close") {
            self.line = Some(line);
        }
        Ok(Answer { status, body: String::from_utf8_lossy(&body).into_owned() })
    }
}
