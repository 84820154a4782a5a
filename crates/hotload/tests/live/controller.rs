//! Rotates a login as the controller of a database claim does.

use hotload::Status;
use tokio::sync::watch;
use tokio_postgres::Client;

use crate::server::{Mount, Server};
use crate::soon;

const OWNER: &str = "app";
pub const USERS: [&str; 2] = ["app_a", "app_b"];

/// Two users that take turns: the idle one gets a new password, and then the Secret names it.
pub struct Controller<'a> {
    server: &'a Server,
    admin: Client,
    pub mount: Mount,
    round: usize,
}

impl<'a> Controller<'a> {
    pub async fn new(server: &'a Server) -> Self {
        let admin = server.admin().await;
        // As a claim makes them: both stand for one owner from their login on.
        let drop = format!("DROP ROLE IF EXISTS {OWNER}, {}, {}; CREATE ROLE {OWNER}", USERS[0], USERS[1]);
        admin.batch_execute(&drop).await.expect("a role");
        for user in USERS {
            let sql =
                format!("CREATE ROLE {user} LOGIN IN ROLE {OWNER}; ALTER ROLE {user} SET role = '{OWNER}'");
            admin.batch_execute(&sql).await.expect("a role");
        }
        let mut controller = Self { server, admin, mount: Mount::empty(), round: 0 };
        controller.rotate().await;
        controller
    }

    /// Passwords that are checked with little work; four thousand rounds of hashing for each login are slow in a build for
    /// tests, and nothing here depends on them.
    pub async fn light(self) -> Self {
        self.admin.batch_execute("SET password_encryption = 'md5'").await.expect("it is set");
        self
    }

    pub fn user(&self) -> &'static str {
        USERS[self.round % 2]
    }

    pub fn password(&self) -> String {
        format!("it's \\ round {}", self.round)
    }

    /// The connection string of this round.
    pub fn dsn(&self) -> String {
        self.server.dsn(self.user(), &self.password())
    }

    /// The connection string of the next round, before its password is set.
    pub fn announce(&mut self) -> String {
        self.round += 1;
        self.dsn()
    }

    /// Sets the password of this round.
    pub async fn settle(&self) {
        let password = self.password().replace('\'', "''");
        let sql = format!("ALTER ROLE {} PASSWORD '{password}'", self.user());
        self.admin.batch_execute(&sql).await.expect("a new password");
    }

    /// Gives the idle user a new password, without a word to anybody.
    pub async fn prepare(&mut self) -> String {
        let dsn = self.announce();
        self.settle().await;
        dsn
    }

    pub async fn rotate(&mut self) {
        let dsn = self.prepare().await;
        self.mount.swap(&dsn);
    }

    /// Waits until a pool uses the login of this round.
    pub async fn arrived(&self, status: &mut watch::Receiver<Status>, rounds: u64) {
        let want =
            |status: &Status| status.generation.0 >= rounds && status.user.as_deref() == Some(self.user());
        soon(status.wait_for(want)).await.expect("the pool is there");
    }
}
