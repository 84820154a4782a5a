//! A PostgreSQL server that counts its statements.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use nix::unistd::{Uid, User, chown};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};

use crate::{LIMIT, LOOK, Outcome};

const ADMINISTRATOR: &str = "chief";
const PASSWORD: &str = "the-bench-s-own";
/// Who runs it, since it does not run as root.
const NOBODY: &str = "nobody";
/// How often connections are counted.
const COUNT: Duration = Duration::from_millis(50);

/// A running server; ended when it is dropped.
pub struct Server {
    dir: tempfile::TempDir,
    port: u16,
    process: Child,
}

impl Server {
    /// A server in a directory of its own, on a port that is free.
    pub async fn start() -> Outcome<Self> {
        let dir = tempfile::tempdir()?;
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o711))?;
        let builds = ports::postgres::builds::find(&[], None);
        let bin = builds.into_values().next_back().ok_or("no PostgreSQL is on this machine")?.bin;
        let (data, file) = (dir.path().join("data"), dir.path().join("password"));
        std::fs::create_dir(&data)?;
        std::fs::write(&file, PASSWORD)?;
        for path in [&data, &file] {
            given(path)?;
        }
        let made = as_nobody(&bin.join("initdb"))?
            .args(["-A", "scram-sha-256", "-U", ADMINISTRATOR, "-E", "UTF8", "--no-sync", "--locale=C", "-D"])
            .arg(&data)
            .arg("--pwfile")
            .arg(&file)
            .output()?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned().into());
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let process = as_nobody(&bin.join("postgres"))?
            .arg("-D")
            .arg(&data)
            .args(["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="])
            .args([
                "-c",
                "shared_preload_libraries=pg_stat_statements",
                "-c",
                "pg_stat_statements.track_utility=on",
            ])
            .args(["-c", &format!("port={port}")])
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        let server = Self { dir, port, process };
        let begun = Instant::now();
        let administrator = loop {
            match server.connect().await {
                Ok(client) => break client,
                Err(error) if begun.elapsed() > LIMIT => return Err(error),
                Err(_) => tokio::time::sleep(LOOK).await,
            }
        };
        administrator.batch_execute("CREATE EXTENSION pg_stat_statements").await?;
        Ok(server)
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The administrator's password.
    pub fn password(&self) -> &'static str {
        PASSWORD
    }

    /// The configuration of claims on it.
    pub fn configuration(&self) -> String {
        let port = self.port;
        format!(
            "bench:\n  username: {ADMINISTRATOR}\n  host: 127.0.0.1\n  port: {port}\n  sslMode: disable\n  passwordSecretRef: bench-master\n"
        )
    }

    /// The statements that it has carried out so far, but for those that ask for them.
    pub async fn statements(&self) -> Outcome<i64> {
        let sql = "SELECT coalesce(sum(calls), 0)::int8 FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_%calls%'";
        Ok(self.connect().await?.query_one(sql, &[]).await?.get(0))
    }

    /// Counts the connections to it from now on, but for the one that counts: the most at a time.
    pub fn watch_connections(&self) -> (JoinHandle<Outcome<()>>, Arc<AtomicI64>) {
        let most = Arc::new(AtomicI64::new(0));
        let (port, seen) = (self.port, most.clone());
        let watching = tokio::spawn(async move {
            let client = connect(port).await?;
            let sql = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
            loop {
                seen.fetch_max(client.query_one(sql, &[]).await?.get(0), Ordering::Relaxed);
                tokio::time::sleep(COUNT).await;
            }
        });
        (watching, most)
    }

    async fn connect(&self) -> Outcome<Client> {
        connect(self.port).await
    }
}

async fn connect(port: u16) -> Outcome<Client> {
    let text = format!("host=127.0.0.1 port={port} user={ADMINISTRATOR} password={PASSWORD} dbname=postgres");
    let (client, connection) = tokio_postgres::connect(&text, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

impl Drop for Server {
    fn drop(&mut self) {
        // Immediately: nothing of it is kept.
        let _ = Command::new("kill").args(["-QUIT", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}

fn as_nobody(program: &PathBuf) -> Outcome<Command> {
    let mut command = Command::new(program);
    if Uid::effective().is_root() {
        let user = User::from_name(NOBODY)?.ok_or("there is no user nobody")?;
        command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
    }
    command.current_dir("/");
    Ok(command)
}

fn given(path: &Path) -> Outcome<()> {
    if Uid::effective().is_root() {
        let user = User::from_name(NOBODY)?.ok_or("there is no user nobody")?;
        chown(path, Some(user.uid), Some(user.gid))?;
    }
    Ok(())
}
