//! The hash of a plan: of what is wished, and of what would change. Pure.
//!
//! It is another one as soon as an object that the plan touches differs in a field that the plan would change, or is another
//! object of the same name. What a status says, and what others write elsewhere in the object, is no part of it.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{Planned, Wish};
use crate::audit::hex;

/// The hash of a whole plan.
pub(super) fn plan(wish: &Wish, planned: &[Planned]) -> String {
    let Wish { namespace, manifests, deletes } = wish;
    let facts: Vec<String> = planned.iter().map(object).collect();
    digest(json!({ "namespace": namespace, "manifests": manifests, "deletes": deletes, "facts": facts }))
}

/// The hash of what would become of one object.
pub(super) fn object(planned: &Planned) -> String {
    let Planned { object, action, target, changes, steps, error } = planned;
    let uid = target.as_ref().and_then(|target| target.uid.as_ref());
    let destroyed: Vec<&str> =
        steps.iter().filter(|step| step.destroys).map(|step| step.words.as_str()).collect();
    digest(json!({
        "object": object, "action": action, "uid": uid, "changes": changes, "destroyed": destroyed,
        "possible": error.is_none(),
    }))
}

fn digest(value: Value) -> String {
    hex(&Sha256::digest(sorted(value).to_string().as_bytes()))
}

/// The same value, with its keys in the order of the alphabet: how they were written is no part of what they say.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
            fields.sort_by(|(one, _), (other, _)| one.cmp(other));
            let fields: Map<String, Value> =
                fields.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(fields)
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}
