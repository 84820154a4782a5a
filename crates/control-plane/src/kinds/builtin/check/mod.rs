//! Rules that a schema cannot say, with the original's sentences.

mod access;
mod data;
mod network;
mod pod;
mod workload;

use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde_json::Value;

use super::fields::{at, is_empty, list};
use super::{definitions, quantity};
use crate::kinds::Kind;
use crate::kinds::schema::Schema;
use crate::status::Cause;

const IMMUTABLE: &str = "field is immutable";
const NEGATIVE: &str = "must be greater than or equal to 0";
const NOT_POSITIVE: &str = "must be greater than zero";
const BAD_PORT: &str = "must be between 1 and 65535, inclusive";
const BAD_LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
     and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

/// Finalizers that belong to no domain.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Fields that schemas call required but that are judged elsewhere here, or that may well be zero.
const JUDGED_ELSEWHERE: [&str; 21] = [
    "selector",
    "template",
    "jobTemplate",
    "spec",
    "roleRef",
    "containers",
    "backend",
    "pathType",
    "verbs",
    "kind",
    "value",
    "revision",
    "lun",
    "seconds",
    "weight",
    "preference",
    "nodeSelectorTerms",
    "metadata",
    "involvedObject",
    "provisioner",
    "limits",
];

/// Kinds whose every rule stands here, or elsewhere in the server.
const NO_REQUIRED_WALK: [&str; 5] = ["Service", "Event", "Node", "CustomResourceDefinition", "APIService"];

static QUANTITY: LazyLock<Arc<Schema>> =
    LazyLock::new(|| definitions::schema("io.k8s.apimachinery.pkg.api.resource.Quantity"));
static LABEL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$").expect("a constant pattern"));

/// What is wrong with an object that a client creates, or puts in the place of `old`, after [`default`] and
/// [`prepare_create`] or [`prepare_update`]. Metadata is checked elsewhere, and writes to subresources do not
/// come here. Custom kinds pass.
///
/// [`default`]: super::default
/// [`prepare_create`]: super::prepare_create
/// [`prepare_update`]: super::prepare_update
pub fn check(kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Causes::default();
    if !kind.builtin {
        return causes.list;
    }
    causes.finalizers(kind, object, old);
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => pod::pod(&mut causes, object, old),
        ("", "Namespace") => causes.label("metadata.name", at(object, &["metadata", "name"])),
        ("", "Secret") => data::secret(&mut causes, object, old),
        ("", "ConfigMap") => data::config_map(&mut causes, object, old),
        ("", "PersistentVolumeClaim") => data::claim(&mut causes, object, old),
        ("", "LimitRange") => data::limit_range(&mut causes, object),
        ("", "Event") | ("events.k8s.io", "Event") => data::event(&mut causes, object),
        ("", "Service") => network::service(&mut causes, object, old),
        ("networking.k8s.io", "Ingress") => network::ingress(&mut causes, object),
        ("discovery.k8s.io", "EndpointSlice") => network::endpoint_slice(&mut causes, object, old),
        ("apps", _) => workload::apps(&mut causes, &kind.kind, object, old),
        ("batch", "Job") => workload::job(&mut causes, object, old),
        ("batch", "CronJob") => workload::cron_job(&mut causes, object),
        ("policy", "PodDisruptionBudget") => workload::disruption_budget(&mut causes, object),
        ("rbac.authorization.k8s.io", _) => access::rbac(&mut causes, kind, object, old),
        ("coordination.k8s.io", "Lease") => data::lease(&mut causes, object),
        ("scheduling.k8s.io", "PriorityClass") => data::priority_class(&mut causes, object, old),
        ("storage.k8s.io", "StorageClass") => data::storage_class(&mut causes, object, old),
        _ => {}
    }
    if let Some(schema) = kind.schema.get() {
        let walk = !NO_REQUIRED_WALK.contains(&kind.kind.as_str());
        for (name, value) in object.as_object().into_iter().flatten() {
            if let Some(field) = schema.field(name).filter(|_| name != "status" && name != "metadata") {
                causes.walk(field, value, name.clone(), walk);
            }
        }
    }
    causes.list
}

/// What the original says where something in the object stands for an amount and is none. Such an object
/// cannot even be read.
pub fn unreadable(schema: &Arc<Schema>, value: &Value) -> Option<&'static str> {
    if Arc::ptr_eq(schema, &QUANTITY) {
        return (!value.is_null() && quantity::nanos(value).is_none()).then_some(quantity::NOT_A_QUANTITY);
    }
    match value {
        Value::Object(map) => {
            map.iter().find_map(|(name, child)| schema.field(name).and_then(|field| unreadable(field, child)))
        }
        Value::Array(items) => {
            let schema = schema.items.as_ref()?;
            items.iter().find_map(|item| unreadable(schema, item))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Causes as they are found.
#[derive(Default)]
struct Causes {
    list: Vec<Cause>,
}

impl Causes {
    /// A finalizer of a built-in kind names who takes it away again, by a domain.
    fn finalizers(&mut self, kind: &Kind, object: &Value, old: Option<&Value>) {
        if kind.kind == "CustomResourceDefinition" {
            return;
        }
        let before = old.map(|old| list(old, &["metadata", "finalizers"])).unwrap_or_default();
        for (place, name) in list(object, &["metadata", "finalizers"]).iter().enumerate() {
            let text = name.as_str().unwrap_or_default();
            let known = text.contains('/') || STANDARD_FINALIZERS.contains(&text);
            if !known && !before.contains(name) {
                let why = "name is neither a standard finalizer name nor is it fully qualified";
                self.invalid(format!("metadata.finalizers[{place}]"), name, why);
            }
        }
    }

    /// Adds a cause once: two rules may find the same fault.
    fn add(&mut self, cause: Cause) {
        if !self.list.contains(&cause) {
            self.list.push(cause);
        }
    }

    fn invalid(&mut self, field: impl Into<String>, value: &Value, why: &str) {
        self.add(Cause::invalid(field, value, why));
    }

    /// Adds a cause if the value is not there.
    fn require(&mut self, field: impl Into<String>, value: Option<&Value>, why: &str) {
        if value.is_none_or(is_empty) {
            self.add(Cause::required(field, why));
        }
    }

    /// Adds a cause if a number is below zero.
    fn not_negative(&mut self, object: &Value, fields: &[&str], prefix: &str) {
        for field in fields {
            if let Some(value) = object.get(*field).filter(|value| value.as_i64().is_some_and(|n| n < 0)) {
                self.invalid(format!("{prefix}.{field}"), value, NEGATIVE);
            }
        }
    }

    /// Adds a cause if the field changed.
    fn immutable(&mut self, object: &Value, old: Option<&Value>, path: &[&str]) {
        let Some(old) = old else { return };
        if at(object, path) != at(old, path) {
            self.invalid(path.join("."), at(object, path).unwrap_or(&Value::Null), IMMUTABLE);
        }
    }

    /// Adds a cause if the text is no DNS label.
    fn label(&mut self, field: impl Into<String>, value: Option<&Value>) {
        if let Some(text) = value.and_then(Value::as_str).filter(|text| !text.is_empty()) {
            let field = field.into();
            if text.len() > 63 {
                self.invalid(field.clone(), &Value::from(text), "must be no more than 63 bytes");
            }
            if !LABEL.is_match(text) {
                self.invalid(field, &Value::from(text), BAD_LABEL);
            }
        }
    }

    /// Adds a cause if the number is no port.
    fn port(&mut self, field: impl Into<String>, value: &Value) {
        if !value.as_i64().is_some_and(|number| (1..=65535).contains(&number)) {
            self.invalid(field, value, BAD_PORT);
        }
    }

    /// Adds a cause if the text is no name of a port.
    fn port_name(&mut self, field: impl Into<String>, value: &Value) {
        let name = value.as_str().unwrap_or_default();
        let field = field.into();
        let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if name.len() > 15 {
            self.invalid(field.clone(), value, "must be no more than 15 characters");
        }
        if !name.bytes().all(known) {
            self.invalid(
                field.clone(),
                value,
                "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
            );
        }
        if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
            self.invalid(field, value, "must contain at least one letter (a-z)");
        }
    }

    /// Adds a cause if the text is outside a closed list.
    fn one_of(&mut self, field: impl Into<String>, value: Option<&Value>, supported: &[&str]) {
        let known = |value: &Value| value.as_str().is_some_and(|text| supported.contains(&text));
        if let Some(value) = value.filter(|value| !known(value)) {
            self.add(Cause::not_supported(field, value, supported));
        }
    }

    /// Required fields must be there.
    fn walk(&mut self, schema: &Arc<Schema>, value: &Value, path: String, required: bool) {
        if Arc::ptr_eq(schema, &QUANTITY) {
            return;
        }
        match value {
            Value::Object(map) => {
                let missing =
                    |name: &&String| map.get(*name).is_none_or(|found| found.is_null() || found == "");
                let judged = |name: &&String| !JUDGED_ELSEWHERE.contains(&name.as_str());
                for name in schema.required.iter().filter(|_| required).filter(judged).filter(missing) {
                    self.add(Cause::required(format!("{path}.{name}"), ""));
                }
                let keyed = !schema.properties.is_empty();
                for (name, child) in map {
                    let below = if keyed { format!("{path}.{name}") } else { format!("{path}[{name}]") };
                    if let Some(field) = schema.field(name) {
                        self.walk(field, child, below, required);
                    }
                }
            }
            Value::Array(items) => {
                for (place, item) in items.iter().enumerate() {
                    if let Some(schema) = &schema.items {
                        self.walk(schema, item, format!("{path}[{place}]"), required);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// Whether labels satisfy a label selector; an absent selector selects nothing.
fn selects(selector: Option<&Value>, labels: Option<&Value>) -> bool {
    let Some(selector) = selector else { return false };
    let label = |key: &str| labels.and_then(|labels| labels.get(key));
    let equal = at(selector, &["matchLabels"]).and_then(Value::as_object);
    equal.into_iter().flatten().all(|(key, value)| label(key) == Some(value))
        && list(selector, &["matchExpressions"]).iter().all(|expression| {
            let found = label(expression["key"].as_str().unwrap_or_default());
            let listed = found.is_some_and(|value| list(expression, &["values"]).contains(value));
            match expression["operator"].as_str().unwrap_or_default() {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => found.is_some(),
                "DoesNotExist" => found.is_none(),
                _ => false,
            }
        })
}
