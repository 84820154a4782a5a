//! What the rules say of values.

use serde_json::Value;

use super::Rule;

/// Most violations that are told; who has more begins with these.
const VIOLATIONS_MOST: usize = 20;
/// Most letters of one violation.
const VIOLATION_MOST: usize = 300;
/// Words of which a JSON schema has one at least. A document without any of them would allow everything.
const KEYWORDS: [&str; 16] = [
    "$schema",
    "$ref",
    "$defs",
    "type",
    "properties",
    "patternProperties",
    "additionalProperties",
    "required",
    "items",
    "enum",
    "const",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
];

/// What a check came to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Judgement {
    /// All rules hold.
    Good(String),
    /// Some rule could not be checked, and none is broken.
    Unknown(String),
    /// Some rule is broken.
    Bad(Vec<String>),
}

/// Judges values by rules. Broken rules are told even where others cannot be checked.
pub(super) fn judge(path: &str, values: Option<&[u8]>, rules: &[Rule]) -> Judgement {
    let Some(values) = values else { return Judgement::Bad(vec![format!("{path} is missing")]) };
    let Some(values) = read(values) else {
        return Judgement::Bad(vec![format!("{path} cannot be read as YAML")]);
    };
    let (mut violations, mut unknown) = (Vec::new(), Vec::new());
    for rule in rules {
        match broken(rule, &values) {
            Ok(found) => violations.extend(found),
            Err(why) => unknown.push(why),
        }
    }
    violations.truncate(VIOLATIONS_MOST);
    match (violations.is_empty(), unknown.is_empty()) {
        (false, _) => Judgement::Bad(violations),
        (true, false) => Judgement::Unknown(unknown.join("; ")),
        (true, true) if rules.is_empty() => {
            Judgement::Good(format!("{path} can be read; the product has no rules"))
        }
        (true, true) => Judgement::Good(format!("{path} obeys the rules")),
    }
}

/// An empty file is values that say nothing.
fn read(bytes: &[u8]) -> Option<Value> {
    let value: Value = serde_saphyr::from_slice(bytes).ok()?;
    Some(if value.is_null() { Value::Object(serde_json::Map::new()) } else { value })
}

/// What of a rule is broken, or why it cannot be checked.
fn broken(rule: &Rule, values: &Value) -> Result<Vec<String>, String> {
    let name = &rule.name;
    let text = rule.text.as_ref().ok_or_else(|| format!("{name} cannot be read, so it was not checked"))?;
    let schema = schema(text)
        .ok_or_else(|| format!("{name} is no JSON schema; CUE cannot be checked, so people have to"))?;
    let built = jsonschema::options().build(&schema);
    let built = built.map_err(|_| {
        format!("{name} is a JSON schema that cannot be used; it must be whole, as nothing is fetched")
    })?;
    let told = |error: jsonschema::ValidationError<'_>| {
        let at = match error.instance_path().as_str() {
            "" => "/".to_owned(),
            path => path.to_owned(),
        };
        // What the values are is nobody's business but the repository's.
        format!("{at}: {}", error.masked()).chars().take(VIOLATION_MOST).collect()
    };
    Ok(built.iter_errors(values).take(VIOLATIONS_MOST).map(told).collect())
}

/// A JSON schema, in JSON; or in YAML, if it says of itself that it is one: much CUE looks like YAML.
fn schema(text: &[u8]) -> Option<Value> {
    let json = serde_json::from_slice::<Value>(text).ok();
    let yaml = || {
        let value: Value = serde_saphyr::from_slice(text).ok()?;
        value.get("$schema").and_then(Value::as_str)?;
        Some(value)
    };
    let value = json.or_else(yaml)?;
    let fields = value.as_object()?;
    KEYWORDS.iter().any(|word| fields.contains_key(*word)).then_some(value)
}
