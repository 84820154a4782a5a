//! Rules that others bring: what may be written of a kind, and what is filled in.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::Call;
use crate::server::{NAMESPACES, Server};
use crate::status::Status;

/// What is known when a rule is asked.
pub struct Occasion<'a> {
    /// The object as it was; none where it is new.
    pub old: Option<&'a Value>,
    /// The Namespace that it lies in; null for objects that lie in none.
    pub namespace: &'a Value,
}

type Judge = dyn Fn(&Occasion<'_>, &mut Value) -> Result<(), String> + Send + Sync;

/// A pure function that sees each write of a kind before it is judged by the schema. It may fill in what is missing, which
/// then belongs to no field manager; or refuse, with a sentence that says what to do.
#[derive(Clone)]
pub struct Rule {
    group: String,
    kind: String,
    judge: Arc<Judge>,
}

impl Rule {
    /// A rule on a kind.
    pub fn new(
        group: &str,
        kind: &str,
        judge: impl Fn(&Occasion<'_>, &mut Value) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self { group: group.to_owned(), kind: kind.to_owned(), judge: Arc::new(judge) }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rule({}/{})", self.group, self.kind)
    }
}

/// Asks every rule on the kind, in the order in which they came.
pub(super) fn ask(server: &Server, call: &Call, new: &mut Value, old: Option<&Value>) -> Result<(), Status> {
    let kind = &call.entry.kind;
    let rules = server.rules.read();
    let mut meant = rules.iter().filter(|rule| rule.group == kind.group && rule.kind == kind.kind).peekable();
    if meant.peek().is_none() {
        return Ok(());
    }
    let namespace = server.object(NAMESPACES, "", &call.path.namespace).unwrap_or_default();
    let occasion = Occasion { old, namespace: &namespace };
    for rule in meant {
        (rule.judge)(&occasion, new).map_err(|why| {
            let name = new["metadata"]["name"].as_str().unwrap_or_default();
            Status::forbidden(&kind.group, &kind.plural, name, &why)
        })?;
    }
    Ok(())
}
