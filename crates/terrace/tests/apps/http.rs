//! The smallest client there is: one request on one connection.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// Its number.
    pub status: u16,
    /// Everything, from the status line to the end of the body.
    pub text: String,
}

/// Asks `address` for `path` of `host`.
pub fn get(address: &str, host: &str, path: &str) -> std::io::Result<Answer> {
    let address: SocketAddr = address.parse().map_err(std::io::Error::other)?;
    let mut socket = TcpStream::connect_timeout(&address, PATIENCE)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket
        .write_all(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut bytes = Vec::new();
    socket.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text.split(' ').nth(1).and_then(|number| number.parse().ok()).unwrap_or_default();
    Ok(Answer { status, text })
}
