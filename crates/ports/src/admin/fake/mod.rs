//! Servers in memory: enough of roles, databases, rights and sessions to plan against.

mod acts;
mod hands;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::quote::checked;
use super::{Act, Admin, Asked, Error, Login, Proof, Seen, Server};
use state::State;

pub use hands::Session;

/// Servers in memory. Each place that is spoken to is a server of its own, whose administrator is whoever came first.
#[derive(Clone, Default)]
pub struct Fake {
    servers: Arc<Mutex<BTreeMap<String, State>>>,
}

impl Fake {
    /// Does something with a server, as its administrator.
    fn with<T>(
        &self,
        server: &Server,
        call: impl FnOnce(&mut State) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut servers = self.servers.lock();
        let state = servers.entry(server.place()).or_insert_with(|| State::new(server));
        state.answers()?;
        state.admits(&server.user, server.password.open())?;
        call(state)
    }

    /// Does something to a server, whoever asks.
    fn reach<T>(&self, server: &Server, call: impl FnOnce(&mut State) -> T) -> T {
        call(self.servers.lock().entry(server.place()).or_insert_with(|| State::new(server)))
    }
}

impl Admin for Fake {
    async fn look(&self, server: &Server, asked: &Asked) -> Result<Seen, Error> {
        for name in asked.roles.iter().chain(&asked.database) {
            checked(name)?;
        }
        self.with(server, |state| Ok(state.seen(asked)))
    }

    async fn act(&self, server: &Server, act: &Act) -> Result<(), Error> {
        self.with(server, |state| {
            for name in acts::names(act) {
                checked(name)?;
            }
            state.act(act)
        })
    }

    async fn prove(&self, server: &Server, login: &Login) -> Result<Proof, Error> {
        self.reach(server, |state| {
            state.answers()?;
            state.enter(login)?;
            Ok(Proof { session_user: login.role.clone(), current_user: state.acting(&login.role) })
        })
    }
}
