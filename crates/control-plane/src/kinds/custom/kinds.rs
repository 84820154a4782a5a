//! From a definition to the kinds it brings.

use std::sync::Arc;

use serde_json::Value;

use super::versions::deprecation;
use super::{Custom, flag, list, text};
use crate::kinds::schema::Schema;
use crate::kinds::{Column, Kind, ScalePaths, SchemaRef};

/// In the order discovery lists them for custom resources.
const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// The kinds a definition brings, one for each served version.
pub fn kinds(crd: &Value) -> Vec<Custom> {
    let versions = list(crd, "/spec/versions");
    versions.iter().filter(|version| flag(version, "/served")).map(|version| custom(crd, version)).collect()
}

fn custom(crd: &Value, version: &Value) -> Custom {
    let schema = version.pointer("/schema/openAPIV3Schema");
    Custom {
        kind: kind(crd, version, schema),
        storage_version: flag(version, "/storage"),
        served: true,
        deprecation: deprecation(crd, version),
    }
}

fn kind(crd: &Value, version: &Value, schema: Option<&Value>) -> Kind {
    let names = crd.pointer("/status/acceptedNames").filter(|names| !text(names, "/plural").is_empty());
    let names = names.or(crd.pointer("/spec/names")).unwrap_or(&Value::Null);
    let words = |path: &str| list(names, path).iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let (group, plural) = (text(crd, "/spec/group"), text(crd, "/spec/names/plural"));
    let selectable = list(version, "/selectableFields").iter();
    Kind {
        group: group.into(),
        version: text(version, "/name").into(),
        kind: text(names, "/kind").into(),
        list_kind: text(names, "/listKind").into(),
        plural: plural.into(),
        singular: text(names, "/singular").into(),
        short_names: words("/shortNames"),
        categories: words("/categories"),
        namespaced: text(crd, "/spec/scope") == "Namespaced",
        verbs: VERBS.to_vec(),
        storage: format!("{plural}.{group}").into(),
        schema: schema.map(|schema| SchemaRef::from(Arc::new(Schema::parse(schema)))).unwrap_or_default(),
        subresources: Vec::new(),
        status: version.pointer("/subresources/status").is_some_and(|status| !status.is_null()),
        scale: version.pointer("/subresources/scale").filter(|scale| scale.is_object()).map(scale),
        columns: columns(version),
        selectable: selectable
            .map(|field| text(field, "/jsonPath").trim_start_matches('.').to_owned())
            .collect(),
        builtin: false,
    }
}

fn scale(scale: &Value) -> ScalePaths {
    let selector = text(scale, "/labelSelectorPath");
    ScalePaths {
        spec: text(scale, "/specReplicasPath").into(),
        status: text(scale, "/statusReplicasPath").into(),
        selector: (!selector.is_empty()).then(|| selector.to_owned()),
    }
}

fn columns(version: &Value) -> Vec<Column> {
    let given = list(version, "/additionalPrinterColumns");
    let mut columns = vec![Column {
        name: "Name".into(),
        kind: "string".into(),
        format: "name".into(),
        description: NAME.into(),
        priority: 0,
        path: ".metadata.name".into(),
    }];
    columns.extend(given.iter().map(|column| {
        let path = text(column, "/jsonPath");
        let description = match text(column, "/description") {
            "" => format!("Custom resource definition column (in JSONPath format): {path}"),
            description => description.to_owned(),
        };
        let priority = column.get("priority").and_then(Value::as_i64).unwrap_or(0);
        Column {
            name: text(column, "/name").into(),
            kind: text(column, "/type").into(),
            format: text(column, "/format").into(),
            description,
            priority: i32::try_from(priority).unwrap_or(i32::MAX),
            path: path.into(),
        }
    }));
    if given.is_empty() {
        columns.push(Column {
            name: "Age".into(),
            kind: "date".into(),
            format: String::new(),
            description: AGE.into(),
            priority: 0,
            path: ".metadata.creationTimestamp".into(),
        });
    }
    columns
}

/// What the API says about every object's name; clients compare these texts.
const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some \
    resources may allow a client to request the generation of an appropriate name automatically. Name is primarily \
    intended for creation idempotence and configuration definition. Cannot be updated. More info: \
    https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

/// What the API says about every object's age.
const AGE: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is \
    not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It \
    is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
