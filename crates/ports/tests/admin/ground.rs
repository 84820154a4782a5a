//! A PostgreSQL server with TLS, and what programs do on it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use api::connection::SslMode;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid, User, chown};
use ports::admin::{Live, LiveSettings, Login, Server};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use tokio_postgres::NoTls;

/// PostgreSQL does not run as root, and `initdb` asks for its user's name.
const NOBODY: &str = "nobody";
/// How long anything may take on the busiest machine before it counts as never.
pub const DEADLINE: Duration = Duration::from_secs(60);
/// How often what cannot be waited for is looked at.
pub const LOOK: Duration = Duration::from_millis(50);
pub const ADMINISTRATOR: &str = "chief";
pub const PASSWORD: &str = "chief's-\\pass'word";

/// A server and the authority that signed its certificate.
pub struct Ground {
    dir: TempDir,
    pub bin: PathBuf,
    pub port: u16,
    pub ca: String,
    pub live: Live,
    process: Child,
}

impl Ground {
    pub async fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).expect("the directory is ours");
        let builds = ports::postgres::builds::find(&[], None);
        let bin = builds.into_values().next_back().expect("PostgreSQL is on this machine").bin;
        let data = dir.path().join("data");
        fs::create_dir(&data).expect("the directory is ours");
        fs::write(dir.path().join("password"), PASSWORD).expect("it can be written");
        owned(&data);
        owned(&dir.path().join("password"));
        let made = as_nobody(&bin.join("initdb"))
            .args(["-A", "scram-sha-256", "-U", ADMINISTRATOR, "-E", "UTF8", "--no-sync", "--locale=C", "-D"])
            .arg(&data)
            .arg("--pwfile")
            .arg(dir.path().join("password"))
            .output();
        let made = made.expect("initdb runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let ca = certify(&data);
        let port = free_port();
        let process = started(&bin, &data, port, dir.path());
        let ground = Self { dir, bin, port, ca, live: Live::default(), process };
        ground.up(port).await;
        ground
    }

    /// The server, as its administrator reaches it.
    pub fn server(&self) -> Server {
        Server {
            host: "localhost".to_owned(),
            port: self.port,
            user: ADMINISTRATOR.to_owned(),
            password: PASSWORD.to_owned().into(),
            ssl_mode: SslMode::VerifyFull,
            ca: Some(self.ca.clone()),
            database: "postgres".to_owned(),
        }
    }

    /// What the server wrote down.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).expect("it writes a log")
    }

    /// A copy of the server that follows nobody, and only reads. It ends with what is returned.
    pub async fn standby(&self) -> Standby {
        // `CHECKPOINT` first, so that the copy has a state to begin from.
        execute(self, &chief("postgres"), "CHECKPOINT").await.expect("the administrator may");
        let copy = self.dir.path().join("copy");
        fs::create_dir(&copy).expect("the directory is ours");
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o700)).expect("it is ours");
        owned(&copy);
        let taken = as_nobody(&self.bin.join("pg_basebackup"))
            .env("PGPASSWORD", PASSWORD)
            .args(["-h", "127.0.0.1", "-U", ADMINISTRATOR, "-X", "stream", "-c", "fast", "-p"])
            .arg(self.port.to_string())
            .arg("-D")
            .arg(&copy)
            .output()
            .expect("pg_basebackup runs");
        assert!(taken.status.success(), "{}", String::from_utf8_lossy(&taken.stderr));
        fs::write(copy.join("standby.signal"), "").expect("it can be written");
        let port = free_port();
        let process = started(&self.bin, &copy, port, &copy);
        self.up(port).await;
        Standby { port, process, copy }
    }

    async fn up(&self, port: u16) {
        let mut ticks = tokio::time::interval(LOOK);
        let wait = async {
            while client(port, &chief("postgres")).await.is_err() {
                ticks.tick().await;
            }
        };
        if tokio::time::timeout(DEADLINE, wait).await.is_err() {
            panic!("the server does not come up: {}", self.log());
        }
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}

/// A server that only reads.
pub struct Standby {
    pub port: u16,
    process: Child,
    copy: PathBuf,
}

impl Drop for Standby {
    fn drop(&mut self) {
        end(&mut self.process);
        let _ = fs::remove_dir_all(&self.copy);
    }
}

fn end(process: &mut Child) {
    let pid = i32::try_from(process.id()).expect("a pid");
    // Immediately: nothing of it is kept.
    let _ = kill(Pid::from_raw(pid), Signal::SIGQUIT);
    let _ = process.wait();
}

/// Limits that make silence short.
pub fn hasty(connections: usize) -> Live {
    Live::new(LiveSettings {
        connections,
        connect: Duration::from_millis(400),
        turn: Duration::from_secs(20),
        ..LiveSettings::default()
    })
}

fn started(bin: &Path, data: &Path, port: u16, logs: &Path) -> Child {
    let log = fs::File::create(logs.join("log")).expect("a log");
    as_nobody(&bin.join("postgres"))
        .arg("-D")
        .arg(data)
        .args(["-p", &port.to_string(), "-k", "", "-c", "listen_addresses=localhost", "-c", "fsync=off"])
        .args(["-c", "ssl=on", "-c", "shared_buffers=16MB", "-c", "max_connections=60"])
        .args(["-c", "log_statement=all", "-c", "superuser_reserved_connections=1"])
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("postgres runs")
}

/// A certificate for `localhost`, and the authority that signed it.
fn certify(data: &Path) -> String {
    let (ca, key) = authority();
    let issuer = Issuer::from_ca_cert_pem(&ca, &key).expect("an authority");
    let own = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(["localhost".to_owned()]).expect("a name");
    // A name of its own: libpq takes a certificate with its authority's name for one that nobody signed.
    params.distinguished_name.push(DnType::CommonName, "localhost");
    let certificate = params.signed_by(&own, &issuer).expect("it is signed");
    for (name, text) in [("server.crt", certificate.pem()), ("server.key", own.serialize_pem())] {
        let path = data.join(name);
        fs::write(&path, text).expect("it can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
        owned(&path);
    }
    ca
}

/// An authority of its own, PEM, with its key.
pub fn authority() -> (String, KeyPair) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(Vec::<String>::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = params.self_signed(&key).expect("it signs itself").pem();
    (ca, key)
}

fn as_nobody(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
    if let Some(user) = nobody() {
        command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
    }
    command
}

fn owned(path: &Path) {
    if let Some(user) = nobody() {
        chown(path, Some(user.uid), Some(user.gid)).expect("root may");
    }
}

/// Whom servers run as, if not as whoever runs this.
fn nobody() -> Option<User> {
    let found = Uid::effective().is_root().then(|| User::from_name(NOBODY));
    found.map(|found| found.expect("users can be asked for").expect("there is one"))
}

pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// The administrator, in a database.
pub fn chief(database: &str) -> Login {
    Login {
        database: database.to_owned(),
        role: ADMINISTRATOR.to_owned(),
        password: PASSWORD.to_owned().into(),
    }
}

pub async fn client(port: u16, login: &Login) -> Result<tokio_postgres::Client, tokio_postgres::Error> {
    let mut config = tokio_postgres::Config::new();
    config.host("localhost").port(port).user(&login.role).dbname(&login.database);
    let (client, connection) = config.password(login.password.open()).connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Runs a statement as somebody, and tells the SQLSTATE if it fails.
pub async fn execute(ground: &Ground, login: &Login, sql: &str) -> Result<(), String> {
    let code = |error: tokio_postgres::Error| {
        error.code().map_or_else(|| error.to_string(), |code| code.code().to_owned())
    };
    let client = client(ground.port, login).await.map_err(code)?;
    client.batch_execute(sql).await.map_err(code)
}
