//! Archives that nobody's tar would make, and the way a client brings them to the platform.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use http::{Method, Request};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use sha2::{Digest as _, Sha256};
use tar::{EntryType, Header};

use crate::platform::Platform;

/// A tar archive, byte by byte.
#[derive(Default)]
pub struct Tar(Vec<u8>);

impl Tar {
    pub fn file(self, path: &str, contents: &[u8]) -> Self {
        let mut tar = self.entry(EntryType::Regular, path, "", contents.len() as u64);
        tar.0.extend_from_slice(contents);
        let padding = contents.len().next_multiple_of(512) - contents.len();
        tar.0.extend(std::iter::repeat_n(0, padding));
        tar
    }

    /// A header alone, whatever it says.
    pub fn entry(mut self, kind: EntryType, path: &str, link: &str, bytes: u64) -> Self {
        let mut header = Header::new_ustar();
        header.set_entry_type(kind);
        header.set_mode(0o755);
        header.set_size(bytes);
        // Past the checks of the crate, which would refuse to write what is to be refused when it is read.
        let fields = header.as_old_mut();
        fields.name[..path.len()].copy_from_slice(path.as_bytes());
        fields.linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self
    }

    /// The archive, compressed.
    pub fn gzip(mut self) -> Vec<u8> {
        self.0.extend([0; 1024]);
        gzip(&self.0)
    }

    /// What there is so far, compressed: more can be put behind it.
    pub fn part(self) -> Vec<u8> {
        gzip(&self.0)
    }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

/// Puts an archive where `terrace deploy` puts one, and returns its name for `spec.blob`.
pub fn upload(platform: &Platform, namespace: &str, archive: &[u8]) -> String {
    let digest: String = Sha256::digest(archive).iter().map(|byte| format!("{byte:02x}")).collect();
    let path = format!("/terrace/v1/namespaces/{namespace}/blobs/{digest}");
    let answered = put(platform, &path, archive);
    assert!(answered.0.is_success(), "{answered:?}");
    format!("terrace-blob://{namespace}/{digest}")
}

/// An upload, as it is answered.
pub fn put(platform: &Platform, path: &str, body: &[u8]) -> (http::StatusCode, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let request =
        Request::builder().method(Method::PUT).uri(path).body(Body::from(body.to_vec())).expect("a request");
    runtime.block_on(async {
        let book = Kubeconfig::read_from(platform.data().join("kubeconfig")).expect("the platform wrote it");
        let mut config = kube::Config::from_custom_kubeconfig(book, &KubeConfigOptions::default())
            .await
            .expect("it is good");
        config.proxy_url = None;
        let client = kube::Client::try_from(config).expect("it is good");
        let answer = client.send(request).await.expect("the platform answers");
        let status = answer.status();
        let body = answer.into_body().collect_bytes().await.expect("a whole answer");
        (status, String::from_utf8_lossy(&body).into_owned())
    })
}
