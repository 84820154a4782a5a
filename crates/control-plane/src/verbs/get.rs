//! `get`: one object.

use super::{Answer, Call, Content};
use crate::server::Server;
use crate::status::Status;

pub(super) fn run(server: &Server, call: &Call) -> Result<Answer, Status> {
    super::options::not_from_the_future(server, call.query.resource_version.as_deref())?;
    let stored = server.store.get(&call.key()).ok_or_else(|| call.not_found())?;
    Ok(Answer::ok(Content::Stored(stored)))
}
