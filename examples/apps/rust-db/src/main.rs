//! Notes in PostgreSQL: POST /notes keeps one, GET /notes lists them all.
//!
//! Everything that is acknowledged is in the database, so SIGTERM may simply end it.

mod database;

use std::io::{BufRead, BufReader, Read, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use database::Database;

/// How long a client has to send its request.
const PATIENCE: Duration = Duration::from_secs(10);
/// A longer note is refused.
const LONGEST: usize = 64 * 1024;
const UNBOUND: &str = "no database is bound to this application: DATABASE_URL is not set\n";

/// The token makes a note that is kept twice one note: whoever asks again because an answer was lost loses nothing.
const KEEP: &str = "insert into notes (token, body) values ($1, $2) on conflict (token) do nothing";
const LIST: &str =
    "select coalesce(json_agg(json_build_object('id', id, 'text', body) order by id), '[]')::text from notes";

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let url = std::env::var("DATABASE_URL").ok().filter(|url| !url.is_empty());
    let database = Arc::new(url.map(|url| Database::new(&url)).transpose()?);
    let port = std::env::var("PORT").unwrap_or_else(|_| "8080".into());
    let listener = TcpListener::bind(format!("127.0.0.1:{port}"))?;
    println!("listening on port {port}");
    for stream in listener.incoming().flatten() {
        let database = database.clone();
        std::thread::spawn(move || {
            if let Err(error) = answer(stream, database.as_ref().as_ref()) {
                eprintln!("a request came to nothing: {error}");
            }
        });
    }
    Ok(())
}

/// What is asked.
struct Request {
    method: String,
    path: String,
    body: String,
}

/// Status, kind and text of an answer.
type Answer = (&'static str, &'static str, String);

/// Reads one request and answers it.
fn answer(mut stream: TcpStream, database: Option<&Database>) -> Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let (status, kind, body) = match request(&stream)? {
        Some(request) => page(&request, database),
        None => text("413 Content Too Large", "the note is too long\n"),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Reads a request; `None` if its body is too long.
fn request(stream: &TcpStream) -> Result<Option<Request>> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().unwrap_or(LONGEST + 1);
            }
            Some(_) => {}
            None => break,
        }
    }
    if length > LONGEST {
        return Ok(None);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or("/").to_owned();
    // PostgreSQL keeps every character but this one.
    let body = String::from_utf8_lossy(&body).replace('\0', "");
    Ok(Some(Request { method, path, body }))
}

fn page(request: &Request, database: Option<&Database>) -> Answer {
    match (request.method.as_str(), request.path.as_str(), database) {
        ("GET", "/", _) => text("200 OK", "Hello from Rust with a database\n"),
        // Of the program alone: one whose database is away is not mended by a restart.
        ("GET", "/healthz", _) => text("200 OK", "ok\n"),
        ("GET" | "POST", "/notes", None) => text("503 Service Unavailable", UNBOUND),
        ("GET", "/notes", Some(database)) => told(list(database)),
        ("POST", "/notes", Some(database)) => told(keep(database, &request.body)),
        _ => text("404 Not Found", "there is nothing here\n"),
    }
}

fn list(database: &Database) -> std::result::Result<Answer, postgres::Error> {
    let rows = database.run(LIST, &[])?;
    let notes = rows.first().map(|row| row.get::<_, String>(0)).unwrap_or_default();
    Ok(("200 OK", "application/json", notes + "\n"))
}

fn keep(database: &Database, body: &str) -> std::result::Result<Answer, postgres::Error> {
    database.run(KEEP, &[&token(), &body])?;
    Ok(text("201 Created", "kept\n"))
}

/// What the database said, or that it could not be asked.
fn told(answer: std::result::Result<Answer, postgres::Error>) -> Answer {
    answer.unwrap_or_else(|error| {
        eprintln!("the database failed: {error}");
        match database::passing(&error) {
            true => text("503 Service Unavailable", "the database does not answer\n"),
            false => text("500 Internal Server Error", "the database refused\n"),
        }
    })
}

fn text(status: &'static str, body: &str) -> Answer {
    (status, "text/plain", body.to_owned())
}

/// A name for a note that no other has.
fn token() -> String {
    let mut bytes = [0; 16];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.expect("the system has random numbers");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
