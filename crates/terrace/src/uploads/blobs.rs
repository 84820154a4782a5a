//! Archives on disk, named by what they hold: whole and checked, or not there.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use control_plane::status::{Reason, Status};
use control_plane::wire::Upload;
use http::StatusCode;
use http_body_util::BodyExt;
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;

use super::Settings;

/// How long an upload may take in all: 256 MiB over a line of 4 Mbit/s.
const UPLOAD_MAX: Duration = Duration::from_secs(10 * 60);
/// How the name of an archive ends.
pub(super) const ARCHIVE: &str = ".tar.gz";
/// How the name of an upload under way ends.
pub(super) const PART: &str = ".part";

/// Whether an archive came now or was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    New,
    Known,
}

pub(super) struct Blobs {
    dir: PathBuf,
    archive_max: u64,
    patience: Duration,
}

impl Blobs {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { dir: settings.blobs.clone(), archive_max: settings.archive_max, patience: settings.patience }
    }

    /// Whether an archive is there. It counts as new from now on, so that it stays until it is used.
    pub(super) fn renew(&self, namespace: &str, digest: &str) -> bool {
        let opened = std::fs::File::options().append(true).open(self.path(namespace, digest));
        opened.is_ok_and(|file| file.set_modified(SystemTime::now()).is_ok())
    }

    /// Takes an archive in. Nothing is left of one that is too large, comes too slowly or is not what it is said
    /// to be.
    pub(super) async fn put(
        &self,
        namespace: &str,
        digest: &str,
        length: Option<u64>,
        body: Upload,
    ) -> Result<Stored, Status> {
        if length.is_some_and(|length| length > self.archive_max) {
            return Err(self.too_large());
        }
        if self.renew(namespace, digest) {
            return Ok(Stored::Known);
        }
        let folder = self.dir.join(namespace);
        crate::place::private_dir(&folder).map_err(|error| lost(&error))?;
        let part = Part(folder.join(format!("{digest}.{}{PART}", uuid::Uuid::new_v4())));
        let receiving = self.receive(&part.0, digest, body);
        tokio::time::timeout(UPLOAD_MAX, receiving).await.map_err(|_| too_slow())??;
        tokio::fs::rename(&part.0, self.path(namespace, digest)).await.map_err(|error| lost(&error))?;
        // The name is durable only when its directory is.
        let synced = tokio::task::spawn_blocking(move || std::fs::File::open(folder)?.sync_all());
        synced.await.map_err(|error| lost(&error))?.map_err(|error| lost(&error))?;
        Ok(Stored::New)
    }

    async fn receive(&self, part: &Path, digest: &str, mut body: Upload) -> Result<(), Status> {
        let mut options = tokio::fs::OpenOptions::new();
        let opened = options.write(true).create_new(true).mode(0o600).open(part).await;
        let mut file = opened.map_err(|error| lost(&error))?;
        let mut hash = Sha256::new();
        let mut size = 0;
        loop {
            let frame = tokio::time::timeout(self.patience, body.frame()).await.map_err(|_| too_slow())?;
            let Some(frame) = frame else { break };
            let frame = frame.map_err(|_| Status::bad_request("the archive broke off on its way"))?;
            let Ok(data) = frame.into_data() else { continue };
            size += data.len() as u64;
            if size > self.archive_max {
                return Err(self.too_large());
            }
            hash.update(&data);
            file.write_all(&data).await.map_err(|error| lost(&error))?;
        }
        let found = hex(&hash.finalize());
        if found != digest {
            let message =
                format!("the archive that came has the digest {found}, not {digest}; send it again");
            return Err(Status::bad_request(message));
        }
        file.sync_all().await.map_err(|error| lost(&error))
    }

    fn path(&self, namespace: &str, digest: &str) -> PathBuf {
        self.dir.join(namespace).join(format!("{digest}{ARCHIVE}"))
    }

    fn too_large(&self) -> Status {
        let message = format!(
            "the archive is too large: limit is {} MiB; leave out what is not source, with a .gitignore or .ignore \
             file",
            self.archive_max >> 20
        );
        Status::new(StatusCode::PAYLOAD_TOO_LARGE, Reason::RequestEntityTooLarge, message)
    }
}

/// An upload under way: its file goes when nobody waits for it any more. Once it is renamed there is nothing to go.
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Bytes as lower-case digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn too_slow() -> Status {
    let message = "the archive did not come in time; send it again over a faster line";
    Status::new(StatusCode::REQUEST_TIMEOUT, Reason::Timeout, message)
}

/// The disk failed us. Where exactly is for the log, not for the client.
fn lost(error: &dyn std::error::Error) -> Status {
    tracing::warn!(%error, "cannot keep an archive");
    Status::internal("the archive could not be written; the platform's disk may be full")
}
