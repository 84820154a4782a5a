//! How a program reaches its database: the keys of a connection Secret, DSNs and URIs.

use std::{collections::BTreeMap, fmt::Write};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::secret::Sealed;

#[cfg(test)]
mod tests;

/// Key of the DSN (`host='…' port='…' …`) in a claim's Secret, whatever else the claim calls it.
pub const DSN: &str = "dsn.txt";
/// Key of the URI in a claim's Secret.
pub const URI_DSN: &str = "uri_dsn.txt";
/// Key of the URI of a read-only server in a claim's Secret.
pub const READ_ONLY_URI_DSN: &str = "ro_uri_dsn.txt";

/// The variables that binding a managed service sets, each with the key of the service's Secret it is read from.
pub const BOUND_VARIABLES: [(&str, &str); 6] = [
    ("DATABASE_URL", "uri"),
    ("PGHOST", "host"),
    ("PGPORT", "port"),
    ("PGDATABASE", "dbname"),
    ("PGUSER", "username"),
    ("PGPASSWORD", "password"),
];

/// How a connection is protected, in PostgreSQL's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SslMode {
    /// Never encrypted.
    Disable,
    /// Encrypted if the server insists.
    Allow,
    /// Encrypted if the server can.
    Prefer,
    /// Always encrypted; the server is not checked.
    #[default]
    Require,
    /// Always encrypted; the server's certificate is checked.
    VerifyCa,
    /// Always encrypted; the server's certificate and name are checked.
    VerifyFull,
}

impl SslMode {
    /// The mode as PostgreSQL spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Allow => "allow",
            Self::Prefer => "prefer",
            Self::Require => "require",
            Self::VerifyCa => "verify-ca",
            Self::VerifyFull => "verify-full",
        }
    }
}

/// Everything needed to log in.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Host name or address of the server.
    pub host: String,
    /// Host name or address of a server that only reads, where there is one.
    pub read_only_host: Option<String>,
    /// Port of either.
    pub port: u16,
    /// Database.
    pub database: String,
    /// Login.
    pub username: String,
    /// Its password.
    pub password: Sealed<String>,
    /// How the connection is protected.
    pub ssl_mode: SslMode,
}

impl Connection {
    /// The connection as `key='value'` pairs.
    pub fn dsn(&self) -> Sealed<String> {
        let port = self.port.to_string();
        let pairs = [
            ("host", self.host.as_str()),
            ("port", &port),
            ("user", &self.username),
            ("password", self.password.open()),
            ("dbname", &self.database),
            ("sslmode", self.ssl_mode.as_str()),
        ];
        let pairs = pairs.map(|(key, value)| format!("{key}={}", quoted(value)));
        Sealed::new(pairs.join(" "))
    }

    /// The connection as a URI.
    pub fn uri(&self) -> Sealed<String> {
        self.uri_of(&self.host)
    }

    /// The connection to the server that only reads, or else to the one there is, as a URI.
    pub fn read_only_uri(&self) -> Sealed<String> {
        self.uri_of(self.read_only_host.as_ref().unwrap_or(&self.host))
    }

    /// The data of a claim's Secret. `dsn_name` is the key that the claim asks for beside the fixed ones.
    pub fn secret_data(&self, dsn_name: &str) -> BTreeMap<String, Sealed<String>> {
        let plain = |value: &str| Sealed::new(value.to_owned());
        BTreeMap::from([
            (dsn_name.to_owned(), self.dsn()),
            (DSN.to_owned(), self.dsn()),
            (format!("uri_{dsn_name}"), self.uri()),
            (URI_DSN.to_owned(), self.uri()),
            (READ_ONLY_URI_DSN.to_owned(), self.read_only_uri()),
            ("hostname".to_owned(), plain(&self.host)),
            ("port".to_owned(), plain(&self.port.to_string())),
            ("database".to_owned(), plain(&self.database)),
            ("username".to_owned(), plain(&self.username)),
            ("password".to_owned(), self.password.clone()),
            ("sslmode".to_owned(), plain(self.ssl_mode.as_str())),
        ])
    }

    fn uri_of(&self, host: &str) -> Sealed<String> {
        let user = encoded(&self.username);
        let password = encoded(self.password.open());
        // An IPv6 address stands in brackets, or its colons would end the host.
        let host = if host.contains(':') { format!("[{host}]") } else { encoded(host) };
        let database = encoded(&self.database);
        let Self { port, ssl_mode, .. } = self;
        Sealed::new(format!(
            "postgres://{user}:{password}@{host}:{port}/{database}?sslmode={}",
            ssl_mode.as_str()
        ))
    }
}

/// A value of a DSN: in quotes, with quotes and backslashes escaped.
/// See <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-KEYWORD-VALUE>.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', r"\\").replace('\'', r"\'"))
}

/// A part of a URI: everything but RFC 3986's unreserved characters is percent-encoded.
fn encoded(value: &str) -> String {
    value.bytes().fold(String::with_capacity(value.len()), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}
