//! A PostgreSQL server that is there already: somebody else's, from the platform's point of view.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::unistd::{Uid, User};
use tempfile::TempDir;

use crate::claim::{PATIENCE, SYSTEM};
use crate::platform::{Platform, wait};
use crate::sql::Sql;

pub const ADMINISTRATOR: &str = "chief";
/// Nothing that is written by accident.
pub const PASSWORD: &str = "Canary-of-the-master-7Q";
/// PostgreSQL does not run as root, and `initdb` asks for its user's name.
const NOBODY: &str = "nobody";

/// A server of the test.
pub struct Server {
    directory: TempDir,
    data: PathBuf,
    pub port: u16,
    process: Option<Child>,
}

impl Server {
    pub fn new() -> Self {
        let directory = place();
        let (data, password) = (directory.path().join("data"), directory.path().join("password"));
        fs::create_dir(&data).expect("the directory is ours");
        fs::write(&password, PASSWORD).expect("it can be written");
        owned(&data);
        owned(&password);
        let made = as_nobody("initdb")
            .args(["-A", "scram-sha-256", "-U", ADMINISTRATOR, "-E", "UTF8", "--no-sync", "--locale=C", "-D"])
            .arg(&data)
            .arg("--pwfile")
            .arg(&password)
            .output();
        let made = made.expect("initdb runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut server = Self { directory, data, port: free_port(), process: None };
        server.start();
        server
    }

    /// A copy of the server that follows nobody, and only reads.
    pub fn standby(&self) -> Self {
        let directory = place();
        let data = directory.path().join("data");
        fs::create_dir(&data).expect("the directory is ours");
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).expect("it is ours");
        owned(&data);
        let taken = as_nobody("pg_basebackup")
            .env("PGPASSWORD", PASSWORD)
            .args(["-h", "127.0.0.1", "-U", ADMINISTRATOR, "-X", "stream", "-c", "fast", "--no-sync", "-p"])
            .arg(self.port.to_string())
            .arg("-D")
            .arg(&data)
            .output()
            .expect("pg_basebackup runs");
        assert!(taken.status.success(), "{}", String::from_utf8_lossy(&taken.stderr));
        fs::write(data.join("standby.signal"), "").expect("it can be written");
        let mut server = Self { directory, data, port: free_port(), process: None };
        server.start();
        server
    }

    /// Starts it where it was, and waits until it lets its administrator in.
    pub fn start(&mut self) {
        assert!(self.process.is_none(), "it runs already");
        let log = fs::File::options().create(true).append(true).open(self.log_file()).expect("a log");
        let process = as_nobody("postgres")
            .arg("-D")
            .arg(&self.data)
            .args(["-p", &self.port.to_string(), "-k", "", "-c", "listen_addresses=127.0.0.1"])
            .args(["-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "max_connections=20"])
            .args(["-c", "log_statement=all", "-c", "max_wal_senders=2"])
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("postgres runs");
        self.process = Some(process);
        wait("the server to let its administrator in", PATIENCE, || Sql::connect(&self.uri("postgres")).ok());
    }

    /// Ends it, and all its sessions.
    pub fn stop(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        let pid = process.id();
        // One that is frozen would not hear it.
        self.signal(pid, "-CONT");
        signal("-QUIT", &[pid]);
        process.wait().expect("it is ours");
    }

    /// It and all its sessions stand still, and nobody gets an answer.
    pub fn freeze(&self) {
        self.signal(self.pid(), "-STOP");
    }

    /// Takes back [`Server::freeze`].
    pub fn thaw(&self) {
        self.signal(self.pid(), "-CONT");
    }

    fn pid(&self) -> u32 {
        self.process.as_ref().expect("it runs").id()
    }

    /// Each of its sessions is a process, and a group, of its own.
    fn signal(&self, first: u32, word: &str) {
        let all = fs::read_dir("/proc").expect("it is there").flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let child = |pid: &u32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let rest = stat.rsplit(") ").next().unwrap_or_default();
            rest.split(' ').nth(1).is_some_and(|parent| parent == first.to_string())
        };
        let children: Vec<u32> = pids.filter(child).collect();
        signal(word, &[&[first], children.as_slice()].concat());
    }

    /// How its administrator gets in.
    pub fn uri(&self, database: &str) -> String {
        format!("postgres://{ADMINISTRATOR}:{PASSWORD}@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    /// Asks as the administrator.
    #[track_caller]
    pub fn ask(&self, question: &str) -> Vec<String> {
        let sql = Sql::connect(&self.uri("postgres")).expect("the administrator gets in");
        sql.ask(question).unwrap_or_else(|error| panic!("{question}: {error}"))
    }

    /// What it wrote down.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_file()).expect("it writes a log")
    }

    fn log_file(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    /// It as a fragment of a configuration, with a Secret that [`Server::introduce`] makes.
    pub fn fragment(&self, key: &str) -> String {
        format!(
            "{key}:\n  host: 127.0.0.1\n  port: {}\n  username: {ADMINISTRATOR}\n  sslMode: disable\n  passwordSecretRef: {key}-master\n",
            self.port
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Tells the platform the password of a fragment's administrator.
pub fn introduce(platform: &Platform, key: &str) {
    let (name, password) = (format!("{key}-master"), format!("--from-literal=password={PASSWORD}"));
    platform.kubectl(&["-n", SYSTEM, "create", "secret", "generic", &name, &password]);
}

fn place() -> TempDir {
    let directory = tempfile::Builder::new().prefix("terrace-claims-").tempdir().expect("a directory");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o711)).expect("the directory is ours");
    directory
}

fn signal(word: &str, pids: &[u32]) {
    let pids = pids.iter().map(ToString::to_string);
    // A session may have ended meanwhile.
    let _ = Command::new("kill").arg(word).args(pids).stderr(Stdio::null()).status();
}

/// A program of PostgreSQL: on the PATH, or where Debian puts it.
pub fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let places = std::env::split_paths(&path).chain(debian.map(|entry| entry.path().join("bin")));
    places.map(|place| place.join(name)).find(|file| file.is_file()).expect("PostgreSQL is on this machine")
}

fn as_nobody(name: &str) -> Command {
    let mut command = Command::new(program(name));
    command.env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
    if let Some(user) = nobody() {
        command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
    }
    command
}

fn owned(path: &Path) {
    if let Some(user) = nobody() {
        chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw())).expect("root may");
    }
}

/// Whom servers run as, if not as whoever runs this.
fn nobody() -> Option<User> {
    let found = Uid::effective().is_root().then(|| User::from_name(NOBODY));
    found.map(|found| found.expect("users can be asked for").expect("there is one"))
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
