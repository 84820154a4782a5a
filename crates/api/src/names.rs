//! Strings with rules. Each is checked once, when it is parsed, and never again.

use std::{fmt, str::FromStr, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

mod checks;
#[cfg(test)]
mod tests;

use checks::{has_no_nul, is_dns_name, is_env, is_host, is_key, is_label, is_login, is_span, parts};

/// Longest identifier that PostgreSQL keeps whole: `NAMEDATALEN` less its final NUL.
const IDENTIFIER_MAX: usize = 63;
/// What a login appends to the role it belongs to: `_a` or `_b`.
const SUFFIX: usize = 2;
/// Longest DNS label (RFC 1035), and so the longest name of a Service or a Namespace.
const LABEL_MAX: usize = 63;
/// Longest DNS name, and so the longest name of an object.
const DNS_NAME_MAX: usize = 253;
/// Longest name of an environment variable that we take; the kernel sets no limit, admission rules need one.
const ENV_MAX: usize = 256;
/// Longest spelling of a time span; `2562047h47m16.854775807s` is the longest that Go can hold.
const SPAN_MAX: usize = 64;

/// Why a string is not the name it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// There is nothing.
    #[error("{what} must not be empty")]
    Empty {
        /// What it should have been.
        what: &'static str,
    },
    /// There is too much, counted in bytes.
    #[error("`{value}` is {length} bytes long, a {what} has at most {max}")]
    TooLong {
        /// What it should have been.
        what: &'static str,
        /// The string.
        value: String,
        /// Its length in bytes.
        length: usize,
        /// The longest that is allowed, in bytes.
        max: usize,
    },
    /// It breaks the rule.
    #[error("`{value}` is no {what}: {rule}")]
    Malformed {
        /// What it should have been.
        what: &'static str,
        /// The string.
        value: String,
        /// The rule, in words.
        rule: &'static str,
    },
}

/// The rule of one kind of name, for the checker and for the schema alike.
struct Rule {
    what: &'static str,
    max: usize,
    holds: fn(&str) -> bool,
    rule: &'static str,
    pattern: &'static str,
    /// Whether characters of several bytes are allowed, so that the schema must count bytes itself.
    wide: bool,
}

impl Rule {
    fn check(&self, value: &str) -> Result<(), NameError> {
        let &Self { what, max, holds, rule, .. } = self;
        if value.is_empty() {
            return Err(NameError::Empty { what });
        }
        if value.len() > max {
            return Err(NameError::TooLong { what, value: value.into(), length: value.len(), max });
        }
        if !holds(value) {
            return Err(NameError::Malformed { what, value: value.into(), rule });
        }
        Ok(())
    }

    fn schema(&self) -> Schema {
        let mut schema = json_schema!({
            "type": "string",
            "minLength": 1,
            "maxLength": self.max,
            "pattern": self.pattern,
        });
        if self.wide {
            // `maxLength` counts characters, the limit is in bytes.
            let rule = serde_json::json!([{
                "rule": format!("size(bytes(self)) <= {}", self.max),
                "message": format!("a {} has at most {} bytes", self.what, self.max),
            }]);
            schema.insert("x-kubernetes-validations".into(), rule);
        }
        schema
    }
}

macro_rules! checked_name {
    ($(#[$doc:meta])* $name:ident, $rule:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            const RULE: Rule = $rule;

            /// The name as a string.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(value: String) -> Result<Self, NameError> {
                Self::RULE.check(&value).map(|()| Self(value))
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(value: &str) -> Result<Self, NameError> {
                Self::try_from(value.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                Self::RULE.schema()
            }
        }
    };
}

checked_name!(
    /// The name of an object that another one refers to: a DNS name.
    ObjectName,
    Rule {
        what: "object name",
        max: DNS_NAME_MAX,
        holds: is_dns_name,
        rule: "lower case letters, digits, `-` and `.`, beginning and ending with a letter or digit",
        pattern: r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        wide: false,
    }
);

checked_name!(
    /// A DNS label: the name of a Namespace or a Service, one part of a host name.
    Label,
    Rule {
        what: "label",
        max: LABEL_MAX,
        holds: is_label,
        rule: "lower case letters, digits and `-`, beginning and ending with a letter or digit",
        pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        wide: false,
    }
);

checked_name!(
    /// The name under which the world reaches an application.
    HostName,
    Rule {
        what: "host name",
        max: DNS_NAME_MAX,
        holds: is_host,
        rule: "DNS labels of at most 63 lower case letters, digits and `-`, separated by `.`",
        pattern: r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$",
        wide: false,
    }
);

checked_name!(
    /// The name of an environment variable.
    EnvName,
    Rule {
        what: "variable name",
        max: ENV_MAX,
        holds: is_env,
        rule: "letters, digits and `_`, not beginning with a digit",
        pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
        wide: false,
    }
);

checked_name!(
    /// A key of a Secret or ConfigMap.
    SecretKey,
    Rule {
        what: "secret key",
        max: DNS_NAME_MAX,
        holds: is_key,
        rule: "letters, digits, `-`, `_` and `.`",
        pattern: r"^[-._a-zA-Z0-9]+$",
        wide: false,
    }
);

checked_name!(
    /// The name of a PostgreSQL database.
    DatabaseName,
    Rule {
        what: "database name",
        max: IDENTIFIER_MAX,
        holds: has_no_nul,
        rule: "it must not contain a NUL character",
        pattern: r"^[^\x00]+$",
        wide: true,
    }
);

checked_name!(
    /// The name of the role that owns a database, and the stem of its two logins.
    ///
    /// It leaves room for their suffix, so that PostgreSQL never cuts a login's name.
    RoleName,
    Rule {
        what: "role name",
        max: IDENTIFIER_MAX - SUFFIX,
        holds: has_no_nul,
        rule: "it must not contain a NUL character",
        pattern: r"^[^\x00]+$",
        wide: true,
    }
);

checked_name!(
    /// The name of a login: that of its role and the side it stands on.
    LoginName,
    Rule {
        what: "login name",
        max: IDENTIFIER_MAX,
        holds: is_login,
        rule: "a role name followed by `_a` or `_b`",
        pattern: r"^[^\x00]+_[ab]$",
        wide: true,
    }
);

checked_name!(
    /// A span of time as people write it: `90s`, `5m`, `1h30m`.
    Span,
    Rule {
        what: "time span",
        max: SPAN_MAX,
        holds: is_span,
        rule: "numbers, each followed by one of `ms`, `s`, `m` and `h`",
        pattern: r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$",
        wide: false,
    }
);

/// Which of a role's two logins: one is in use, the other is idle or being prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The login that ends in `_a`, which is issued first.
    A,
    /// The login that ends in `_b`.
    B,
}

impl Side {
    /// The side that a rotation turns to.
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::A => "_a",
            Self::B => "_b",
        }
    }
}

impl RoleName {
    /// The login of this role on one side.
    pub fn login(&self, side: Side) -> LoginName {
        LoginName(format!("{}{}", self.0, side.suffix()))
    }
}

impl LoginName {
    /// The side this login stands on.
    pub fn side(&self) -> Side {
        if self.0.ends_with(Side::B.suffix()) { Side::B } else { Side::A }
    }

    /// The role this login is a member of.
    pub fn role(&self) -> RoleName {
        RoleName(self.0[..self.0.len() - SUFFIX].to_owned())
    }
}

impl Span {
    /// The span as a duration. What is too long to count lasts for ever.
    pub fn duration(&self) -> Duration {
        parts(&self.0)
            .flatten()
            .map(|(amount, unit)| Duration::try_from_secs_f64(amount * unit).unwrap_or(Duration::MAX))
            .fold(Duration::ZERO, Duration::saturating_add)
    }
}
