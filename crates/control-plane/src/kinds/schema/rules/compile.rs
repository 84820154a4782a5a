//! From rules as written to rules that can be asked.

use std::sync::Arc;

use kube_cel::cel::parser::{Expression, Parser};
use serde_json::{Value, json};

use super::{Node, Rule, field_path, shapes};
use crate::kinds::schema::{Additional, ListType, MAX_DEPTH, Schema};
use crate::status::Cause;

/// A rule longer than this is refused: nobody reads it, and its tree could outgrow any stack.
const LENGTH_LIMIT_BYTES: usize = 16 * 1024;
/// A chain of operators nests as deep as it is long, so rules are parsed on a stack with room for the
/// longest one; it is touched only as far as it is used.
const STACK_BYTES: usize = 256 << 20;
/// How deep an accepted rule may nest, so that asking it fits any stack.
const EXPRESSION_DEPTH: usize = 200;

/// The tree of nodes that have rules.
pub(super) fn tree(schema: Arc<Schema>, path: &str, resource: bool) -> Result<Option<Node>, Vec<Cause>> {
    if !has_rules(&schema, 0) {
        return Ok(None);
    }
    let place = Place { path: path.to_owned(), frozen: None, depth: 0 };
    let build = move || {
        let mut causes = Vec::new();
        let root = node(&schema, resource, &place, &mut causes);
        if causes.is_empty() { Ok(root) } else { Err(causes) }
    };
    let built =
        std::thread::Builder::new().stack_size(STACK_BYTES).spawn(build).map(std::thread::JoinHandle::join);
    match built {
        Ok(Ok(built)) => built,
        Ok(Err(_)) | Err(_) => {
            let why = "compilation failed: the rules could not be parsed";
            Err(vec![Cause::invalid("x-kubernetes-validations", &Value::Null, why)])
        }
    }
}

fn has_rules(schema: &Schema, depth: usize) -> bool {
    let below = |child: &Arc<Schema>| depth < MAX_DEPTH && has_rules(child, depth + 1);
    !schema.rules.is_empty()
        || schema.properties.values().any(below)
        || schema.items.as_ref().is_some_and(below)
        || matches!(&schema.additional, Additional::Map(values) if below(values))
}

/// Where in the schema we are.
struct Place {
    path: String,
    /// The part of the schema below which old and new cannot be matched.
    frozen: Option<String>,
    depth: usize,
}

impl Place {
    fn below(&self, step: &str, freezes: bool) -> Self {
        let path = if self.path.is_empty() { step.to_owned() } else { format!("{}.{step}", self.path) };
        let frozen = self.frozen.clone().or_else(|| freezes.then(|| self.path.clone()));
        Self { path, frozen, depth: self.depth + 1 }
    }
}

fn node(schema: &Arc<Schema>, resource: bool, place: &Place, causes: &mut Vec<Cause>) -> Option<Node> {
    if place.depth >= MAX_DEPTH {
        return None;
    }
    let mut names: Vec<_> = schema.properties.iter().collect();
    names.sort_by_key(|(name, _)| *name);
    let properties: Vec<_> = names
        .into_iter()
        .filter_map(|(name, child)| {
            let place = place.below(&format!("properties[{name}]"), false);
            Some((name.clone(), node(child, child.embedded, &place, causes)?))
        })
        .collect();
    let additional = match &schema.additional {
        Additional::Map(child) => {
            node(child, child.embedded, &place.below("additionalProperties", false), causes).map(Box::new)
        }
        Additional::Any | Additional::Closed => None,
    };
    let items = schema.items.as_ref().and_then(|child| {
        let place = place.below("items", !matches!(schema.list, ListType::Map(_)));
        node(child, child.embedded, &place, causes).map(Box::new)
    });
    let mut rules = Vec::new();
    for (index, raw) in schema.rules.iter().enumerate() {
        let field = place.below(&format!("x-kubernetes-validations[{index}]"), false).path;
        match rule(raw, schema, resource, place) {
            Ok(rule) => rules.push(rule),
            Err((key, value, why)) => causes.push(Cause::invalid(format!("{field}.{key}"), &value, &why)),
        }
    }
    let empty = rules.is_empty() && properties.is_empty() && additional.is_none() && items.is_none();
    (!empty).then(|| Node { schema: schema.clone(), resource, rules, properties, additional, items })
}

type Refused = (&'static str, Value, String);

fn rule(raw: &Value, schema: &Arc<Schema>, resource: bool, place: &Place) -> Result<Rule, Refused> {
    let text = |key: &str| raw.get(key).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    let source = text("rule");
    let refused = |why: String| ("rule", as_told(raw), why);
    let expression = parse(&source).map_err(|why| refused(format!("compilation failed: {why}")))?;
    let uses_old = expression.references().has_variable("oldSelf");
    let optional_old = raw.get("optionalOldSelf").and_then(Value::as_bool);
    let scope = shapes::Scope { schema, resource, optional_old: optional_old == Some(true) };
    match shapes::infer(&expression, &scope) {
        Err(why) => return Err(refused(format!("compilation failed: {why}"))),
        Ok(shape) if !shape.may_be_bool() => {
            return Err(refused("cel expression must evaluate to a bool".into()));
        }
        Ok(_) => {}
    }
    if uses_old && let Some(frozen) = &place.frozen {
        let why =
            format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {frozen}");
        return Err(("rule", source.into(), why));
    }
    if let (false, Some(flag)) = (uses_old, optional_old) {
        return Err(("optionalOldSelf", flag.into(), "may not be set if oldSelf is not used in rule".into()));
    }
    let message_expression = message_expression(&text("messageExpression"), &scope)
        .map_err(|why| ("messageExpression", as_told(raw), why))?;
    let field_path = match text("fieldPath").as_str() {
        "" => String::new(),
        path => match field_path(path, schema, true) {
            Ok((normal, _)) => normal,
            Err(_) => return Err(("fieldPath", path.into(), "must be a valid path".into())),
        },
    };
    Ok(Rule {
        message: text("message"),
        message_expression,
        reason: text("reason"),
        field_path,
        expression,
        uses_old,
        optional_old: optional_old == Some(true),
        text: source,
    })
}

fn message_expression(source: &str, scope: &shapes::Scope) -> Result<Option<Expression>, String> {
    if source.is_empty() {
        return Ok(None);
    }
    let failed = |why: String| format!("messageExpression compilation failed: {why}");
    let expression = parse(source).map_err(failed)?;
    let shape = shapes::infer(&expression, scope).map_err(failed)?;
    if shape.may_be_text() {
        Ok(Some(expression))
    } else {
        Err("messageExpression must evaluate to a string".into())
    }
}

/// A rule in a message, with the names the original gives its fields.
fn as_told(raw: &Value) -> Value {
    let text = |key: &str| raw.get(key).and_then(Value::as_str).unwrap_or_default();
    json!({
        "Rule": text("rule"), "Message": text("message"), "MessageExpression": text("messageExpression"),
        "Reason": raw.get("reason"), "FieldPath": text("fieldPath"), "OptionalOldSelf": raw.get("optionalOldSelf"),
    })
}

fn parse(source: &str) -> Result<Expression, String> {
    if source.len() > LENGTH_LIMIT_BYTES {
        return Err(format!("expression must not be longer than {LENGTH_LIMIT_BYTES} bytes"));
    }
    let expression =
        Parser::new().enable_optional_syntax(true).parse(source).map_err(|errors| errors.to_string())?;
    if shapes::depth(&expression) > EXPRESSION_DEPTH {
        return Err(format!("expression must not be nested deeper than {EXPRESSION_DEPTH} levels"));
    }
    Ok(expression)
}
