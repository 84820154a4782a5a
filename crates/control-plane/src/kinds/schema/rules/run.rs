//! Walking an object and asking its rules.

use std::collections::HashMap;

use kube_cel::cel::Value as Cel;
use serde_json::Value;

use super::eval::{Answer, Fault, Machine, Scope, some};
use super::{CALL_LIMIT, Node, OBJECT_LIMIT, Rule, values};
use crate::kinds::schema::lists::{identity, joined};
use crate::kinds::schema::show::{canonical, show};
use crate::kinds::schema::validate::{ROOT, type_name};
use crate::kinds::schema::{ListType, Type};
use crate::status::Cause;

/// A message longer than this is not shown.
const MESSAGE_LIMIT_BYTES: usize = 5 * 1024;

pub(super) fn check(root: &Node, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut run = Run { machine: Machine::new(), left: OBJECT_LIMIT, stopped: false, causes: Vec::new() };
    run.node(root, &Place { value: object, old, near: old.map(|old| (object, old)), path: String::new() });
    run.causes
}

struct Run {
    machine: Machine,
    left: u64,
    stopped: bool,
    causes: Vec<Cause>,
}

struct Place<'a> {
    value: &'a Value,
    old: Option<&'a Value>,
    /// The nearest part of the object, from here upwards, that has an old counterpart.
    near: Option<(&'a Value, &'a Value)>,
    path: String,
}

impl<'a> Place<'a> {
    fn below(&self, value: &'a Value, old: Option<&'a Value>, path: String) -> Self {
        let near = old.map(|old| (value, old)).or(self.near);
        Self { value, old, near, path }
    }

    fn unchanged(&self) -> bool {
        self.near.is_some_and(|(new, old)| new == old)
    }
}

impl Run {
    fn node(&mut self, node: &Node, place: &Place) {
        if self.stopped || place.value.is_null() {
            return;
        }
        self.rules(node, place);
        match place.value {
            Value::Array(list) => {
                let Some(items) = &node.items else { return };
                let known = known(node, place.old);
                for (index, element) in list.iter().enumerate() {
                    let old = known
                        .as_ref()
                        .and_then(|(keys, known)| known.get(&canonical(&identity(element, keys))));
                    let path = format!("{}[{index}]", place.path);
                    self.node(items, &place.below(element, old.copied(), path));
                }
            }
            Value::Object(map) => {
                let mut fields: Vec<_> = map.iter().collect();
                fields.sort_by_key(|(name, _)| *name);
                for (name, value) in fields {
                    let old = place.old.and_then(|old| old.get(name));
                    if let Some((_, child)) = node.properties.iter().find(|(known, _)| known == name) {
                        let mut below = place.below(value, old, joined(&place.path, name));
                        if place.path.is_empty() && matches!(name.as_str(), "apiVersion" | "kind") {
                            below.near = None;
                        }
                        self.node(child, &below);
                    } else if let (Some(child), false) =
                        (&node.additional, node.schema.properties.contains_key(name))
                    {
                        self.node(child, &place.below(value, old, format!("{}[{name}]", place.path)));
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn rules(&mut self, node: &Node, place: &Place) {
        if node.rules.is_empty() {
            return;
        }
        let own: Answer = Ok(values::convert(place.value, &node.schema, node.resource));
        let before = place.old.filter(|old| !old.is_null());
        let before = before.map(|old| values::convert(old, &node.schema, node.resource));
        for rule in &node.rules {
            if self.stopped || rule.uses_old && before.is_none() && !rule.optional_old {
                continue;
            }
            let old: Answer = match (rule.optional_old, &before) {
                (true, before) => Ok(some(before.clone())),
                (false, Some(before)) => Ok(before.clone()),
                (false, None) => Err(Fault::Failed("undeclared reference to 'oldSelf'".into())),
            };
            let outer = Scope { name: "self", value: &own, outer: None };
            let scope = outer.with("oldSelf", &old);
            let (answer, steps) = self.machine.run(&rule.expression, &scope, CALL_LIMIT.min(self.left));
            self.left -= steps;
            match answer {
                Ok(Cel::Bool(true)) => {}
                Ok(Cel::Bool(false)) => self.failed(node, rule, place, &scope),
                Ok(_) => self.broken(node, rule, place, "no such overload".into()),
                Err(Fault::Failed(why)) => self.broken(node, rule, place, why),
                Err(Fault::Spent) => self.spent(node, rule, place),
            }
        }
    }

    fn failed(&mut self, node: &Node, rule: &Rule, place: &Place, scope: &Scope) {
        if !rule.uses_old && place.unchanged() {
            return;
        }
        let message = rule.message_expression.as_ref().and_then(|expression| {
            let (answer, steps) = self.machine.run(expression, scope, CALL_LIMIT.min(self.left));
            self.left -= steps;
            match answer {
                Ok(Cel::String(text)) => presentable(text.trim()).map(str::to_owned),
                _ => None,
            }
        });
        let message = message.unwrap_or_else(|| match rule.message.as_str() {
            "" => format!("failed rule: {}", rule.text),
            message => message.to_owned(),
        });
        let field = match (place.path.as_str(), rule.field_path.as_str()) {
            (path, "") => named(path),
            ("", below) => below.to_owned(),
            (path, below) if below.starts_with('[') => format!("{path}{below}"),
            (path, below) => format!("{path}.{below}"),
        };
        let composite = matches!(node.schema.kind, Some(Type::Object | Type::Array));
        let value = if composite { String::new() } else { format!(": {}", show(place.value)) };
        self.causes.push(match rule.reason.as_str() {
            "FieldValueForbidden" => Cause::forbidden(field, &message),
            "FieldValueRequired" => Cause::required(field, &message),
            "FieldValueDuplicate" => {
                Cause::of("FieldValueDuplicate", field, format!("Duplicate value{value}"))
            }
            _ => Cause::of("FieldValueInvalid", field, format!("Invalid value{value}: {message}")),
        });
    }

    fn broken(&mut self, node: &Node, rule: &Rule, place: &Place, why: String) {
        let why = match why.as_str() {
            "no such overload" => format!(
                "'{why}': call arguments did not match a supported operator, function or macro signature for rule: {}",
                told(rule)
            ),
            _ => format!("{why} evaluating rule: {}", told(rule)),
        };
        self.refuse(node, place, &why);
    }

    fn spent(&mut self, node: &Node, rule: &Rule, place: &Place) {
        self.stopped = true;
        let why = if self.left == 0 {
            "validation failed due to running out of cost budget, no further validation rules will be run"
                .into()
        } else {
            format!(
                "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to \
                 call cost exceeds limit for rule: {}",
                told(rule)
            )
        };
        self.refuse(node, place, &why);
    }

    fn refuse(&mut self, node: &Node, place: &Place, why: &str) {
        let kind = node.schema.kind.map_or("", type_name);
        self.causes.push(Cause::invalid(named(&place.path), &Value::from(kind), why));
    }
}

fn named(path: &str) -> String {
    if path.is_empty() { ROOT.to_owned() } else { path.to_owned() }
}

fn told(rule: &Rule) -> &str {
    if rule.message.is_empty() { &rule.text } else { &rule.message }
}

fn presentable(message: &str) -> Option<&str> {
    let fit = !message.is_empty() && message.len() <= MESSAGE_LIMIT_BYTES && !message.contains('\n');
    fit.then_some(message)
}

type Known<'a> = (&'a [String], HashMap<String, &'a Value>);

fn known<'a>(node: &'a Node, old: Option<&'a Value>) -> Option<Known<'a>> {
    let ListType::Map(keys) = &node.schema.list else { return None };
    let list = old?.as_array()?;
    Some((keys, list.iter().map(|element| (canonical(&identity(element, keys)), element)).collect()))
}
