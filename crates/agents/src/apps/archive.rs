//! Files as an archive: the same files always make the same bytes.

use flate2::Compression;
use flate2::write::GzEncoder;
use http::Method;
use kube::Client;
use kube::client::Body;
use sha2::{Digest, Sha256};

use super::files::Tree;
use super::paths::{blob_path, blob_url};
use super::request::ask;
use crate::Error;
use crate::audit::hex;

/// When every file in an archive is said to have changed: 2000-01-01, which zip tools take too (they begin in 1980).
pub const CHANGED: u64 = 946_684_800;

/// An archive in memory.
#[derive(Clone, Debug)]
pub struct Packed {
    /// The tar.gz.
    pub archive: Vec<u8>,
    /// Its SHA-256, in lower-case digits.
    pub digest: String,
}

/// What is said of a file in an archive: nothing of when, where and by whom it was made.
pub fn header(size: u64, executable: bool) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Regular);
    header.set_mtime(CHANGED);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mode(if executable { 0o755 } else { 0o644 });
    header.set_size(size);
    header
}

/// Packs files. What begins with `#!` can be run.
pub fn pack(tree: &Tree) -> std::io::Result<Packed> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (path, content) in tree {
        let mut header = header(content.len() as u64, content.starts_with(b"#!"));
        archive.append_data(&mut header, path, content.as_slice())?;
    }
    let archive = archive.into_inner()?.finish()?;
    let digest = hex(&Sha256::digest(&archive));
    Ok(Packed { archive, digest })
}

/// Brings an archive to the platform, unless it is there already, and says how an Application names it.
pub async fn upload(client: &Client, namespace: &str, packed: Packed) -> Result<String, Error> {
    let Packed { archive, digest } = packed;
    let path = blob_path(namespace, &digest);
    if ask(client, Method::HEAD, &path, Body::empty()).await.is_err() {
        ask(client, Method::PUT, &path, Body::from(archive)).await?;
    }
    Ok(blob_url(namespace, &digest))
}
