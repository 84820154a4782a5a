//! Source, brought to this machine. Addresses are written by tenants: each is judged before anything is done with it.

pub(super) mod download;
pub(super) mod git;

use std::path::{Path, PathBuf};

use super::digest;

/// Scheme of archives that were uploaded to the platform itself.
const UPLOADED: &str = "terrace-blob://";

/// An archive's address, judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Archive {
    /// It was uploaded, and has this digest.
    Uploaded { hex: String },
    /// It is somewhere else.
    Remote(http::Uri),
}

/// Judges an archive's address: nobody builds what another namespace uploaded.
pub(super) fn archive(url: &str, namespace: &str) -> Result<Archive, String> {
    if let Some(rest) = url.strip_prefix(UPLOADED) {
        let Some((owner, hex)) = rest.split_once('/') else {
            return Err(format!("blob `{url}` is not of the form {UPLOADED}<namespace>/<sha256>"));
        };
        if owner != namespace {
            return Err(format!("blob `{url}` belongs to another namespace than `{namespace}`"));
        }
        if hex.len() != 64 || !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(format!("blob `{url}` does not end with the 64 digits of a sha256"));
        }
        return Ok(Archive::Uploaded { hex: hex.to_owned() });
    }
    match url.parse::<http::Uri>() {
        Ok(uri) if uri.host().is_some() && matches!(uri.scheme_str(), Some("http" | "https")) => {
            Ok(Archive::Remote(uri))
        }
        _ => Err(format!("blob `{}` is neither http, https nor an upload", without_login(url))),
    }
}

/// The file of an upload, if it is there and is what it says it is.
pub(super) fn uploaded(blobs: &Path, namespace: &str, hex: &str) -> Result<PathBuf, String> {
    let path = blobs.join(namespace).join(format!("{hex}.tar.gz"));
    match digest::file(&path) {
        Ok(found) if found == hex => Ok(path),
        Ok(_) => Err(format!("upload {hex} was damaged on disk; upload it again")),
        Err(_) => Err(format!("upload {hex} is not here (any more); upload it again")),
    }
}

/// An address without the login that may stand in it, for messages.
pub(super) fn without_login(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    path.map_or_else(|| format!("{scheme}://{host}"), |path| format!("{scheme}://{host}/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_has_its_judgement() {
        let hex = "ab".repeat(32);
        let upload = |namespace: &str| format!("terrace-blob://{namespace}/{hex}");
        let table = [
            (upload("shop"), "uploaded".to_owned()),
            (upload("other"), format!("blob `{}` belongs to another namespace than `shop`", upload("other"))),
            (
                "terrace-blob://shop/../../x".into(),
                "blob `terrace-blob://shop/../../x` does not end with the 64 digits of a sha256".into(),
            ),
            (
                "terrace-blob://shop".into(),
                "blob `terrace-blob://shop` is not of the form terrace-blob://<namespace>/<sha256>".into(),
            ),
            ("https://example.com/a.tar.gz".into(), "remote".into()),
            (
                "file:///etc/passwd".into(),
                "blob `file:///etc/passwd` is neither http, https nor an upload".into(),
            ),
            (
                "ftp://me:hunter2@example.com/x".into(),
                "blob `ftp://example.com/x` is neither http, https nor an upload".into(),
            ),
            ("/etc/passwd".into(), "blob `/etc/passwd` is neither http, https nor an upload".into()),
        ];
        for (url, want) in table {
            let told = match archive(&url, "shop") {
                Ok(Archive::Uploaded { .. }) => "uploaded".into(),
                Ok(Archive::Remote(_)) => "remote".into(),
                Err(why) => why,
            };
            assert_eq!(told, want);
        }
    }

    #[test]
    fn an_upload_is_what_its_name_says_or_is_refused() {
        let place = tempfile::TempDir::new().expect("a directory");
        std::fs::create_dir(place.path().join("shop")).expect("a directory");
        let right = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
        let file = place.path().join("shop").join(format!("{right}.tar.gz"));
        let missing = uploaded(place.path(), "shop", right).expect_err("it is not there");
        assert!(missing.contains("is not here"), "{missing}");
        std::fs::write(&file, "hello").expect("a file");
        assert_eq!(uploaded(place.path(), "shop", right), Ok(file.clone()));
        std::fs::write(&file, "other").expect("a file");
        let damaged = uploaded(place.path(), "shop", right).expect_err("it was changed");
        assert!(damaged.contains("was damaged"), "{damaged}");
    }
}
