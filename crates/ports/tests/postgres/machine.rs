//! A directory with servers in it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kit::Name;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ports::postgres::{
    Facts, Instance, Key, Live, LiveSettings, Login, Number, Postgres, Run, Seen, Settings, Superuser, There,
};
use tempfile::TempDir;
use tokio_postgres::NoTls;

/// How long anything may take on the busiest machine before it counts as never.
pub const DEADLINE: Duration = Duration::from_secs(90);
/// How often what cannot be waited for is looked at.
pub const LOOK: Duration = Duration::from_millis(50);
/// A user that nobody is.
const NOBODY: u32 = 200_777;
pub const PASSWORD: &str = "correct-horse-battery-staple";

pub struct Machine {
    pub dir: TempDir,
    pub live: Live,
}

impl Machine {
    pub async fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).expect("the directory is ours");
        let live = open(dir.path()).await;
        Self { dir, live }
    }

    /// The newest version that this machine has.
    pub fn major(&self) -> u32 {
        *self.live.builds().keys().next_back().expect("PostgreSQL is on this machine")
    }

    /// A cluster of one instance that takes connections.
    pub async fn one(&self, uid: &str, settings: &Settings) -> Key {
        let key = key(uid);
        self.live.make(&key, 1, self.major()).await.expect("it is made");
        self.live.configure(&key, 1, settings).await.expect("it is configured");
        self.live.start(&key, 1).await.expect("it starts");
        up(&self.live, &key, 1).await;
        self.live.grant(&key, 1, &login()).await.expect("the login is granted");
        key
    }

    /// Adds a standby that receives what the primary writes.
    pub async fn standby(&self, key: &Key, number: Number, settings: &Settings) {
        self.live.copy(key, number, 1).await.expect("it begins");
        there(&self.live, key, number).await;
        self.live.configure(key, number, settings).await.expect("it is configured");
        self.live.start(key, number).await.expect("it starts");
        streaming(&self.live, key, number).await;
    }

    pub fn data(&self, key: &Key, number: Number) -> PathBuf {
        self.dir.path().join("clusters").join(&key.uid).join(number.to_string())
    }

    pub fn postmaster(&self, key: &Key, number: Number) -> i32 {
        let text = fs::read_to_string(self.data(key, number).join("postmaster.pid")).expect("it runs");
        text.lines().next().and_then(|line| line.trim().parse().ok()).expect("a number")
    }

    pub fn signal(&self, key: &Key, number: Number, signal: Signal) {
        kill(Pid::from_raw(self.postmaster(key, number)), signal).expect("it is ours");
    }

    /// The process of a standby that receives.
    pub fn receiver(&self, key: &Key, number: Number) -> Pid {
        let parent = self.postmaster(key, number);
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).expect("it runs");
        let receives = |pid: &i32| {
            let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.contains("walreceiver")
        };
        let mut pids = children.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok());
        Pid::from_raw(pids.find(receives).expect("it receives"))
    }
}

pub async fn open(dir: &Path) -> Live {
    let this = std::env::current_exe().expect("this program");
    let shim = vec![this.to_str().expect("a plain path").to_owned(), "shim".to_owned()];
    let user = |_: &str| nix::unistd::geteuid().is_root().then_some(NOBODY);
    let settings = LiveSettings { root: dir.to_owned(), shim, builds: Vec::new(), cache: None, user };
    Live::open(settings).await.expect("the directory can be used")
}

pub fn key(uid: &str) -> Key {
    Key { name: Name::new("shop", uid), uid: uid.to_owned() }
}

pub fn login() -> Login {
    Login {
        owner: "app".into(),
        database: "app".into(),
        password: PASSWORD.to_owned().into(),
        mark: "login".into(),
    }
}

/// What the superuser logs in with, as the mark says: every mark is another password.
pub fn superuser(mark: &str) -> Superuser {
    Superuser { password: format!("{PASSWORD}-of-the-superuser-{mark}").into(), mark: mark.into() }
}

pub fn settings(mark: &str, archive: bool) -> Settings {
    let parameters = [("shared_buffers", "16MB"), ("max_connections", "30"), ("fsync", "off")];
    let parameters: BTreeMap<String, String> =
        parameters.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Settings { parameters, archive, mark: mark.to_owned() }
}

/// Looks until something can be seen.
pub async fn until<T>(
    postgres: &impl Postgres,
    key: &Key,
    what: &str,
    find: impl Fn(&Seen) -> Option<T>,
) -> T {
    let mut last = Seen::default();
    let look = async {
        let mut ticks = tokio::time::interval(LOOK);
        loop {
            last = postgres.look(key).await.expect("a look");
            if let Some(found) = find(&last) {
                return found;
            }
            ticks.tick().await;
        }
    };
    match tokio::time::timeout(DEADLINE, look).await {
        Ok(found) => found,
        Err(_) => panic!("never: {what}: {last:?}"),
    }
}

pub fn instance(seen: &Seen, number: Number) -> Option<There> {
    match seen.instances.get(&number)? {
        Instance::There(there) => Some(there.clone()),
        Instance::Broken { story, .. } => panic!("instance {number} is broken: {story}"),
        Instance::Coming { .. } => None,
    }
}

pub fn facts(seen: &Seen, number: Number) -> Option<Facts> {
    match instance(seen, number)?.run {
        Run::Up(facts) => Some(facts),
        Run::Stopped | Run::Ended { .. } | Run::Starting { .. } => None,
    }
}

pub async fn there(postgres: &impl Postgres, key: &Key, number: Number) -> There {
    until(postgres, key, &format!("{number} is there"), |seen| instance(seen, number)).await
}

pub async fn up(postgres: &impl Postgres, key: &Key, number: Number) -> Facts {
    until(postgres, key, &format!("{number} is up"), |seen| facts(seen, number)).await
}

pub async fn streaming(postgres: &impl Postgres, key: &Key, number: Number) -> Facts {
    let receives = |seen: &Seen| facts(seen, number).filter(|facts| facts.in_recovery && facts.streaming);
    until(postgres, key, &format!("{number} receives"), receives).await
}

pub async fn client(port: u16, password: &str) -> Result<tokio_postgres::Client, tokio_postgres::Error> {
    client_as(port, ("app", "app"), password).await
}

/// A connection of a role to a database.
pub async fn client_as(
    port: u16,
    (role, database): (&str, &str),
    password: &str,
) -> Result<tokio_postgres::Client, tokio_postgres::Error> {
    let mut config = tokio_postgres::Config::new();
    config.host("127.0.0.1").port(port).user(role).dbname(database).password(password);
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Runs a statement as the owner.
pub async fn execute(port: u16, sql: &str) {
    let client = client(port, PASSWORD).await.expect("the owner gets in");
    client.batch_execute(sql).await.expect("it is done");
}

/// The numbers in the table `t`.
pub async fn numbers(port: u16) -> Vec<i32> {
    let client = client(port, PASSWORD).await.expect("the owner gets in");
    let rows = client.query("SELECT n FROM t ORDER BY n", &[]).await.expect("the table is there");
    rows.iter().map(|row| row.get(0)).collect()
}
