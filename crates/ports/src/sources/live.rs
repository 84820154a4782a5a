//! The real git.

use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use kit::Name;
use tokio::process::Command;

use super::store::{self, Store};
use super::{Error, Fetched, Head, Login, Order, Sources, ignore};
use crate::program::{self, Stopped};

/// Longest time that git is given: a step of a pass has to end within thirty seconds.
const LONGEST: Duration = Duration::from_secs(25);
/// What a list of references may measure.
const LIST_BYTES: u64 = 16 << 20;
/// How often the size of what arrives is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// What git asks for a login. The words are the same for everybody; the secret stands in none of them.
const HELPER: &str = "!f() { test \"$1\" = get || exit 0; \
    printf 'username=%s\\npassword=%s\\n' \"$TERRACE_GIT_USERNAME\" \"$TERRACE_GIT_PASSWORD\"; }; f";

/// What a repository may measure.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Size of what is fetched, as it travels and as it lies.
    pub bytes: u64,
    /// Files in it.
    pub files: u64,
}

impl Default for Bounds {
    /// What suits repositories of manifests: ordinary ones stay far below.
    fn default() -> Self {
        Self { bytes: 256 << 20, files: 20_000 }
    }
}

/// Repositories, fetched by the real git below one directory of this machine.
#[derive(Clone, Debug)]
pub struct Live {
    store: Store,
    files_allowed: bool,
}

impl Live {
    /// Keeps what it fetches below a directory. Addresses that begin with `file://` are taken only if they are allowed.
    pub fn new(root: impl Into<PathBuf>, files_allowed: bool, bounds: Bounds) -> Self {
        Self { store: Store::new(root.into(), bounds), files_allowed }
    }

    fn judge(&self, order: &Order) -> Result<(), Error> {
        order.reference.judge()?;
        judge_url(&order.url, self.files_allowed)
    }

    async fn git(&self, order: &Order, home: &Home, words: &[&str]) -> Result<Vec<u8>, Error> {
        let limit = order.timeout.min(LONGEST);
        let mut command = Command::new("git");
        command
            .args(words)
            .current_dir(home.path())
            .env_clear()
            .envs(home.environment(order, self.files_allowed));
        let running = program::run(&mut command, limit, LIST_BYTES);
        let ended = tokio::select! {
            ended = running => ended,
            () = outgrown(home.path(), self.store.bounds().bytes) => {
                let what = format!("more than {} bytes", self.store.bounds().bytes);
                return Err(Error::TooLarge { url: order.url.clone(), what });
            }
        };
        match ended {
            Ok(ended) if ended.good => Ok(ended.output),
            Ok(ended) => Err(judged(order, &ended.complaint)),
            Err(Stopped::Late) => Err(Error::Timeout { url: order.url.clone(), limit }),
            Err(Stopped::Verbose) => {
                Err(Error::TooLarge { url: order.url.clone(), what: "too many references".into() })
            }
            Err(Stopped::Io(error)) => {
                Err(Error::Git { url: order.url.clone(), story: format!("git cannot be run: {error}") })
            }
        }
    }
}

impl Sources for Live {
    async fn head(&self, order: &Order) -> Result<Head, Error> {
        self.judge(order)?;
        let missing = || Error::Missing { url: order.url.clone(), what: order.reference.words() };
        let asked = order.reference.asked();
        if asked.is_empty() {
            return order.reference.choose(&[]).ok_or_else(missing);
        }
        let home = Home::new(&self.store.workshop(&order.name)?, order.login.as_ref())?;
        let mut words = vec!["ls-remote", "-q", "--", &order.url];
        words.extend(asked.iter().map(String::as_str));
        let output = self.git(order, &home, &words).await?;
        let listed: Vec<(String, String)> = String::from_utf8_lossy(&output)
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(commit, name)| (name.to_owned(), commit.to_owned()))
            .collect();
        order.reference.choose(&listed).ok_or_else(missing)
    }

    async fn fetch(&self, order: &Order, head: &Head) -> Result<(), Error> {
        self.judge(order)?;
        let home = Home::new(&self.store.workshop(&order.name)?, order.login.as_ref())?;
        let tree = home.path().join("tree");
        let tree_word = tree.display().to_string();
        self.git(order, &home, &["init", "-q", "--template=", &tree_word]).await?;
        let inside = ["-C", &tree_word];
        let fetch = [
            "fetch",
            "-q",
            "--depth=1",
            "--no-tags",
            "--no-recurse-submodules",
            "--",
            &order.url,
            &head.commit,
        ];
        self.git(order, &home, &[&inside[..], &fetch].concat()).await?;
        self.git(order, &home, &[&inside[..], &["checkout", "-q", "--detach", "FETCH_HEAD", "--"]].concat())
            .await?;
        let patterns = home.path().join("ignore");
        std::fs::write(&patterns, ignore::patterns(order.ignore.as_deref())).map_err(Error::at(&patterns))?;
        let from = format!("--exclude-from={}", patterns.display());
        let list = ["ls-files", "-z", "-c", "-i", &from, "--exclude-per-directory=.sourceignore"];
        let ignored = self.git(order, &home, &[&inside[..], &list].concat()).await?;
        let (store, order, head) = (self.store.clone(), order.clone(), head.clone());
        let kept = tokio::task::spawn_blocking(move || {
            store::leave_out(&tree, &ignored)?;
            store.keep(&order, &head.revision, &tree)
            // The workshop goes last, whatever happened.
        });
        let kept = kept.await.unwrap_or_else(|error| {
            Err(Error::Files { path: "the artifact".into(), story: error.to_string() })
        });
        drop(home);
        kept
    }

    async fn held(&self, name: &Name) -> Result<Option<Fetched>, Error> {
        self.store.held(name)
    }

    async fn remove(&self, name: &Name) -> Result<(), Error> {
        self.store.remove(name)
    }
}

/// A directory that nobody else can read, for one run of git. It goes with what is in it.
struct Home {
    path: PathBuf,
    identity: bool,
    known_hosts: bool,
    ca: bool,
}

impl Home {
    fn new(path: &Path, login: Option<&Login>) -> Result<Self, Error> {
        // The platform may have been killed over an earlier one.
        let _ = std::fs::remove_dir_all(path);
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(Error::at(path))?;
        let mut home = Self { path: path.to_owned(), identity: false, known_hosts: false, ca: false };
        let Some(login) = login else { return Ok(home) };
        if let Some(identity) = &login.identity {
            // OpenSSH reads no key whose last line does not end.
            home.put("identity", &format!("{}\n", identity.open().trim_end()))?;
            home.identity = true;
        }
        if let Some(hosts) = &login.known_hosts {
            home.put("known_hosts", hosts)?;
            home.known_hosts = true;
        }
        if let Some(ca) = &login.ca_file {
            home.put("ca.crt", ca)?;
            home.ca = true;
        }
        Ok(home)
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn put(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.path.join(name);
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(Error::at(&path))?;
        file.write_all(text.as_bytes()).map_err(Error::at(&path))
    }

    /// What git sees: no settings of this machine, no questions, no protocol that is not allowed.
    fn environment(&self, order: &Order, files_allowed: bool) -> Vec<(String, String)> {
        let file = |name: &str| self.path.join(name).display().to_string();
        let mut ssh =
            "ssh -F /dev/null -o BatchMode=yes -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes".to_owned();
        ssh += &format!(
            " -o UserKnownHostsFile={} -o GlobalKnownHostsFile=/dev/null",
            if self.known_hosts { file("known_hosts") } else { "/dev/null".into() }
        );
        ssh += &format!(" -i {}", if self.identity { file("identity") } else { "/dev/null".into() });
        let protocols = if files_allowed { "https:http:ssh:file" } else { "https:http:ssh" };
        let mut told: Vec<(String, String)> = [
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("HOME", self.path.display().to_string()),
            ("GIT_TERMINAL_PROMPT", "0".into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
            ("GIT_ASKPASS", "true".into()),
            ("GIT_LFS_SKIP_SMUDGE", "1".into()),
            ("GIT_SSH_COMMAND", ssh),
            ("GIT_ALLOW_PROTOCOL", protocols.into()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let mut settings = vec![("safe.directory".to_owned(), "*".to_owned())];
        settings.push(("http.followRedirects".into(), "false".into()));
        if self.ca {
            settings.push(("http.sslCAInfo".into(), file("ca.crt")));
        }
        told.extend(login_settings(order, &mut settings));
        told.push(("GIT_CONFIG_COUNT".into(), settings.len().to_string()));
        for (index, (key, value)) in settings.into_iter().enumerate() {
            told.push((format!("GIT_CONFIG_KEY_{index}"), key));
            told.push((format!("GIT_CONFIG_VALUE_{index}"), value));
        }
        told
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// The login over HTTP, for the order's own host alone.
fn login_settings(order: &Order, settings: &mut Vec<(String, String)>) -> Vec<(String, String)> {
    let Some(login) = &order.login else { return Vec::new() };
    let Some(host) = host_of(&order.url) else { return Vec::new() };
    if let Some(token) = &login.bearer_token {
        settings
            .push((format!("http.{host}/.extraHeader"), format!("Authorization: Bearer {}", token.open())));
    }
    let Some(password) = &login.password else { return Vec::new() };
    settings.push((format!("credential.{host}.helper"), HELPER.into()));
    vec![
        ("TERRACE_GIT_USERNAME".into(), login.username.clone().unwrap_or_else(|| "git".into())),
        ("TERRACE_GIT_PASSWORD".into(), password.open().clone()),
    ]
}

/// Scheme and host of an address over HTTP.
fn host_of(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split('/').next().filter(|host| !host.is_empty())?;
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    matches!(scheme, "http" | "https").then(|| format!("{scheme}://{host}"))
}

/// Judges an address: it is written by tenants.
fn judge_url(url: &str, files_allowed: bool) -> Result<(), Error> {
    let shown: String = url.chars().take(200).flat_map(char::escape_debug).collect();
    let rest = ["https://", "http://", "ssh://"].iter().find_map(|scheme| url.strip_prefix(scheme));
    let odd = url.chars().any(|c| c.is_whitespace() || c.is_control());
    if files_allowed && url.starts_with("file:///") && !odd {
        return Ok(());
    }
    let Some(rest) = rest.filter(|rest| !odd && !rest.is_empty() && !rest.starts_with('-')) else {
        // Whatever stands before an `@` might be a login.
        let shown = shown.rsplit_once('@').map_or(shown.as_str(), |(_, host)| host);
        return Err(Error::Invalid(format!(
            "invalid git URL '{shown}': it is no https, http or ssh address"
        )));
    };
    let login = rest.split('/').next().and_then(|host| host.rsplit_once('@')).map(|(login, _)| login);
    if login.is_some_and(|login| login.contains(':') || login.starts_with('-')) {
        return Err(Error::Invalid(
            "the URL holds a password; put it into a Secret and name that in secretRef".into(),
        ));
    }
    Ok(())
}

/// What a complaint of git means.
fn judged(order: &Order, complaint: &str) -> Error {
    let url = order.url.clone();
    let last: Vec<&str> = complaint.lines().filter(|line| !line.trim().is_empty()).collect();
    let story: String = last[last.len().saturating_sub(3)..].join("; ").chars().take(500).collect();
    let denied = [
        "Authentication failed",
        "could not read Username",
        "Permission denied",
        "403",
        "401",
        "Host key verification failed",
    ];
    if denied.iter().any(|words| story.contains(words)) {
        return Error::Denied { url, story };
    }
    if story.contains("couldn't find remote ref") || story.contains("not our ref") {
        return Error::Missing { url, what: order.reference.words() };
    }
    Error::Git { url, story }
}

/// Comes back when a directory measures more than it may.
async fn outgrown(path: &Path, most_bytes: u64) {
    let mut ticks = tokio::time::interval(LOOK);
    loop {
        ticks.tick().await;
        let path = path.to_owned();
        let size = tokio::task::spawn_blocking(move || store::size(&path)).await.unwrap_or_default();
        if size > most_bytes {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use api::secret::Sealed;

    use super::super::Reference;
    use super::*;

    #[test]
    fn addresses_are_judged() {
        let table = [
            ("https://example.com/shop.git", true),
            ("ssh://git@example.com/shop.git", true),
            ("https://ann:hunter2@example.com/shop.git", false),
            ("file:///srv/shop", false),
            ("ext::sh -c x", false),
            ("--upload-pack=x", false),
            ("https://a b", false),
        ];
        for (url, want) in table {
            let told = judge_url(url, false);
            assert_eq!(told.is_ok(), want, "{url}: {told:?}");
            assert!(!format!("{told:?}").contains("hunter2"));
        }
        assert_eq!(judge_url("file:///srv/shop", true), Ok(()));
    }

    #[test]
    fn a_login_goes_to_its_own_host_and_stands_in_no_file_and_no_setting_but_the_token() {
        let place = tempfile::TempDir::new().expect("a directory");
        let password = Some(Sealed::new("hunter2".to_owned()));
        let login = Login { username: Some("ann".into()), password, ..Login::default() };
        let order = Order {
            name: Name::new("a", "b"),
            url: "https://git.example/x.git".into(),
            reference: Reference::Branch("main".into()),
            login: Some(login.clone()),
            ignore: None,
            timeout: LONGEST,
        };
        let home = Home::new(&place.path().join("home"), Some(&login)).expect("a home");
        let told = home.environment(&order, false);
        let places: Vec<&str> = told
            .iter()
            .filter(|(_, value)| value.contains("hunter2"))
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(places, ["TERRACE_GIT_PASSWORD"]);
        assert!(told.iter().any(|(_, value)| value == "credential.https://git.example.helper"));
        assert!(std::fs::read_dir(home.path()).expect("it is there").next().is_none());
    }
}
