//! A connection string, read.

use std::fmt;
use std::sync::Arc;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::source::Sealed;

/// Options of a connection string; `sslmode` is read by us, because its strict values are unknown to tokio-postgres.
const OPTIONS: [&str; 18] = [
    "user",
    "password",
    "dbname",
    "options",
    "application_name",
    "sslnegotiation",
    "host",
    "hostaddr",
    "port",
    "connect_timeout",
    "tcp_user_timeout",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "target_session_attrs",
    "channel_binding",
    "load_balance_hosts",
];

/// How a connection is to be encrypted, as libpq names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// Never.
    Disable,
    /// When both sides can.
    Prefer,
    /// Always.
    Require,
    /// Always, and the certificate is checked.
    VerifyCa,
    /// Always, and the certificate and the name in it are checked.
    VerifyFull,
}

impl SslMode {
    fn parse(text: &str) -> Result<Self, Unreadable> {
        match text {
            "disable" => Ok(Self::Disable),
            "allow" | "prefer" => Ok(Self::Prefer),
            "require" => Ok(Self::Require),
            "verify-ca" => Ok(Self::VerifyCa),
            "verify-full" => Ok(Self::VerifyFull),
            _ => Err(Unreadable::Value("sslmode")),
        }
    }

    /// Its name in a connection string.
    pub fn name(self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Prefer => "prefer",
            Self::Require => "require",
            Self::VerifyCa => "verify-ca",
            Self::VerifyFull => "verify-full",
        }
    }

    /// Whether a connection without encryption is out of the question.
    pub fn must_encrypt(self) -> bool {
        match self {
            Self::Disable | Self::Prefer => false,
            Self::Require | Self::VerifyCa | Self::VerifyFull => true,
        }
    }
}

/// Why a connection string cannot be used. It never holds a part of it but the names of known options.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// There is nothing in it.
    #[error("the connection string is empty")]
    Empty,
    /// Neither `key='value'` nor an address.
    #[error("the connection string is not of the form key='value' (byte {0})")]
    Form(usize),
    /// An option nobody knows. It may be a part of a password that lacks quotes, so it is not named.
    #[error("the connection string has an unknown option (byte {0}); quote values that hold spaces")]
    Option(usize),
    /// The value of this option is wrong.
    #[error("the connection string has a value of `{0}` that is not valid")]
    Value(&'static str),
    /// It begins like an address and is none.
    #[error("the connection string is not a valid postgres:// address; escape special characters as %XX")]
    Address,
    /// It does not say where the server is.
    #[error("the connection string names no host")]
    NoHost,
}

/// Where to log in, and as whom. What is shown of it never holds the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    config: Arc<Config>,
    mode: SslMode,
}

impl Login {
    /// Reads `key='value'` pairs or a `postgres://` address.
    pub fn parse(text: &Sealed) -> Result<Self, Unreadable> {
        let text = text.open().trim();
        if text.is_empty() {
            return Err(Unreadable::Empty);
        }
        let (mut config, mode) = match text.starts_with("postgres://") || text.starts_with("postgresql://") {
            true => address(text)?,
            false => pairs(text)?,
        };
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(Unreadable::NoHost);
        }
        config.ssl_mode(match mode {
            SslMode::Disable => tokio_postgres::config::SslMode::Disable,
            SslMode::Prefer => tokio_postgres::config::SslMode::Prefer,
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => {
                tokio_postgres::config::SslMode::Require
            }
        });
        Ok(Self { config: Arc::new(config), mode })
    }

    /// What tokio-postgres connects with. It holds the password.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How the connection is to be encrypted.
    pub fn ssl_mode(&self) -> SslMode {
        self.mode
    }

    /// Who logs in.
    pub fn user(&self) -> &str {
        self.config.get_user().unwrap_or("(nobody)")
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            Some(Host::Unix(path)) => path.display().to_string(),
            None => String::new(),
        };
        f.debug_struct("Login")
            .field("user", &self.user())
            .field("host", &host)
            .field("ports", &self.config.get_ports())
            .field("dbname", &self.config.get_dbname())
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

fn address(text: &str) -> Result<(Config, SslMode), Unreadable> {
    let (front, query) = text.split_once('?').unwrap_or((text, ""));
    let (modes, rest): (Vec<_>, Vec<_>) =
        query.split('&').filter(|pair| !pair.is_empty()).partition(|pair| pair.starts_with("sslmode="));
    let mode = match modes.last() {
        Some(pair) => SslMode::parse(pair.trim_start_matches("sslmode="))?,
        None => SslMode::Prefer,
    };
    let bare = match rest.is_empty() {
        true => front.to_owned(),
        false => format!("{front}?{}", rest.join("&")),
    };
    Ok((bare.parse().map_err(|_| Unreadable::Address)?, mode))
}

fn pairs(text: &str) -> Result<(Config, SslMode), Unreadable> {
    let mut mode = SslMode::Prefer;
    let mut bare = String::new();
    let mut reader = Reader { text, at: 0 };
    while let Some((at, key, value)) = reader.pair()? {
        if key == "sslmode" {
            mode = SslMode::parse(&value)?;
            continue;
        }
        let Some(key) = OPTIONS.into_iter().find(|known| *known == key) else {
            return Err(Unreadable::Option(at));
        };
        let quoted = format!("{key}='{}' ", value.replace('\\', "\\\\").replace('\'', "\\'"));
        quoted.parse::<Config>().map_err(|_| Unreadable::Value(key))?;
        bare.push_str(&quoted);
    }
    Ok((bare.parse().map_err(|_| Unreadable::Form(0))?, mode))
}

/// Reads pairs as libpq does: spaces around the sign, quotes, a backslash before what is meant literally.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn pair(&mut self) -> Result<Option<(usize, &'a str, String)>, Unreadable> {
        self.spaces();
        let begin = self.at;
        if self.peek().is_none() {
            return Ok(None);
        }
        while self.peek().is_some_and(|sign| sign != '=' && !sign.is_whitespace()) {
            self.step();
        }
        let key = &self.text[begin..self.at];
        self.spaces();
        if key.is_empty() || self.step() != Some('=') {
            return Err(Unreadable::Form(begin));
        }
        self.spaces();
        let value = self.value()?;
        Ok(Some((begin, key, value)))
    }

    fn value(&mut self) -> Result<String, Unreadable> {
        let begin = self.at;
        let quoted = self.peek() == Some('\'');
        if quoted {
            self.step();
        }
        let mut value = String::new();
        loop {
            match self.peek() {
                None if quoted => return Err(Unreadable::Form(begin)),
                None => return Ok(value),
                Some('\'') if quoted => {
                    self.step();
                    return Ok(value);
                }
                Some(sign) if !quoted && sign.is_whitespace() => return Ok(value),
                Some('\\') => {
                    self.step();
                    value.push(self.step().ok_or(Unreadable::Form(begin))?);
                }
                Some(sign) => {
                    self.step();
                    value.push(sign);
                }
            }
        }
    }

    fn spaces(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.step();
        }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn step(&mut self) -> Option<char> {
        let sign = self.peek()?;
        self.at += sign.len_utf8();
        Some(sign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        match Login::parse(&Sealed::new(text)) {
            Ok(login) => {
                let config = login.config();
                let word = |bytes: Option<&[u8]>| {
                    bytes.map_or("-".to_owned(), |bytes| String::from_utf8_lossy(bytes).into_owned())
                };
                let password = word(config.get_password());
                format!("{} {password} {:?} {:?}", login.user(), config.get_ports(), login.ssl_mode())
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_form_of_a_connection_string_is_read() {
        let table = [
            ("host=db user=app password=s3 port=5433", "app s3 [5433] Prefer"),
            ("host='db' user='app' password='it\\'s \\\\ here' ", "app it's \\ here [] Prefer"),
            ("host = db user = app password = 'a b' sslmode = require", "app a b [] Require"),
            ("host=db user=app password='' sslmode='verify-full'", "app  [] VerifyFull"),
            ("host=/run/postgresql user=app", "app - [] Prefer"),
            ("postgres://app:p%40ss@db:5433/orders?sslmode=disable", "app p@ss [5433] Disable"),
            (
                "postgresql://app:pass@db/orders?sslmode=verify-ca&connect_timeout=3",
                "app pass [5432] VerifyCa",
            ),
            ("\npostgres://app:pass@db/orders\n", "app pass [5432] Prefer"),
            ("  ", "the connection string is empty"),
            ("user=app password=pass", "the connection string names no host"),
            ("just-a-password", "the connection string is not of the form key='value' (byte 0)"),
            ("host=db password='open", "the connection string is not of the form key='value' (byte 17)"),
            (
                "host=db password=two words=here",
                "the connection string has an unknown option (byte 21); quote values that hold spaces",
            ),
            ("host=db port=many", "the connection string has a value of `port` that is not valid"),
            ("host=db sslmode=maybe", "the connection string has a value of `sslmode` that is not valid"),
            (
                "postgres://app:pa%ZZss@db:port/orders",
                "the connection string is not a valid postgres:// address; escape special characters as %XX",
            ),
        ];
        for (text, want) in table {
            assert_eq!(told(text), want, "{text}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let text = Sealed::new("host=db user=app password=hunter2");
        let login = Login::parse(&text).expect("it is well-formed");
        let shown = format!("{text:?} {login:?} {:?}", login.config());
        assert!(shown.contains("app") && !shown.contains("hunter2"), "{shown}");
    }
}
