//! What a private repository wants to see. It reaches git through its environment and a helper that git asks when the
//! repository wants it: never as an argument, in a file or in a log.

use std::collections::BTreeMap;

use api::secret::Sealed;

/// Variables that the helper reads.
const USERNAME: &str = "TERRACE_GIT_USERNAME";
const PASSWORD: &str = "TERRACE_GIT_PASSWORD";
/// What git asks. The words are the same for everybody; the secret stands in none of them.
const HELPER: &str = "!f() { test \"$1\" = get || exit 0; \
    printf 'username=%s\\npassword=%s\\n' \"$TERRACE_GIT_USERNAME\" \"$TERRACE_GIT_PASSWORD\"; }; f";

/// A user name and a password, or a token in its place, for all repositories below an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// What the addresses begin with: `https://git.example.com`, `https://git.example.com/team`.
    pub prefix: String,
    /// The user name.
    pub username: String,
    /// The password.
    pub password: Sealed<String>,
}

impl Login {
    /// Whether it is for a repository: the same scheme, host and port, and a path below its own.
    pub fn fits(&self, url: &str) -> bool {
        let (Some(own), Some(other)) = (Parts::of(&self.prefix), Parts::of(url)) else { return false };
        let below = own.path.iter().zip(&other.path).all(|(one, two)| one == two);
        let plain = !other.path.contains(&"..") && !other.path.contains(&".");
        own.scheme == other.scheme
            && own.host == other.host
            && below
            && own.path.len() <= other.path.len()
            && plain
    }

    /// What git is told.
    pub(super) fn environment(&self) -> BTreeMap<String, String> {
        let told = [
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", &format!("credential.{}.helper", self.prefix)),
            ("GIT_CONFIG_VALUE_0", HELPER),
            (USERNAME, &self.username),
            (PASSWORD, self.password.open()),
        ];
        told.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}

/// The parts of an address that a login is judged by.
struct Parts<'a> {
    scheme: &'a str,
    host: String,
    path: Vec<&'a str>,
}

impl<'a> Parts<'a> {
    fn of(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let usual = match scheme {
            "https" => ":443",
            "http" => ":80",
            _ => return None,
        };
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host).to_ascii_lowercase();
        let host = host.strip_suffix(usual).unwrap_or(&host).to_owned();
        let path = path.split('/').filter(|part| !part.is_empty()).collect();
        (!host.is_empty()).then_some(Self { scheme, host, path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_for_its_own_host_and_what_lies_below() {
        let table = [
            ("https://github.com", "https://github.com/team/shop.git", true),
            ("https://github.com", "https://GitHub.com:443/team/shop", true),
            ("https://github.com", "https://ann@github.com/shop", true),
            ("https://github.com", "https://github.com.evil.example/shop", false),
            ("https://github.com", "https://evil.example/github.com", false),
            ("https://github.com", "https://github.com@evil.example/shop", false),
            ("https://github.com", "http://github.com/shop", false),
            ("https://github.com", "https://github.com:8443/shop", false),
            ("https://github.com", "git@github.com:team/shop.git", false),
            ("https://github.com/team", "https://github.com/team/shop", true),
            ("https://github.com/team/", "https://github.com/team/shop", true),
            ("https://github.com/team", "https://github.com/teams/shop", false),
            ("https://github.com/team", "https://github.com/other/shop", false),
            ("https://github.com/team", "https://github.com/team/../other", false),
            ("https://github.com/team", "https://github.com", false),
            ("git@github.com", "https://github.com/shop", false),
            ("https://", "https:///shop", false),
        ];
        for (prefix, url, want) in table {
            let login =
                Login { prefix: prefix.into(), username: "u".into(), password: Sealed::new("p".into()) };
            assert_eq!(login.fits(url), want, "{prefix} {url}");
        }
    }

    #[test]
    fn what_git_is_told_holds_the_secret_in_one_place_alone() {
        let prefix = "https://github.com".into();
        let login = Login { prefix, username: "ann".into(), password: Sealed::new("hunter2".into()) };
        let told = login.environment();
        let places: Vec<&String> =
            told.iter().filter(|(_, value)| value.contains("hunter2")).map(|(name, _)| name).collect();
        assert_eq!(places, [PASSWORD]);
        assert!(!format!("{login:?}").contains("hunter2"));
    }
}
