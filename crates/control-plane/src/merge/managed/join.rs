//! How an applied configuration is laid over the live object, and how fields are taken out again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::element::Element;
use super::fields::{FieldSet, Node};
use super::shape::{Atom, Keys, Shape};
use super::walk::{full_list, full_map};

/// The live value with the configuration over it. Nothing goes: fields only come or change.
pub(super) fn join(live: &Value, config: &Value, shape: Shape) -> Value {
    match shape.atom(Some(config)) {
        Atom::Object { atomic: false } => match (full_map(live), full_map(config)) {
            (None, None) => config.clone(),
            (Some(_), None) => live.clone(),
            (None, Some(_)) => config.clone(),
            (Some(live), Some(config)) => Value::Object(join_maps(live, config, shape)),
        },
        Atom::List(Some(keys)) => match (full_list(live), full_list(config)) {
            (None, None) => config.clone(),
            (Some(_), None) => live.clone(),
            (None, Some(_)) => config.clone(),
            (Some(live), Some(config)) => Value::Array(join_lists(live, config, keys, shape)),
        },
        Atom::Scalar(_) | Atom::List(None) | Atom::Object { atomic: true } => config.clone(),
    }
}

fn join_maps(live: &Map<String, Value>, config: &Map<String, Value>, shape: Shape) -> Map<String, Value> {
    let mut joined = live.clone();
    for (name, value) in config {
        let value = match live.get(name) {
            Some(before) => join(before, value, shape.any_member(name)),
            None => value.clone(),
        };
        joined.insert(name.clone(), value);
    }
    joined
}

/// Live elements keep their places, except that those the configuration names stand in its order; new
/// ones follow their neighbours in the configuration.
fn join_lists(live: &[Value], config: &[Value], keys: Keys, shape: Shape) -> Vec<Value> {
    let named = |list: &[Value]| {
        let each = list.iter().enumerate();
        each.map(|(at, one)| shape.name(keys, at, one)).collect::<Vec<Element>>()
    };
    let (left, right) = (named(live), named(config));
    let wanted: BTreeMap<&Element, &Value> = right.iter().zip(config).collect();
    let mut had: BTreeMap<&Element, Option<&Value>> = BTreeMap::new();
    for (element, value) in left.iter().zip(live) {
        // Twins are not merged with anything.
        had.entry(element).and_modify(|one| *one = None).or_insert(Some(value));
    }
    let both = |element: &Element| match (had.get(element).copied().flatten(), wanted[element]) {
        (Some(before), value) => join(before, value, shape.element()),
        (None, value) => value.clone(),
    };
    let mut shared: VecDeque<&Element> = right.iter().filter(|one| had.contains_key(one)).collect();
    let mut next = shared.pop_front();
    let mut placed = BTreeSet::new();
    let mut joined = Vec::with_capacity(live.len().max(config.len()));
    let (mut l, mut r) = (0, 0);
    while l < left.len() || r < right.len() {
        let (mine, theirs) = (left.get(l), right.get(r));
        if let Some(element) = mine {
            if mine == theirs {
                joined.push(both(element));
                placed.insert(element);
                (l, r, next) = (l + 1, r + 1, shared.pop_front());
                continue;
            }
            if !wanted.contains_key(element) {
                joined.push(live[l].clone());
                l += 1;
                continue;
            }
            // The configuration wants this one later than another live element: it leaves its place.
            if theirs.is_some() && next.is_some() && next != mine {
                l += 1;
                continue;
            }
            if placed.contains(element) {
                l += 1;
            }
        }
        if let Some(element) = theirs {
            joined.push(both(element));
            placed.insert(element);
            r += 1;
            if next == theirs {
                next = shared.pop_front();
            }
        }
    }
    joined
}

/// What becomes of an object or a list that loses all it held.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hollow {
    /// It becomes null: the field is still there, and whoever owns it keeps it.
    Null,
    /// It goes, as nulls go when the object is decoded.
    Absent,
}

/// The value without these fields.
pub(super) fn without(value: &Value, gone: &FieldSet, shape: Shape, hollow: Hollow) -> Value {
    match (shape.atom(Some(value)), value) {
        (Atom::Object { atomic: false }, Value::Object(map)) if !map.is_empty() => {
            let mut kept = Map::new();
            let mut emptied = true;
            for (name, child) in map {
                let node = gone.nodes.get(&Element::Field(name.clone()));
                let Some(rest) = survivor(child, node, shape.any_member(name), hollow) else { continue };
                emptied = false;
                if hollow == Hollow::Null || !rest.is_null() || child.is_null() {
                    kept.insert(name.clone(), rest);
                }
            }
            if emptied { Value::Null } else { Value::Object(kept) }
        }
        (Atom::List(Some(keys)), Value::Array(list)) if !list.is_empty() => {
            let each = list.iter().enumerate();
            let kept: Vec<Value> = each
                .filter_map(|(at, one)| {
                    let node = gone.nodes.get(&shape.name(keys, at, one));
                    let rest = survivor(one, node, shape.element(), hollow)?;
                    (hollow == Hollow::Null || !rest.is_null() || one.is_null()).then_some(rest)
                })
                .collect();
            if kept.is_empty() { Value::Null } else { Value::Array(kept) }
        }
        (Atom::Object { atomic: true } | Atom::List(None), Value::Object(_) | Value::Array(_)) => Value::Null,
        _ => value.clone(),
    }
}

fn survivor(value: &Value, node: Option<&Node>, shape: Shape, hollow: Hollow) -> Option<Value> {
    match node {
        Some(node) if node.member => None,
        Some(node) if !node.below.is_empty() => Some(without(value, &node.below, shape, hollow)),
        _ => Some(value.clone()),
    }
}

/// The set with every declared member that has something below it made a member too: an object goes
/// with its last field, but an entry of a map only when somebody owned the entry itself.
pub(super) fn with_parents(set: &FieldSet, shape: Option<Shape>) -> FieldSet {
    let mut all = FieldSet::default();
    for (element, node) in &set.nodes {
        let (declared, inner) = match (element, shape) {
            (Element::Field(name), Some(shape)) => (shape.declares(name), shape.member(name)),
            (Element::Key(_), Some(shape)) => (false, Some(shape.element())),
            _ => (false, None),
        };
        let member = node.member || (declared && !node.below.is_empty());
        all.put(element.clone(), Node { member, below: with_parents(&node.below, inner) });
    }
    all
}

/// The set in the terms of today's schema: who owned parts of what is atomic now owns the whole.
pub(super) fn reconciled(set: &FieldSet, shape: Shape) -> FieldSet {
    let mut all = FieldSet::default();
    for (element, node) in &set.nodes {
        let inner = match element {
            Element::Field(name) => shape.member(name),
            Element::Key(_) | Element::Value(_) | Element::Index(_) => Some(shape.element()),
        };
        let node = match inner {
            Some(inner @ Shape::Typed { schema, .. }) if schema.kind.is_some() => match inner.atom(None) {
                Atom::List(None) | Atom::Object { atomic: true } => {
                    Node { member: true, below: FieldSet::default() }
                }
                Atom::Scalar(_) | Atom::List(Some(_)) | Atom::Object { atomic: false } => {
                    Node { member: node.member, below: reconciled(&node.below, inner) }
                }
            },
            _ => node.clone(),
        };
        all.put(element.clone(), node);
    }
    all
}
