//! OpenAPI documents, built when somebody asks and kept until the catalog changes.

use std::collections::HashMap;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::kinds::catalog::Catalog;
use crate::kinds::openapi::{self, Served};

/// The media type under which clients before 1.27 want the document.
const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Compressed documents by name: they are large, asked for rarely, and the same for everybody.
#[derive(Default)]
pub(crate) struct Documents {
    kept: Mutex<HashMap<String, Bytes>>,
}

impl Documents {
    /// Forgets everything: the catalog is another one now.
    pub(crate) fn forget(&self) {
        self.kept.lock().clear();
    }

    fn get(&self, name: &str, build: impl FnOnce() -> Option<Vec<u8>>) -> Option<Bytes> {
        if let Some(kept) = self.kept.lock().get(name) {
            return Some(unpacked(kept));
        }
        let built = build()?;
        self.kept.lock().insert(name.to_owned(), packed(&built));
        Some(built.into())
    }

    /// `/openapi/v3`: which documents there are.
    pub(crate) fn root(&self, catalog: &Catalog) -> Bytes {
        let build = || Some(openapi::v3_root(&served(catalog)).to_string().into_bytes());
        self.get("v3", build).unwrap_or_default()
    }

    /// `/openapi/v3/<path>`: one group and version.
    pub(crate) fn v3(&self, catalog: &Catalog, path: &str) -> Option<Bytes> {
        let words: Vec<&str> = path.split('/').collect();
        let (group, version) = match words.as_slice() {
            ["api", version] => ("", *version),
            ["apis", group, version] => (*group, *version),
            _ => return None,
        };
        let build = || {
            openapi::v3(&served(catalog), group, version).map(|document| document.to_string().into_bytes())
        };
        self.get(&format!("v3/{path}"), build)
    }

    /// `/openapi/v2`: everything in one, as JSON or in the form older clients want.
    pub(crate) fn v2(&self, catalog: &Catalog, accept: &str) -> (&'static str, Bytes) {
        let document = || openapi::v2(&served(catalog));
        if accept.contains("proto-openapi") {
            let build = || Some(openapi::v2_protobuf(&document()));
            return (PROTOBUF, self.get("v2.protobuf", build).unwrap_or_default());
        }
        let build = || Some(document().to_string().into_bytes());
        ("application/json", self.get("v2.json", build).unwrap_or_default())
    }
}

fn served(catalog: &Catalog) -> Vec<Served<'_>> {
    catalog
        .entries()
        .iter()
        .map(|entry| Served { kind: &entry.kind, raw_schema: entry.raw_schema.as_deref() })
        .collect()
}

fn packed(bytes: &[u8]) -> Bytes {
    use std::io::Write;
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    // Writing into memory does not fail; if it ever did, an empty document would be built again.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default().into()
}

fn unpacked(bytes: &[u8]) -> Bytes {
    use std::io::Read;
    let mut out = Vec::new();
    let _ = flate2::read::DeflateDecoder::new(bytes).read_to_end(&mut out);
    out.into()
}
