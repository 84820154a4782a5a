//! Writes an Application as this command line.

use agents::Error;
use anyhow::anyhow;
use kube::Client;

pub(super) use agents::apps::write::{Wish, Written};

use super::connect::told;

/// Who writes, in the object's own records.
const MANAGER: &str = "terrace-cli";

/// Creates or changes an application.
pub(super) async fn write(
    client: &Client,
    namespace: &str,
    name: &str,
    wish: &Wish,
) -> anyhow::Result<Written> {
    agents::apps::write::write(client, namespace, name, MANAGER, wish).await.map_err(refused)
}

/// Why it was not done, for a person at a terminal.
pub(super) fn refused(error: Error) -> anyhow::Error {
    match error {
        Error::Unreachable(source) => told(*source),
        Error::Denied { what } => anyhow!("you may not {what}"),
        error => anyhow!("{error}"),
    }
}
