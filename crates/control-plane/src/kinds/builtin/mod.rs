//! The kinds served out of the box, as data, with what the original does to them beyond their schemas:
//! defaults, checks, and the fields that only the server or only a subresource may write.

mod blank;
mod check;
mod default;
mod definitions;
mod event;
mod fields;
mod prepare;
mod quantity;
#[cfg(test)]
mod tests;
mod times;

pub use blank::blank;
pub use check::{check, unreadable};
pub use default::default;
pub(super) use definitions::Definitions;
pub use definitions::{object_meta, schema};
pub use event::convert_event;
pub use prepare::{prepare_create, prepare_finalize, prepare_status, prepare_update};
pub use times::{canonical_fields, canonical_times};

use super::{Kind, ScalePaths, SchemaRef, Subresource};

/// The table, read by the generator of the data file too; its head says what the columns are.
const TABLE: &str = include_str!("kinds.txt");

/// Verbs of a resource that is stored, in discovery's order.
const ALL: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// Every built-in kind, groups in discovery's order, resources by name.
pub fn kinds() -> Vec<Kind> {
    TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(kind).collect()
}

fn kind(line: &str) -> Option<Kind> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [api_version, plural, name, scope, verbs, short, categories, subresources, selectable] =
        words.try_into().ok()?;
    let (group, version) = split(api_version);
    let subresources = list(subresources);
    let has = |name: &str| subresources.iter().any(|word| word == name);
    // Both groups show the same events; see `convert_event`.
    let storage = match (group, plural) {
        ("" | "events.k8s.io", _) => plural.to_owned(),
        _ => format!("{plural}.{group}"),
    };
    Some(Kind {
        group: group.into(),
        version: version.into(),
        kind: name.into(),
        list_kind: format!("{name}List"),
        plural: plural.into(),
        singular: name.to_ascii_lowercase(),
        short_names: list(short),
        categories: list(categories),
        namespaced: scope == "N",
        verbs: match verbs {
            "create" => vec!["create"],
            "single" => ALL.into_iter().filter(|verb| *verb != "deletecollection").collect(),
            _ => ALL.to_vec(),
        },
        storage: storage.into(),
        schema: SchemaRef::Builtin(definition_name(group, version, name).into()),
        status: has("status"),
        scale: has("scale").then(|| ScalePaths {
            spec: ".spec.replicas".into(),
            status: ".status.replicas".into(),
            selector: Some(".spec.selector".into()),
        }),
        subresources: subresources.iter().filter_map(|word| subresource(word, name)).collect(),
        columns: Vec::new(),
        selectable: list(selectable),
        builtin: true,
    })
}

/// `name:verbs` or `name:verbs:apiVersion/Kind`; status and scale have fields of their own.
fn subresource(word: &str, parent: &str) -> Option<Subresource> {
    let mut parts = word.splitn(3, ':');
    let name = parts.next()?;
    let verb = parts.next()?;
    let verbs = ALL.into_iter().filter(|known| *known == verb).collect();
    let (group, version, kind) = match parts.next().and_then(|gvk| gvk.rsplit_once('/')) {
        // A kind of the parent's own group is written without its version, as discovery does.
        Some(("v1", kind)) => ("", "", kind),
        Some((api_version, kind)) => (split(api_version).0, split(api_version).1, kind),
        None => ("", "", parent),
    };
    Some(Subresource {
        name: name.into(),
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        verbs,
    })
}

fn list(word: &str) -> Vec<String> {
    if word == "-" { Vec::new() } else { word.split(',').map(str::to_owned).collect() }
}

fn split(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// Name of a kind's definition in the published OpenAPI document.
pub(super) fn definition_name(group: &str, version: &str, kind: &str) -> String {
    match group {
        "apiextensions.k8s.io" => {
            format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{version}.{kind}")
        }
        "apiregistration.k8s.io" => {
            format!("io.k8s.kube-aggregator.pkg.apis.apiregistration.{version}.{kind}")
        }
        "" => format!("io.k8s.api.core.{version}.{kind}"),
        _ => format!("io.k8s.api.{}.{version}.{kind}", group.split('.').next().unwrap_or_default()),
    }
}
