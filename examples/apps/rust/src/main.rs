//! A web application with nothing but Rust's own library: one thread per request.
//!
//! It keeps nothing that would have to be written down, so SIGTERM may simply end it.

use std::io::{BufRead, BufReader, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// How long a client has to send its request.
const PATIENCE: Duration = Duration::from_secs(10);

fn main() -> Result<()> {
    let port = std::env::var("PORT").unwrap_or_else(|_| "8080".into());
    let listener = TcpListener::bind(format!("127.0.0.1:{port}"))?;
    println!("listening on port {port}");
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || {
            if let Err(error) = answer(stream) {
                eprintln!("a request came to nothing: {error}");
            }
        });
    }
    Ok(())
}

/// Reads one request and answers it.
fn answer(mut stream: TcpStream) -> Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let path = path(&stream)?;
    let (status, body) = page(&path);
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// The path in the first line of a request; the lines after it are read and left alone.
fn path(stream: &TcpStream) -> Result<String> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let target = first.split(' ').nth(1).unwrap_or("/");
    Ok(target.split('?').next().unwrap_or("/").to_owned())
}

/// What is answered to a path.
fn page(path: &str) -> (&'static str, &'static str) {
    match path {
        "/" => ("200 OK", "Hello from Rust\n"),
        "/healthz" => ("200 OK", "ok\n"),
        _ => ("404 Not Found", "there is nothing here\n"),
    }
}
