//! Where source archives and the logs of builds are found, beside the Kubernetes API.

/// What every path begins with.
pub const PREFIX: &str = "/terrace/v1/";

/// Path of an archive.
pub fn blob_path(namespace: &str, digest: &str) -> String {
    format!("{PREFIX}namespaces/{namespace}/blobs/{digest}")
}

/// The archive as an Application names it.
pub fn blob_url(namespace: &str, digest: &str) -> String {
    format!("terrace-blob://{namespace}/{digest}")
}

/// Path of the log of an application's latest build.
pub fn log_path(namespace: &str, name: &str) -> String {
    format!("{PREFIX}namespaces/{namespace}/builds/{name}/log")
}
