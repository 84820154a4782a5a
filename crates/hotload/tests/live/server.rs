//! A PostgreSQL server in a directory of its own, and a Secret beside it.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::unistd::{User, geteuid};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

const ADMIN_PASSWORD: &str = "correct-horse-battery-staple";

pub struct Server {
    dir: TempDir,
    bin: PathBuf,
    pub port: u16,
    /// The certificate that the server shows, which nobody has signed but itself.
    pub certificate: rustls::pki_types::CertificateDer<'static>,
}

impl Server {
    pub fn start() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("it is opened");
        let home = dir.path().join("server");
        fs::create_dir(&home).expect("a directory");
        let word = home.join("word");
        fs::write(&word, ADMIN_PASSWORD).expect("a file");
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
        let (shown, key) = (home.join("certificate"), home.join("key"));
        fs::write(&shown, made.cert.pem()).expect("a file");
        fs::write(&key, made.signing_key.serialize_pem()).expect("a file");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("it is closed");
        if let Some(user) = nobody() {
            for path in [&home, &word, &shown, &key] {
                chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw())).expect("it is given away");
            }
        }
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|door| door.local_addr()).expect("a port").port();
        let server = Self { bin: newest_build(), dir, port, certificate: made.cert.der().clone() };
        let data = home.join("data");
        let (data, word) = (data.display(), word.display());
        server.run("initdb", &format!("-D {data} -U admin -A md5 --pwfile={word} -N -E UTF8 --no-locale"));
        let options = format!("-h 127.0.0.1 -p {port} -k '' -c fsync=off -c max_connections=200");
        let (shown, key) = (shown.display(), key.display());
        let options = format!("{options} -c ssl=on -c ssl_cert_file={shown} -c ssl_key_file={key}");
        server.control("start", &["-l", &home.join("log").display().to_string(), "-o", &options]);
        server
    }

    pub async fn admin(&self) -> Client {
        self.connect("admin", ADMIN_PASSWORD).await.expect("the administrator logs in")
    }

    pub async fn connect(&self, user: &str, password: &str) -> Result<Client, tokio_postgres::Error> {
        let (client, connection) = tokio_postgres::connect(&self.dsn(user, password), NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    pub fn dsn(&self, user: &str, password: &str) -> String {
        let password = password.replace('\\', "\\\\").replace('\'', "\\'");
        format!("host='127.0.0.1' port='{}' user='{user}' password='{password}' dbname='postgres'", self.port)
    }

    fn run(&self, program: &str, words: &str) {
        finish(self.command(program).args(words.split(' ')));
    }

    fn control(&self, what: &str, more: &[&str]) {
        let data = self.dir.path().join("server/data");
        finish(
            self.command("pg_ctl").arg(what).arg("-D").arg(data).args(["-w", "-t", "60", "-s"]).args(more),
        );
    }

    fn command(&self, program: &str) -> Command {
        let program = self.bin.join(program);
        let mut command = match nobody() {
            None => Command::new(program),
            Some(user) => {
                let mut command = Command::new("setpriv");
                let (uid, gid) = (format!("--reuid={}", user.uid), format!("--regid={}", user.gid));
                command.args([&uid, &gid, "--clear-groups"]).arg(program);
                command
            }
        };
        command.current_dir(self.dir.path());
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.control("stop", &["-m", "immediate"]);
    }
}

/// Who runs the server when the tests are run by root, whom it refuses.
fn nobody() -> Option<User> {
    let nobody = || User::from_name("nobody").ok().flatten().expect("there is a user `nobody`");
    geteuid().is_root().then(nobody)
}

fn finish(command: &mut Command) {
    // The server inherits what it is given, so it is given nothing to hold open.
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.as_ref().is_ok_and(|status| status.success()), "{command:?}: {status:?}");
}

fn newest_build() -> PathBuf {
    let builds = fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL is installed");
    let version = |path: &Path| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let builds = builds.filter_map(|entry| Some(entry.ok()?.path()));
    builds
        .filter(|path| version(path).is_some())
        .max_by_key(|path| version(path))
        .expect("a build")
        .join("bin")
}

/// A mounted Secret with the key `dsn`, as the kubelet lays it out.
pub struct Mount {
    dir: TempDir,
    count: u64,
}

impl Mount {
    pub fn empty() -> Self {
        Self { dir: tempfile::tempdir().expect("a directory"), count: 0 }
    }

    pub fn new(dsn: &str) -> Self {
        let mut mount = Self::empty();
        mount.swap(dsn);
        mount
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("dsn")
    }

    pub fn swap(&mut self, dsn: &str) {
        self.count += 1;
        let at = |name: &str| self.dir.path().join(name);
        let (fresh, old) = (format!("..v{}", self.count), at(&format!("..v{}", self.count - 1)));
        fs::create_dir(at(&fresh)).expect("a directory");
        fs::write(at(&fresh).join("dsn"), dsn).expect("a file");
        symlink(&fresh, at("..data_tmp")).expect("a link");
        fs::rename(at("..data_tmp"), at("..data")).expect("it is swapped");
        if old.exists() {
            fs::remove_dir_all(old).expect("the old one goes");
        } else {
            symlink("..data/dsn", self.path()).expect("a link");
        }
    }

    pub fn rewrite(&self, dsn: &str) {
        fs::write(self.path(), dsn).expect("it is written");
    }

    pub fn remove(&self) {
        fs::remove_file(self.dir.path().join("..data")).expect("it goes");
    }
}
