//! The operations in a document: enough for a client to learn verbs, kinds and parameters.

use serde_json::{Map, Value, json};

use super::Served;
use super::schemas::{META, definition_of, foreign_definition};
use crate::kinds::{Kind, Subresource};

/// Which generation of OpenAPI is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    V2,
    V3,
}

/// What a write may be asked, with types and meanings.
const WRITE: &[(&str, &str, &str)] = &[
    ("dryRun", "string", "With the value All, nothing is stored."),
    ("fieldManager", "string", "Name of the actor who makes the change."),
    ("fieldValidation", "string", "What happens to unknown and duplicate fields: Ignore, Warn or Strict."),
];
const PATCH: &[(&str, &str, &str)] =
    &[WRITE[0], WRITE[1], WRITE[2], ("force", "boolean", "Whether an apply takes fields that others own.")];
const DELETE: &[(&str, &str, &str)] = &[
    WRITE[0],
    ("gracePeriodSeconds", "integer", "Seconds before the object is deleted."),
    ("orphanDependents", "boolean", "Deprecated: use propagationPolicy."),
    ("propagationPolicy", "string", "What happens to dependents: Orphan, Background or Foreground."),
];
const LIST: &[(&str, &str, &str)] = &[
    ("allowWatchBookmarks", "boolean", "Whether a watch sends bookmarks."),
    ("continue", "string", "Where the next part of a list begins."),
    ("fieldSelector", "string", "Restricts the answer by fields."),
    ("labelSelector", "string", "Restricts the answer by labels."),
    ("limit", "integer", "Most objects in one answer."),
    ("resourceVersion", "string", "From which version objects are shown."),
    ("resourceVersionMatch", "string", "How resourceVersion is meant: Exact or NotOlderThan."),
    ("sendInitialEvents", "boolean", "Whether a watch begins with what is there."),
    ("timeoutSeconds", "integer", "How long a list or watch may last."),
    ("watch", "boolean", "Whether changes are streamed."),
];
const LOG: &[(&str, &str, &str)] = &[
    ("container", "string", "Whose log."),
    ("follow", "boolean", "Whether the log is streamed."),
    ("limitBytes", "integer", "Most bytes in the answer."),
    ("previous", "boolean", "The log of the container that ran before."),
    ("sinceSeconds", "integer", "Lines not older than this."),
    ("tailLines", "integer", "Lines from the end."),
    ("timestamps", "boolean", "Whether lines begin with their time."),
];

/// One operation on one path.
struct Operation {
    method: &'static str,
    action: &'static str,
    sentence: &'static str,
    query: &'static [(&'static str, &'static str, &'static str)],
    body: Option<String>,
    answer: String,
}

/// Every path of the kinds, with its operations.
pub(super) fn paths(served: &[Served], style: Style) -> Value {
    let mut paths = Map::new();
    for Served { kind, .. } in served {
        let writer = Writer { kind, style };
        let base = match kind.group.as_str() {
            "" => format!("/api/{}", kind.version),
            group => format!("/apis/{group}/{}", kind.version),
        };
        let scope = if kind.namespaced { "/namespaces/{namespace}" } else { "" };
        let collection = format!("{base}{scope}/{}", kind.plural);
        let item = format!("{collection}/{{name}}");
        let own = (kind.group.as_str(), kind.version.as_str(), kind.kind.as_str());
        let mut add = |path: String, operations: Vec<Operation>, gvk: (&str, &str, &str)| {
            if !operations.is_empty() {
                let body = writer.path(&path, operations, gvk);
                paths.insert(path, body);
            }
        };
        if kind.namespaced && kind.verbs.contains(&"list") {
            let listing = on_collection(kind).into_iter().filter(|operation| operation.action == "list");
            add(format!("{base}/{}", kind.plural), listing.collect(), own);
        }
        add(collection, on_collection(kind), own);
        add(item.clone(), on_item(kind), own);
        for sub in kind.all_subresources() {
            let (group, version) = match (sub.version.as_str(), sub.kind == kind.kind) {
                ("", true) => (kind.group.clone(), kind.version.clone()),
                ("", false) => (String::new(), "v1".to_owned()),
                (version, _) => (sub.group.clone(), version.to_owned()),
            };
            add(format!("{item}/{}", sub.name), on_subresource(kind, &sub), (&group, &version, &sub.kind));
        }
    }
    Value::Object(paths)
}

fn on_collection(kind: &Kind) -> Vec<Operation> {
    let own = definition_of(kind);
    let all = [
        ("list", "get", "list", "list objects of kind", LIST, None, format!("{own}List")),
        ("create", "post", "post", "create an object of kind", WRITE, Some(own.clone()), own),
        (
            "deletecollection",
            "delete",
            "deletecollection",
            "delete many objects of kind",
            DELETE,
            None,
            meta("Status"),
        ),
    ];
    all.into_iter().filter(|row| kind.verbs.contains(&row.0)).map(operation).collect()
}

fn on_item(kind: &Kind) -> Vec<Operation> {
    let own = || definition_of(kind);
    let all = [
        ("get", "get", "get", "read one object of kind", &[][..], None, own()),
        ("update", "put", "put", "replace one object of kind", WRITE, Some(own()), own()),
        ("patch", "patch", "patch", "change parts of one object of kind", PATCH, Some(meta("Patch")), own()),
        (
            "delete",
            "delete",
            "delete",
            "delete one object of kind",
            DELETE,
            Some(meta("DeleteOptions")),
            meta("Status"),
        ),
    ];
    all.into_iter().filter(|row| kind.verbs.contains(&row.0)).map(operation).collect()
}

fn on_subresource(kind: &Kind, sub: &Subresource) -> Vec<Operation> {
    let own = || foreign_definition(sub).unwrap_or_else(|| definition_of(kind));
    let reading = if sub.name == "log" { LOG } else { &[] };
    let all = [
        ("get", "get", "get", "read this part of kind", reading, None, own()),
        ("create", "post", "post", "ask for this part of kind", WRITE, Some(own()), own()),
        ("update", "put", "put", "replace this part of kind", WRITE, Some(own()), own()),
        ("patch", "patch", "patch", "change this part of kind", PATCH, Some(meta("Patch")), own()),
    ];
    all.into_iter().filter(|row| sub.verbs.contains(&row.0)).map(operation).collect()
}

type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str, &'static str)],
    Option<String>,
    String,
);

fn operation((_, method, action, sentence, query, body, answer): Row) -> Operation {
    Operation { method, action, sentence, query, body, answer }
}

fn meta(name: &str) -> String {
    format!("{META}.{name}")
}

/// Writes the paths of one kind in one style.
struct Writer<'a> {
    kind: &'a Kind,
    style: Style,
}

impl Writer<'_> {
    fn path(&self, path: &str, operations: Vec<Operation>, gvk: (&str, &str, &str)) -> Value {
        let mut body = Map::new();
        for operation in operations {
            body.insert(operation.method.into(), self.operation(path, &operation, gvk));
        }
        let of = |name: &str, sentence: String| self.parameter("path", (name, "string", &sentence));
        let mut parameters = Vec::new();
        if path.contains("{name}") {
            parameters.push(of("name", format!("name of the {}", self.kind.kind)));
        }
        if path.contains("{namespace}") {
            parameters.push(of("namespace", "namespace of the objects".into()));
        }
        body.insert("parameters".into(), Value::Array(parameters));
        Value::Object(body)
    }

    fn operation(&self, path: &str, operation: &Operation, gvk: (&str, &str, &str)) -> Value {
        let query = operation.query.iter().map(|row| self.parameter("query", *row));
        let mut parameters: Vec<Value> = query.collect();
        let mut body = Map::new();
        body.insert("description".into(), json!(format!("{} {}", operation.sentence, gvk.2)));
        body.insert("operationId".into(), json!(self.identifier(path, operation)));
        let content = operation.body.as_deref().map(|definition| self.request(definition));
        match (self.style, content) {
            (Style::V2, Some(request)) => parameters.push(request),
            (Style::V3, Some(request)) => drop(body.insert("requestBody".into(), request)),
            (_, None) => {}
        }
        body.insert("parameters".into(), Value::Array(parameters));
        body.insert("responses".into(), self.responses(operation));
        body.insert("x-kubernetes-action".into(), json!(operation.action));
        let (group, version, kind) = gvk;
        let gvk = json!({ "group": group, "kind": kind, "version": version });
        body.insert("x-kubernetes-group-version-kind".into(), gvk);
        Value::Object(body)
    }

    /// `patch` and the path's words in CamelCase: unique, as the two together are.
    fn identifier(&self, path: &str, operation: &Operation) -> String {
        let words = path.split(['/', '.', '{', '}', '-']).filter(|word| !word.is_empty());
        let camel = words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]);
        std::iter::once(operation.action.to_owned()).chain(camel).collect()
    }

    fn parameter(&self, place: &str, (name, kind, sentence): (&str, &str, &str)) -> Value {
        let mut parameter = json!({ "description": sentence, "in": place, "name": name });
        match self.style {
            Style::V2 => parameter["type"] = json!(kind),
            Style::V3 => parameter["schema"] = json!({ "type": kind }),
        }
        if place == "path" {
            parameter["required"] = json!(true);
        }
        parameter
    }

    fn request(&self, definition: &str) -> Value {
        let patch = definition.ends_with(".Patch");
        let required = !definition.ends_with(".DeleteOptions");
        let schema = self.reference(definition);
        if self.style == Style::V2 {
            return json!({ "in": "body", "name": "body", "required": required, "schema": schema });
        }
        let mut types = if patch {
            vec![
                "application/json-patch+json",
                "application/merge-patch+json",
                "application/apply-patch+yaml",
            ]
        } else {
            vec!["application/json", "application/yaml"]
        };
        if patch && self.kind.builtin {
            types.push("application/strategic-merge-patch+json");
        }
        let content: Map<_, _> =
            types.into_iter().map(|media| (media.to_owned(), json!({ "schema": schema }))).collect();
        json!({ "content": content, "required": required })
    }

    fn responses(&self, operation: &Operation) -> Value {
        let schema = self.reference(&operation.answer);
        let answer = |word: &str| match self.style {
            Style::V2 => json!({ "description": word, "schema": schema }),
            Style::V3 => {
                json!({ "description": word, "content": { "application/json": { "schema": schema } } })
            }
        };
        let mut responses = json!({ "200": answer("OK") });
        if matches!(operation.method, "post" | "put" | "patch") {
            responses["201"] = answer("Created");
        }
        responses["401"] = json!({ "description": "Unauthorized" });
        responses
    }

    fn reference(&self, definition: &str) -> Value {
        match self.style {
            Style::V2 => json!({ "$ref": format!("#/definitions/{definition}") }),
            Style::V3 => json!({ "$ref": format!("#/components/schemas/{definition}") }),
        }
    }
}
