//! Requests beside the Kubernetes API, and the ends of long answers.

use std::collections::VecDeque;
use std::time::Duration;

use http::{Method, Request, Response};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use kube::core::Status;

use crate::Error;

/// How long an answer may take: nothing that agents ask for blocks longer than 30 s.
const PATIENCE: Duration = Duration::from_secs(20);
/// Most that is read of what went wrong.
const TOLD_MAX: usize = 16 * 1024;

/// Asks. An answer that is no success is an error with its message.
pub async fn ask(client: &Client, method: Method, path: &str, body: Body) -> Result<Response<Body>, Error> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::CONTENT_TYPE, "application/octet-stream")
        .body(body)
        .map_err(|error| Error::Internal(error.to_string()))?;
    let response = client.send(request).await?;
    let code = response.status();
    if code.is_success() {
        return Ok(response);
    }
    let told = end(response.into_body(), TOLD_MAX).await?;
    match serde_json::from_slice::<Status>(&told.bytes) {
        Ok(status) if !status.message.is_empty() => Err(kube::Error::Api(Box::new(status)).into()),
        _ => Err(Error::Refused(format!("the platform answered {code}"))),
    }
}

/// The end of an answer.
pub struct End {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether there was more before them.
    pub cut: bool,
}

/// The last so many bytes of an answer, however long it is: never more than those are held.
pub async fn end(body: Body, most: usize) -> Result<End, Error> {
    let reading = async {
        let (mut body, mut kept, mut cut) = (body, VecDeque::with_capacity(most), false);
        // A body that breaks off has ended.
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(data) = frame.into_data() else { continue };
            let new = &data[data.len().saturating_sub(most)..];
            let over = (kept.len() + new.len()).saturating_sub(most);
            cut |= over > 0 || new.len() < data.len();
            kept.drain(..over);
            kept.extend(new);
        }
        End { bytes: kept.into(), cut }
    };
    let late = || Error::Refused(format!("the answer took longer than {} s; try again", PATIENCE.as_secs()));
    tokio::time::timeout(PATIENCE, reading).await.map_err(|_| late())
}
