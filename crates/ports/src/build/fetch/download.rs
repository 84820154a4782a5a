//! Archives over HTTP, within bounds of size, time and redirects.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, LOCATION, USER_AGENT};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::io::AsyncWriteExt as _;

use super::without_login;

/// How often an answer may send us elsewhere; file hosts do it once or twice.
const REDIRECTS: usize = 5;
/// How long a server may be silent.
const SILENCE: Duration = Duration::from_secs(30);

type HttpClient = Client<HttpsConnector<HttpConnector>, Empty<Bytes>>;

/// Downloads an archive into a file. The error says for a person why it is not there; what a server sent is never
/// shown.
pub(in super::super) async fn download(from: &Uri, to: &Path, most_bytes: u64) -> Result<(), String> {
    let shown = without_login(&from.to_string());
    let why = |why: String| format!("cannot download {shown}: {why}");
    let response = follow(&client().map_err(why)?, from.clone()).await.map_err(why)?;
    save(response, to, most_bytes).await.map_err(why)
}

fn client() -> Result<HttpClient, String> {
    let builder = HttpsConnectorBuilder::new()
        .with_provider_and_native_roots(rustls::crypto::aws_lc_rs::default_provider())
        .map_err(|error| format!("this machine's certificates cannot be read: {error}"))?;
    Ok(Client::builder(TokioExecutor::new()).build(builder.https_or_http().enable_http1().build()))
}

async fn follow(client: &HttpClient, mut uri: Uri) -> Result<Response<Incoming>, String> {
    for _ in 0..=REDIRECTS {
        let request = request(&uri)?;
        let response = match tokio::time::timeout(SILENCE, client.request(request)).await {
            Ok(response) => response.map_err(|error| chain(&error))?,
            Err(_) => return Err(format!("no answer within {} seconds", SILENCE.as_secs())),
        };
        if !response.status().is_redirection() {
            return match response.status() {
                StatusCode::OK => Ok(response),
                status => Err(format!("the server answered {status}")),
            };
        }
        uri = next(&uri, &response)?;
    }
    Err(format!("more than {REDIRECTS} redirects"))
}

fn request(uri: &Uri) -> Result<Request<Empty<Bytes>>, String> {
    let host = uri.authority().map(|authority| authority.as_str()).unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let request = Request::get(uri.clone()).header(HOST, host).header(USER_AGENT, "terrace");
    request.body(Empty::new()).map_err(|error| error.to_string())
}

/// Where a redirect leads. It may not leave encryption behind.
fn next(from: &Uri, response: &Response<Incoming>) -> Result<Uri, String> {
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let location = location.ok_or("a redirect leads nowhere")?;
    let text = match (from.scheme_str(), from.authority()) {
        (Some(scheme), Some(host)) if location.starts_with('/') => format!("{scheme}://{host}{location}"),
        _ => location.to_owned(),
    };
    let to: Uri = text.parse().map_err(|_| "a redirect leads to no address")?;
    match (from.scheme_str(), to.scheme_str()) {
        (_, Some("https")) | (Some("http"), Some("http")) => Ok(to),
        _ => Err("a redirect leads away from https".into()),
    }
}

async fn save(response: Response<Incoming>, to: &Path, most_bytes: u64) -> Result<(), String> {
    let file = |error: std::io::Error| format!("it cannot be stored: {error}");
    let mut body = response.into_body();
    let mut out = tokio::fs::File::create_new(to).await.map_err(file)?;
    let mut left = most_bytes;
    loop {
        let frame = match tokio::time::timeout(SILENCE, body.frame()).await {
            Ok(Some(frame)) => frame.map_err(|error| chain(&error))?,
            Ok(None) => return out.flush().await.map_err(file),
            Err(_) => return Err(format!("the server was silent for {} seconds", SILENCE.as_secs())),
        };
        let Some(data) = frame.data_ref() else { continue };
        left = left
            .checked_sub(data.len() as u64)
            .ok_or_else(|| format!("it is larger than {most_bytes} bytes"))?;
        out.write_all(data).await.map_err(file)?;
    }
}

/// An error with what caused it.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpListener;

    use super::*;

    /// Serves each connection the answer for its path.
    async fn server(answer: impl Fn(&str) -> String + Send + 'static) -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback is there");
        let address = listener.local_addr().expect("it is bound");
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut buffer = vec![0; 4096];
                let count = stream.read(&mut buffer).await.unwrap_or_default();
                let request = String::from_utf8_lossy(&buffer[..count]).into_owned();
                let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                let _ = stream.write_all(answer(&path).as_bytes()).await;
            }
        });
        address
    }

    #[tokio::test]
    async fn an_archive_arrives_or_the_reason_is_told() {
        let address = server(|path| match path {
            "/moved" => "HTTP/1.1 302 Found\r\nlocation: /file\r\ncontent-length: 0\r\n\r\n".into(),
            "/round" => "HTTP/1.1 302 Found\r\nlocation: /round\r\ncontent-length: 0\r\n\r\n".into(),
            "/away" => {
                "HTTP/1.1 302 Found\r\nlocation: ftp://localhost/x\r\ncontent-length: 0\r\n\r\n".into()
            }
            "/file" => "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello".into(),
            _ => "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".into(),
        })
        .await;
        let table = [
            ("/file", 5, "hello".to_owned()),
            ("/moved", 5, "hello".to_owned()),
            ("/file", 4, format!("cannot download http://{address}/file: it is larger than 4 bytes")),
            ("/none", 5, format!("cannot download http://{address}/none: the server answered 404 Not Found")),
            ("/round", 5, format!("cannot download http://{address}/round: more than 5 redirects")),
            ("/away", 5, format!("cannot download http://{address}/away: a redirect leads away from https")),
        ];
        for (path, most, want) in table {
            let place = tempfile::TempDir::new().expect("a directory");
            let file = place.path().join("archive");
            let uri: Uri = format!("http://me:hunter2@{address}{path}").parse().expect("an address");
            let told = match download(&uri, &file, most).await {
                Ok(()) => std::fs::read_to_string(&file).expect("it was stored"),
                Err(why) => why,
            };
            assert_eq!(told, want);
        }
    }
}
