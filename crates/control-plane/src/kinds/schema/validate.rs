//! Whether an object fits its schema.

use std::collections::HashMap;
use std::fmt::Write;

use serde_json::{Map, Value};

use super::lists::{self, identity};
use super::show::{canonical, show};
use super::{Additional, Checks, ListType, MAX_DEPTH, Rules, Schema, Type, embedded, scalars};
use crate::status::Cause;

/// Everything that is wrong with an object, in a stable order: shape and values, embedded resources, then
/// lists that must not repeat themselves. Given the old object, what did not change is not held against
/// the new one, except in embedded resources.
pub fn validate(schema: &Schema, value: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut walk = Walk { path: String::new(), depth: 0 };
    let mut causes = walk.node(schema, value, old).causes;
    causes.extend(embedded::check(schema, value));
    let repeated = lists::duplicates(schema, value);
    let known = || old.is_some_and(|old| !lists::duplicates(schema, old).is_empty());
    if !repeated.is_empty() && !known() {
        causes.extend(repeated);
    }
    causes
}

/// [`validate`], then the CEL rules; when the object is not even of the right shape, a last cause says
/// that the rules were not asked.
pub fn validate_with_rules(
    schema: &Schema,
    rules: Option<&Rules>,
    value: &Value,
    old: Option<&Value>,
) -> Vec<Cause> {
    const BLOCKING: [&str; 5] = [
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    ];
    let mut causes = validate(schema, value, old);
    let Some(rules) = rules else { return causes };
    let too_deep = |cause: &Cause| cause.message.ends_with(TOO_DEEP);
    if causes.iter().any(|cause| BLOCKING.contains(&cause.reason.as_str()) || too_deep(cause)) {
        let why = "some validation rules were not checked because the object was invalid; \
                   correct the existing errors to complete validation";
        causes.push(Cause::invalid(ROOT, &Value::Null, why));
    } else {
        causes.extend(rules.check(value, old));
    }
    causes
}

/// How the root of an object is named in a cause.
pub(super) const ROOT: &str = "<nil>";
/// The end of the sentence for an object that nests too deep.
const TOO_DEEP: &str = "must not be nested deeper than 128 levels";

/// What one node gave: its faults, and how far the checks came, which picks the best branch of a junctor.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) causes: Vec<Cause>,
    pub(super) passed: usize,
}

impl Outcome {
    pub(super) fn merge(&mut self, other: Outcome) {
        self.causes.extend(other.causes);
        self.passed += other.passed;
    }
}

struct Walk {
    path: String,
    depth: usize,
}

impl Walk {
    fn node(&mut self, schema: &Schema, value: &Value, old: Option<&Value>) -> Outcome {
        if self.depth >= MAX_DEPTH {
            let cause = Cause::of("FieldValueInvalid", self.field(), format!("Invalid value: {TOO_DEEP}"));
            return Outcome { causes: vec![cause], passed: 0 };
        }
        self.depth += 1;
        let mut outcome = Outcome::default();
        let fault = scalars::kind(schema, value, &self.path);
        outcome.passed += usize::from(fault.is_none());
        outcome.causes.extend(fault);
        if !value.is_null() {
            if let Some(checks) = &schema.checks {
                self.junctors(checks, value, old, &mut outcome);
            }
            if let Value::Array(list) = value {
                self.array(schema, list, old, &mut outcome);
            }
            outcome.causes.extend(scalars::values(schema, value, &self.path));
        }
        outcome.causes.extend(scalars::one_of_values(schema, value, &self.path));
        if let Value::Object(map) = value {
            self.object(schema, map, old, &mut outcome);
        }
        // A node that was looked into counts, so the branch that reached deeper wins.
        outcome.passed += 1;
        self.depth -= 1;
        if !outcome.causes.is_empty() && old == Some(value) {
            outcome.causes.clear();
        }
        outcome
    }

    fn field(&self) -> String {
        if self.path.is_empty() { ROOT.into() } else { self.path.trim_start_matches('.').into() }
    }

    fn junctors(&mut self, checks: &Checks, value: &Value, old: Option<&Value>, outcome: &mut Outcome) {
        let quoted = Value::from(self.path.as_str());
        let fault =
            |text: String| Cause::of("FieldValueInvalid", ROOT, format!("Invalid value: \"\": {text}"));
        if !checks.any_of.is_empty() {
            let (best, valid) = self.best(&checks.any_of, value, old);
            if valid == 0 {
                outcome.causes.push(fault(format!("{quoted} must validate at least one schema (anyOf)")));
            }
            outcome.merge(best);
        }
        if !checks.one_of.is_empty() {
            let (best, valid) = self.best(&checks.one_of, value, old);
            if valid != 1 {
                let found =
                    if valid == 0 { "none valid".into() } else { format!("{valid} valid alternatives") };
                let text = format!("{quoted} must validate one and only one schema (oneOf). Found {found}");
                outcome.causes.push(fault(text));
            }
            outcome.merge(best);
        }
        if !checks.all_of.is_empty() {
            let results: Vec<_> = checks.all_of.iter().map(|schema| self.node(schema, value, old)).collect();
            let valid = results.iter().filter(|result| result.causes.is_empty()).count();
            results.into_iter().for_each(|result| outcome.merge(result));
            if valid != checks.all_of.len() {
                let none = if valid == 0 { ". None validated" } else { "" };
                outcome.causes.push(fault(format!("{quoted} must validate all the schemas (allOf){none}")));
            }
        }
        if let Some(not) = &checks.not
            && self.node(not, value, old).causes.is_empty()
        {
            outcome.causes.push(fault(format!("{quoted} must not validate the schema (not)")));
        }
    }

    /// The branch that came furthest, and how many are valid. A valid one wins.
    fn best(&mut self, branches: &[Schema], value: &Value, old: Option<&Value>) -> (Outcome, usize) {
        let mut best: Option<Outcome> = None;
        let mut valid = 0;
        for schema in branches {
            let result = self.node(schema, value, old);
            let good = result.causes.is_empty();
            let better = match &best {
                None => true,
                Some(best) => good && !best.causes.is_empty() || valid == 0 && result.passed > best.passed,
            };
            valid += usize::from(good);
            if better {
                best = Some(result);
            }
        }
        (best.unwrap_or_default(), valid)
    }

    fn array(&mut self, schema: &Schema, list: &[Value], old: Option<&Value>, outcome: &mut Outcome) {
        let Some(items) = &schema.items else { return };
        let known = correlated(schema, old);
        for (index, element) in list.iter().enumerate() {
            let length = self.path.len();
            let _ = write!(self.path, "[{index}]");
            let old =
                known.as_ref().and_then(|(keys, known)| known.get(&canonical(&identity(element, keys))));
            outcome.merge(self.node(items, element, old.copied()));
            self.path.truncate(length);
        }
    }

    fn object(
        &mut self,
        schema: &Schema,
        map: &Map<String, Value>,
        old: Option<&Value>,
        outcome: &mut Outcome,
    ) {
        let mut fields: Vec<_> = map.iter().collect();
        fields.sort_by_key(|(name, _)| *name);
        let (declared, others): (Vec<_>, Vec<_>) =
            fields.into_iter().partition(|(name, _)| schema.properties.contains_key(*name));
        if let Additional::Map(values) = &schema.additional {
            for (name, value) in others {
                // A map's key always follows a dot, also at the root.
                self.child(name, true, |walk| outcome.merge(walk.node(values, value, old_field(old, name))));
            }
        }
        let root = self.path.is_empty();
        for (name, value) in declared {
            let Some(field) = schema.properties.get(name) else { continue };
            // A change of apiVersion or kind at the root is not visible here, so they are always checked.
            let old =
                old_field(old, name).filter(|_| !(root && matches!(name.as_str(), "apiVersion" | "kind")));
            self.child(name, false, |walk| outcome.merge(walk.node(field, value, old)));
        }
        for name in schema.required.iter().filter(|name| !map.contains_key(*name)) {
            let field = lists::joined(self.path.trim_start_matches('.'), name);
            outcome.causes.push(Cause::required(field, ""));
        }
    }

    fn child(&mut self, name: &str, dotted: bool, body: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        if length > 0 || dotted {
            self.path.push('.');
        }
        self.path.push_str(name);
        body(self);
        self.path.truncate(length);
    }
}

fn old_field<'a>(old: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    old?.as_object()?.get(name)
}

type Known<'a> = (&'a [String], HashMap<String, &'a Value>);

/// Elements of the old list by their keys; only map lists have elements that can be told apart.
fn correlated<'a>(schema: &'a Schema, old: Option<&'a Value>) -> Option<Known<'a>> {
    let ListType::Map(keys) = &schema.list else { return None };
    let list = old?.as_array()?;
    Some((keys, list.iter().map(|element| (canonical(&identity(element, keys)), element)).collect()))
}

/// Whether a field's type is one of a few; used by sentences that name it.
pub(super) fn type_name(kind: Type) -> &'static str {
    match kind {
        Type::Object => "object",
        Type::Array => "array",
        Type::String => "string",
        Type::Integer => "integer",
        Type::Number => "number",
        Type::Boolean => "boolean",
    }
}

/// A cause for a value that breaks a rule, printed as the API prints values.
pub(super) fn invalid(path: &str, value: &Value, why: &str) -> Cause {
    let field = if path.is_empty() { ROOT } else { path.trim_start_matches('.') };
    Cause::of("FieldValueInvalid", field, format!("Invalid value: {}: {why}", show(value)))
}
