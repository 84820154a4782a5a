//! Which fields a value has, and in which fields two values differ.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::element::{Element, compare};
use super::fields::{FieldSet, Node};
use super::shape::{Atom, Keys, Shape};

/// The leaves of a value: what an applier owns by giving it.
pub(super) fn fields(value: &Value, shape: Shape) -> FieldSet {
    leaves(value, shape).below
}

fn leaves(value: &Value, shape: Shape) -> Node {
    let leaf = Node { member: true, below: FieldSet::default() };
    match (shape.atom(Some(value)), value) {
        (Atom::Scalar(_) | Atom::List(None) | Atom::Object { atomic: true }, _) => leaf,
        (Atom::Object { .. }, Value::Object(map)) => {
            let mut below = FieldSet::default();
            for (name, child) in map {
                let mut node = leaves(child, shape.any_member(name));
                let hollow = child.is_null() || child.as_object().is_some_and(Map::is_empty);
                node.member |= hollow || !shape.declares(name);
                below.put(Element::Field(name.clone()), node);
            }
            Node { member: false, below }
        }
        (Atom::List(Some(keys)), Value::Array(list)) => {
            Node { member: false, below: elements(list, keys, shape) }
        }
        (Atom::Object { .. } | Atom::List(_), _) => Node::default(),
    }
}

/// Elements that stand twice are owned as wholes.
fn elements(list: &[Value], keys: Keys, shape: Shape) -> FieldSet {
    let mut below = FieldSet::default();
    for (element, twins) in grouped(list, keys, shape) {
        let mut node = match twins.as_slice() {
            [one] => leaves(one, shape.element()),
            _ => Node::default(),
        };
        node.member = true;
        below.put(element, node);
    }
    below
}

fn grouped<'v>(list: &'v [Value], keys: Keys, shape: Shape) -> BTreeMap<Element, Vec<&'v Value>> {
    let mut groups: BTreeMap<Element, Vec<&Value>> = BTreeMap::new();
    for (at, one) in list.iter().enumerate() {
        groups.entry(shape.name(keys, at, one)).or_default().push(one);
    }
    groups
}

/// How one object became another. No field is in two of the sets.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) removed: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) added: FieldSet,
}

impl Changes {
    /// What happened between two values of one shape.
    pub(super) fn between(old: &Value, new: &Value, shape: Shape) -> Self {
        let mut changes = Self::default();
        changes.visit(Some(old), Some(new), shape, &mut Vec::new());
        changes
    }

    fn visit(&mut self, old: Option<&Value>, new: Option<&Value>, shape: Shape, path: &mut Vec<Element>) {
        let (was, is) = (shape.atom(old), shape.atom(new));
        match (old, new) {
            (Some(_), None) => {
                self.descend(was, (old, None), shape, path);
                self.removed.insert(path);
            }
            (None, _) => {
                self.descend(is, (None, new), shape, path);
                self.added.insert(path);
            }
            (Some(_), Some(_)) => {
                self.descend(was, (old, new), shape, path);
                if std::mem::discriminant(&was) != std::mem::discriminant(&is) {
                    self.descend(is, (old, new), shape, path);
                }
            }
        }
    }

    fn descend(
        &mut self,
        atom: Atom,
        pair: (Option<&Value>, Option<&Value>),
        shape: Shape,
        path: &mut Vec<Element>,
    ) {
        let (old, new) = pair;
        match atom {
            Atom::Object { atomic: false } => {
                let (old, new) = (old.and_then(full_map), new.and_then(full_map));
                if old.is_some() || new.is_some() {
                    return self.members(old, new, shape, path);
                }
            }
            Atom::List(Some(keys)) => {
                let (old, new) = (old.and_then(full_list), new.and_then(full_list));
                if old.is_some() || new.is_some() {
                    let old = grouped(old.unwrap_or_default(), keys, shape);
                    let new = grouped(new.unwrap_or_default(), keys, shape);
                    return self.elements(&old, &new, shape, path);
                }
            }
            Atom::Scalar(_) | Atom::List(None) | Atom::Object { atomic: true } => {}
        }
        if let (Some(old), Some(new)) = (old, new)
            && !same(old, new)
        {
            self.modified.insert(path);
        }
    }

    fn members(
        &mut self,
        old: Option<&Map<String, Value>>,
        new: Option<&Map<String, Value>>,
        shape: Shape,
        path: &mut Vec<Element>,
    ) {
        let before = |name: &str| old.and_then(|map| map.get(name));
        let after = |name: &str| new.and_then(|map| map.get(name));
        let fresh = new.into_iter().flat_map(Map::keys).filter(|name| before(name).is_none());
        for name in old.into_iter().flat_map(Map::keys).chain(fresh) {
            path.push(Element::Field(name.clone()));
            self.visit(before(name), after(name), shape.any_member(name), path);
            path.pop();
        }
    }

    fn elements(
        &mut self,
        old: &BTreeMap<Element, Vec<&Value>>,
        new: &BTreeMap<Element, Vec<&Value>>,
        shape: Shape,
        path: &mut Vec<Element>,
    ) {
        let fresh = new.keys().filter(|element| !old.contains_key(element));
        for element in old.keys().chain(fresh) {
            let before = old.get(element).map_or(&[][..], Vec::as_slice);
            let after = new.get(element).map_or(&[][..], Vec::as_slice);
            let (was, is) = (before.first().copied(), after.first().copied());
            path.push(element.clone());
            // Twins are one field without parts: to become or to cease twins is to go and come anew.
            match (before.len() > 1, after.len() > 1) {
                (false, false) => self.visit(was, is, shape.element(), path),
                (true, true) if before.len() == after.len() => {
                    if !before.iter().zip(after).all(|(old, new)| same(old, new)) {
                        self.modified.insert(path);
                    }
                }
                (true, true) => self.modified.insert(path),
                (true, false) => {
                    if is.is_some() {
                        self.visit(None, is, shape.element(), path);
                    }
                    self.removed.insert(path);
                }
                (false, true) => {
                    if was.is_some() {
                        self.visit(was, None, shape.element(), path);
                    }
                    self.added.insert(path);
                }
            }
            path.pop();
        }
    }
}

/// Numbers are equal by worth, not by notation.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    compare(left, right).is_eq()
}

pub(super) fn full_map(value: &Value) -> Option<&Map<String, Value>> {
    value.as_object().filter(|map| !map.is_empty())
}

pub(super) fn full_list(value: &Value) -> Option<&[Value]> {
    value.as_array().map(Vec::as_slice).filter(|list| !list.is_empty())
}
