//! Lists in a strategic merge patch: replaced, or merged by a key, or merged as a set of scalars.

use serde_json::{Map, Value};

use super::{DIRECTIVE, PatchError, malformed, merge_map, undirected, unknown_directive};
use crate::kinds::schema::Schema;

/// What tells the elements of one list apart.
pub(super) struct Rule {
    merge: bool,
    key: Option<String>,
}

impl Rule {
    pub(super) fn of(list: Option<&Schema>) -> Self {
        let patch = list.map(|list| &list.patch);
        Self {
            merge: patch.is_some_and(|patch| patch.merge),
            key: patch.and_then(|patch| patch.merge_key.clone()),
        }
    }

    /// What identifies an element: its merge key's value, or the scalar itself.
    fn identity<'a>(&self, element: &'a Value) -> Option<&'a Value> {
        match &self.key {
            Some(key) => element.get(key),
            None => Some(element),
        }
    }

    fn position(&self, list: &[Value], element: &Value) -> Option<usize> {
        let wanted = self.identity(element)?;
        list.iter().position(|one| self.identity(one) == Some(wanted))
    }

    fn check(&self, list: &[Value]) -> Result<(), PatchError> {
        match (&self.key, list.iter().find(|one| self.identity(one).is_none())) {
            (Some(key), Some(bad)) => Err(no_key(bad, key)),
            _ => Ok(()),
        }
    }
}

fn no_key(element: &Value, key: &str) -> PatchError {
    match element.is_object() {
        true => malformed(format!("map: {element} does not contain declared merge key: {key}")),
        false => malformed(format!("expected a map, but received {element}")),
    }
}

/// The list after the patch. Without the `merge` strategy the patch's list takes the place of the old.
pub(super) fn merge_or_replace(
    old: &[Value],
    patch: &[Value],
    list: Option<&Schema>,
) -> Result<Vec<Value>, PatchError> {
    let rule = Rule::of(list);
    if !rule.merge {
        return Ok(patch.to_vec());
    }
    if old.is_empty() && patch.is_empty() {
        return Ok(Vec::new());
    }
    check_kinds(old, patch)?;
    if !old.iter().chain(patch).all(Value::is_object) {
        return merge_scalars(old, patch);
    }
    let Some(key) = rule.key.clone() else {
        return Err(malformed("cannot merge lists without merge key"));
    };
    let (mut merged, patch) = obey_directives(old, patch, &key)?;
    let server_order = merged.clone();
    for change in &patch {
        let change = change.as_object().cloned().unwrap_or_default();
        merge_element(&mut merged, change, &rule, list)?;
    }
    in_order(merged, &patch, &server_order, &rule)
}

fn check_kinds(old: &[Value], patch: &[Value]) -> Result<(), PatchError> {
    let mut all = old.iter().chain(patch);
    let Some(first) = all.next() else { return Ok(()) };
    if first.is_array() {
        return Err(PatchError::Rejected("lists of lists are not supported".into()));
    }
    match all.all(|one| std::mem::discriminant(one) == std::mem::discriminant(first)) {
        true => Ok(()),
        false => Err(malformed(format!(
            "list element types are not identical: [{} {}]",
            Value::from(old),
            Value::from(patch)
        ))),
    }
}

fn merge_scalars(old: &[Value], patch: &[Value]) -> Result<Vec<Value>, PatchError> {
    let mut merged: Vec<Value> = Vec::new();
    for one in old.iter().chain(patch) {
        if !merged.contains(one) {
            merged.push(one.clone());
        }
    }
    in_order(merged, patch, old, &Rule { merge: true, key: None })
}

/// Carries out `$patch` in elements. Returns what is left to merge: the old list and the new elements.
fn obey_directives(
    old: &[Value],
    patch: &[Value],
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut old = old.to_vec();
    let mut plain = Vec::new();
    let mut replace = false;
    for element in patch {
        let Some(directive) = element.get(DIRECTIVE) else {
            plain.push(element.clone());
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let gone = element.get(key).ok_or_else(|| no_key(element, key))?;
                old.retain(|one| one.get(key) != Some(gone));
            }
            Some("replace") => replace = true,
            Some("merge") => return Err(malformed("merging lists cannot yet be specified in the patch")),
            _ => return Err(unknown_directive(directive, element.as_object().unwrap_or(&Map::new()))),
        }
    }
    Ok(if replace { (plain, Vec::new()) } else { (old, plain) })
}

fn merge_element(
    merged: &mut Vec<Value>,
    change: Map<String, Value>,
    rule: &Rule,
    list: Option<&Schema>,
) -> Result<(), PatchError> {
    let change = Value::Object(change);
    rule.check(std::slice::from_ref(&change))?;
    let items = list.and_then(|list| list.items.as_deref());
    match (rule.position(merged, &change), change) {
        (Some(at), Value::Object(change)) => match &mut merged[at] {
            Value::Object(element) => merge_map(element, change, items),
            _ => Ok(()),
        },
        (_, change) => {
            merged.extend(undirected(&change));
            Ok(())
        }
    }
}

/// The elements of a patch must stand in the order that its `$setElementOrder` gives.
pub(super) fn check_order(patch: &[Value], order: &[Value], rule: &Rule) -> Result<(), PatchError> {
    if order.is_empty() || patch.is_empty() {
        return Ok(());
    }
    let mut wanted = order.iter();
    let deleted = |one: &&Value| one.get(DIRECTIVE).is_some();
    for element in patch.iter().filter(|one| !deleted(one)) {
        rule.check(std::slice::from_ref(element))?;
        if !wanted.any(|one| rule.identity(one) == rule.identity(element)) {
            let (patch, order) = (Value::from(patch), Value::from(order));
            return Err(malformed(format!(
                "The order in patch list:\n{patch}\n doesn't match $setElementOrder list:\n{order}\n"
            )));
        }
    }
    Ok(())
}

/// Sorts a merged list: elements the patch names in its order, the others in the server's order, the
/// two woven together as the server had them.
pub(super) fn in_order(
    merged: Vec<Value>,
    patch_order: &[Value],
    server_order: &[Value],
    rule: &Rule,
) -> Result<Vec<Value>, PatchError> {
    rule.check(&merged)?;
    rule.check(patch_order)?;
    rule.check(server_order)?;
    let rank = |order: &[Value], one: &Value| rule.position(order, one).unwrap_or(usize::MAX);
    let (mut named, mut others): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|one| rule.position(patch_order, one).is_some());
    named.sort_by_key(|one| rank(patch_order, one));
    others.sort_by_key(|one| rank(server_order, one));
    let mut sorted = Vec::with_capacity(named.len() + others.len());
    let mut others = others.into_iter().peekable();
    for one in named {
        let place = rule.position(server_order, &one);
        while let (Some(place), Some(other)) = (place, others.peek()) {
            if rank(server_order, other) > place {
                break;
            }
            sorted.extend(others.next());
        }
        sorted.push(one);
    }
    sorted.extend(others);
    Ok(sorted)
}
