//! An administrator behind a gate that can break each call, for tests.

use kit::testing::{Broken, Gate};
use ports::admin::{Act, Admin, Asked, Error, Login, Proof, Seen, Server};

/// Any administrator behind a gate.
#[derive(Clone)]
pub(super) struct Gated<A> {
    pub(super) admin: A,
    pub(super) gate: Gate,
}

fn broken(server: &Server, broken: Broken) -> Error {
    Error::Unreachable { server: server.place(), story: broken.to_string() }
}

impl<A: Admin> Admin for Gated<A> {
    async fn look(&self, server: &Server, asked: &Asked) -> Result<Seen, Error> {
        let looked = self.gate.read("admin look", self.admin.look(server, asked)).await;
        looked.map_err(|error| broken(server, error))?
    }

    async fn act(&self, server: &Server, act: &Act) -> Result<(), Error> {
        let name = format!("{act:?}");
        let name = format!("admin {}", name.split([' ', '{']).next().unwrap_or_default());
        let acted = self.gate.write(name, self.admin.act(server, act)).await;
        acted.map_err(|error| broken(server, error))?
    }

    async fn prove(&self, server: &Server, login: &Login) -> Result<Proof, Error> {
        let proved = self.gate.read("admin prove", self.admin.prove(server, login)).await;
        proved.map_err(|error| broken(server, error))?
    }
}
