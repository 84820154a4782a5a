//! What a repository wants to see, in the form of Flux's Secrets.

use std::collections::BTreeMap;

use api::secret::Sealed;

/// Credentials, as a Secret for Flux has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Login {
    /// Name for git over HTTP.
    pub username: Option<String>,
    /// Its password.
    pub password: Option<Sealed<String>>,
    /// A token for git over HTTP in place of both.
    pub bearer_token: Option<Sealed<String>>,
    /// A private key for ssh.
    pub identity: Option<Sealed<String>>,
    /// Keys of the host for ssh.
    pub known_hosts: Option<String>,
    /// Certificates of authorities that the host's own may be signed by.
    pub ca_file: Option<String>,
}

impl Login {
    /// Reads the data of a Secret. Says what is wrong with it, and nothing of what it holds.
    pub fn read(data: &BTreeMap<String, Vec<u8>>) -> Result<Self, String> {
        let text = |key: &str| match data.get(key) {
            None => Ok(None),
            Some(bytes) => match String::from_utf8(bytes.clone()) {
                Ok(text) if !text.contains('\0') => Ok(Some(text)),
                _ => Err(format!("key '{key}' is no text")),
            },
        };
        let line = |key: &str| match text(key)? {
            Some(value) if value.contains(['\n', '\r']) => Err(format!("key '{key}' is more than one line")),
            value => Ok(value),
        };
        let ca_file = text("ca.crt")?.or(text("caFile")?);
        let login = Self {
            username: line("username")?,
            password: line("password")?.map(Sealed::new),
            bearer_token: line("bearerToken")?.map(Sealed::new),
            identity: text("identity")?.map(Sealed::new),
            known_hosts: text("known_hosts")?,
            ca_file,
        };
        if login == Self::default() {
            return Err(
                "it has none of the keys username and password, bearerToken, identity and known_hosts, caFile".into(),
            );
        }
        Ok(login)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_as_flux_reads_it() {
        let data = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
        };
        let login = Login::read(&data(&[("username", "u"), ("password", "hunter2")])).expect("it is good");
        assert_eq!(login.username.as_deref(), Some("u"));
        assert!(!format!("{login:?}").contains("hunter2"));
        for (pairs, want) in [
            (&[("other", "x")][..], "it has none of the keys"),
            (&[("password", "hunter2\nx")][..], "key 'password' is more than one line"),
        ] {
            let told = Login::read(&data(pairs)).expect_err("it is refused");
            assert!(told.starts_with(want) && !told.contains("hunter2"), "{told}");
        }
    }
}
