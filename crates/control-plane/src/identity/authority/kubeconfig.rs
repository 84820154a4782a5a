//! The file that tells `kubectl` where the server is and who asks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::Issued;

/// A kubeconfig with one cluster, one user and one context, as YAML. It holds the user's private key.
pub fn kubeconfig(server: &str, ca: &str, client: &Issued, user: &str) -> String {
    // Every JSON string is a YAML string, whatever is in it.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let encoded = |text: &str| STANDARD.encode(text);
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n\
         - name: terrace\n\
         \x20 cluster:\n\
         \x20   server: {server}\n\
         \x20   certificate-authority-data: {ca}\n\
         users:\n\
         - name: {user}\n\
         \x20 user:\n\
         \x20   client-certificate-data: {certificate}\n\
         \x20   client-key-data: {key}\n\
         contexts:\n\
         - name: terrace\n\
         \x20 context:\n\
         \x20   cluster: terrace\n\
         \x20   user: {user}\n\
         current-context: terrace\n",
        server = quoted(server),
        ca = encoded(ca),
        user = quoted(user),
        certificate = encoded(&client.certificate),
        key = encoded(&client.key),
    )
}
