//! A set of fields: what `fieldsV1` holds.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::element::Element;

/// A set of field paths, as a tree. A node that is no member has members below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldSet {
    pub(super) nodes: BTreeMap<Element, Node>,
}

/// One field: whether it is in the set, and which fields below it are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) member: bool,
    pub(super) below: FieldSet,
}

impl Node {
    pub(super) fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl FieldSet {
    /// Reads `fieldsV1`. A field is a member if it holds `.`, or holds nothing.
    pub(super) fn parse(fields: &Value) -> Result<Self, String> {
        let Value::Object(map) = fields else { return Err(format!("expected an object, got {fields}")) };
        let mut set = Self::default();
        for (key, inner) in map.iter().filter(|(key, _)| *key != ".") {
            let Some(element) = Element::parse(key)? else { continue };
            let below = Self::parse(inner)?;
            let member = below.is_empty() || inner.get(".").is_some();
            set.put(element, Node { member, below });
        }
        Ok(set)
    }

    /// As `fieldsV1` has it.
    pub(super) fn print(&self) -> Value {
        let each = self.nodes.iter().map(|(element, node)| {
            let mut inner = Map::new();
            if node.member && !node.below.is_empty() {
                inner.insert(".".into(), Value::Object(Map::new()));
            }
            if let Value::Object(below) = node.below.print() {
                inner.extend(below);
            }
            (element.print(), Value::Object(inner))
        });
        Value::Object(each.collect())
    }

    /// A set of these paths, each given by the names of members.
    pub(super) fn of(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Vec<_> = path.iter().map(|name| Element::Field((*name).to_owned())).collect();
            set.insert(&path);
        }
        set
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds one path; the root is no field.
    pub(super) fn insert(&mut self, path: &[Element]) {
        let Some((first, rest)) = path.split_first() else { return };
        let node = self.nodes.entry(first.clone()).or_default();
        match rest {
            [] => node.member = true,
            rest => node.below.insert(rest),
        }
    }

    /// Adds a node, unless there is nothing in it.
    pub(super) fn put(&mut self, element: Element, node: Node) {
        if !node.is_empty() {
            self.nodes.insert(element, node);
        }
    }

    pub(super) fn union(mut self, other: &Self) -> Self {
        for (element, theirs) in &other.nodes {
            let ours = self.nodes.entry(element.clone()).or_default();
            ours.member |= theirs.member;
            ours.below = std::mem::take(&mut ours.below).union(&theirs.below);
        }
        self
    }

    /// What is in this set and not in the other. A member of the other takes nothing below it along.
    pub(super) fn difference(&self, other: &Self) -> Self {
        let mut left = Self::default();
        for (element, ours) in &self.nodes {
            let node = match other.nodes.get(element) {
                Some(theirs) => Node {
                    member: ours.member && !theirs.member,
                    below: ours.below.difference(&theirs.below),
                },
                None => ours.clone(),
            };
            left.put(element.clone(), node);
        }
        left
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        let mut both = Self::default();
        for (element, ours) in &self.nodes {
            if let Some(theirs) = other.nodes.get(element) {
                let member = ours.member && theirs.member;
                both.put(element.clone(), Node { member, below: ours.below.intersection(&theirs.below) });
            }
        }
        both
    }

    /// Every path in the set: the members of a level come before what is below them.
    pub(super) fn paths(&self) -> Vec<Vec<Element>> {
        let mut found = Vec::new();
        self.collect(&mut Vec::new(), &mut found);
        found
    }

    fn collect(&self, path: &mut Vec<Element>, found: &mut Vec<Vec<Element>>) {
        for (element, _) in self.nodes.iter().filter(|(_, node)| node.member) {
            found.push([path.as_slice(), std::slice::from_ref(element)].concat());
        }
        for (element, node) in &self.nodes {
            path.push(element.clone());
            node.below.collect(path, found);
            path.pop();
        }
    }
}
