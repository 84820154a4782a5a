//! Makes the data file behind the built-in kinds: the part of a published Kubernetes OpenAPI document that
//! the served kinds reach.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use flate2::{Compression, GzBuilder};
use serde_json::{Map, Value, json};

/// Which kinds are served; the control plane reads the same file.
const KINDS: &str = "crates/control-plane/src/kinds/builtin/kinds.txt";
/// What is written.
const OUTPUT: &str = "crates/control-plane/src/kinds/builtin/definitions.json.gz";
/// Definitions that every group needs beside its kinds.
const META: [&str; 7] =
    ["DeleteOptions", "Status", "APIResourceList", "APIGroup", "APIGroupList", "APIVersions", "WatchEvent"];
/// Defaults that apply needs to tell list elements apart; the published document leaves them out.
const KEY_DEFAULTS: [(&str, &str, &str); 2] = [
    ("io.k8s.api.core.v1.ContainerPort", "protocol", "TCP"),
    ("io.k8s.api.core.v1.ServicePort", "protocol", "TCP"),
];

/// `cargo xtask builtins <swagger.json>`: writes the data file anew.
pub fn run(args: &[String]) -> Result<()> {
    let [source] = args else { bail!("usage: cargo xtask builtins <path of swagger.json>") };
    let swagger = fs::read_to_string(source).with_context(|| format!("cannot read {source}"))?;
    let kinds = fs::read_to_string(KINDS).with_context(|| format!("cannot read {KINDS}"))?;
    let bytes = generate(&swagger, &kinds)?;
    fs::write(Path::new(OUTPUT), bytes).with_context(|| format!("cannot write {OUTPUT}"))
}

/// The data file: gzip of one line per definition, `name`, a tab, its JSON without descriptions, sorted by
/// name; an empty line; then as many lines of descriptions. The shapes come first, so that a server that
/// explains nothing unpacks no prose. The same input gives the same bytes.
fn generate(swagger: &str, kinds: &str) -> Result<Vec<u8>> {
    let document: Value = serde_json::from_str(swagger).context("the OpenAPI document is not JSON")?;
    let all = document["definitions"].as_object().context("the OpenAPI document has no definitions")?;
    let groups = kinds.lines().filter_map(row).map(|row| split(row[0]).0.to_owned()).collect();
    let (mut shapes, mut prose) = (String::new(), String::new());
    for name in reachable(all, roots(all, kinds)?)? {
        let mut definition = all[&name].clone();
        keep_groups(&mut definition, &groups);
        for (owner, field, value) in KEY_DEFAULTS {
            if owner == name {
                definition["properties"][field]["default"] = json!(value);
            }
        }
        let mut descriptions = Vec::new();
        take_descriptions(&mut definition, &mut descriptions);
        shapes.push_str(&format!("{name}\t{definition}\n"));
        prose.push_str(&format!("{}\n", Value::Array(descriptions)));
    }
    // No file name and no time stamp: the bytes depend on the input alone.
    let mut writer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    writer.write_all(format!("{shapes}\n{prose}").as_bytes())?;
    Ok(writer.finish()?)
}

/// The words of one line, or nothing for a comment.
fn row(line: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    (!line.starts_with('#') && words.len() > 7).then_some(words)
}

/// Definitions of the served kinds, their lists and the kinds their subresources answer with.
fn roots(all: &Map<String, Value>, kinds: &str) -> Result<Vec<String>> {
    let mut wanted: Vec<(String, String)> = vec![("autoscaling/v1".into(), "Scale".into())];
    wanted.extend(META.map(|kind| ("v1".into(), kind.into())));
    for row in kinds.lines().filter_map(row) {
        wanted.push((row[0].into(), row[2].into()));
        if row[4] != "create" {
            wanted.push((row[0].into(), format!("{}List", row[2])));
        }
        for sub in row[7].split(',') {
            if let Some((api_version, kind)) = sub.splitn(3, ':').nth(2).and_then(|gvk| gvk.rsplit_once('/'))
            {
                wanted.push((api_version.into(), kind.into()));
            }
        }
    }
    let find = |(api_version, kind): (String, String)| {
        let (group, version) = split(&api_version);
        let gvk = json!({ "group": group, "kind": kind, "version": version });
        let serves = |definition: &Value| {
            let list = definition["x-kubernetes-group-version-kind"].as_array();
            list.is_some_and(|list| list.contains(&gvk))
        };
        let found = all.iter().find(|(_, definition)| serves(definition));
        found.map(|(name, _)| name.clone()).with_context(|| format!("no definition of {api_version} {kind}"))
    };
    let mut names = wanted.into_iter().map(find).collect::<Result<Vec<_>>>()?;
    names.push("io.k8s.apimachinery.pkg.apis.meta.v1.Patch".into());
    Ok(names)
}

fn split(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// The roots and everything they refer to.
fn reachable(all: &Map<String, Value>, mut todo: Vec<String>) -> Result<BTreeSet<String>> {
    let mut seen = BTreeSet::new();
    while let Some(name) = todo.pop() {
        let definition = all.get(&name).with_context(|| format!("dangling reference to {name}"))?;
        if seen.insert(name) {
            references(definition, &mut todo);
        }
    }
    Ok(seen)
}

fn references(node: &Value, found: &mut Vec<String>) {
    match node {
        Value::Object(map) => {
            if let Some(target) = map.get("$ref").and_then(Value::as_str) {
                found.extend(target.strip_prefix("#/definitions/").map(str::to_owned));
            }
            map.values().for_each(|child| references(child, found));
        }
        Value::Array(list) => list.iter().for_each(|child| references(child, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Kinds like DeleteOptions exist in every group; only the served groups are kept.
fn keep_groups(definition: &mut Value, groups: &BTreeSet<String>) {
    let list = definition.get_mut("x-kubernetes-group-version-kind").and_then(Value::as_array_mut);
    if let Some(list) = list.filter(|list| list.len() > 1) {
        list.retain(|gvk| gvk["group"].as_str().is_some_and(|group| groups.contains(group)));
    }
}

/// Moves every description out, in the order of a walk: the node, its properties, its items, its values.
fn take_descriptions(node: &mut Value, taken: &mut Vec<Value>) {
    let Some(map) = node.as_object_mut() else { return };
    taken.push(map.shift_remove("description").unwrap_or_default());
    if let Some(properties) = map.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(|child| take_descriptions(child, taken));
    }
    for word in ["items", "additionalProperties"] {
        if let Some(child) = map.get_mut(word) {
            take_descriptions(child, taken);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: &str = "# comment\nv1 pods Pod N all po all - -\nv1 reviews Review C create - - - -\n";

    fn swagger() -> String {
        let gvk = |kind: &str| json!([{ "group": "", "kind": kind, "version": "v1" }]);
        let mut definitions = json!({
            "z.Pod": { "properties": { "spec": { "$ref": "#/definitions/a.Spec" } },
                       "x-kubernetes-group-version-kind": gvk("Pod") },
            "z.PodList": { "x-kubernetes-group-version-kind": gvk("PodList") },
            "z.Review": { "x-kubernetes-group-version-kind": gvk("Review") },
            "a.Spec": { "type": "object", "description": "what is wished" },
            "a.Unused": { "type": "object" },
            "z.Scale": { "x-kubernetes-group-version-kind": [{ "group": "autoscaling", "kind": "Scale", "version": "v1" }] },
            "io.k8s.apimachinery.pkg.apis.meta.v1.Patch": { "type": "object" },
        });
        for kind in META {
            let foreign = json!({ "group": "foreign", "kind": kind, "version": "v1" });
            let mut list = gvk(kind);
            list.as_array_mut().expect("a list").push(foreign);
            definitions[format!("meta.{kind}")] = json!({ "x-kubernetes-group-version-kind": list });
        }
        json!({ "definitions": definitions }).to_string()
    }

    fn text(bytes: &[u8]) -> String {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(bytes), &mut text).expect("gzip");
        text
    }

    #[test]
    fn the_same_input_gives_the_same_bytes() {
        let once = generate(&swagger(), KINDS).expect("generates");
        assert_eq!(once, generate(&swagger(), KINDS).expect("generates again"));
    }

    #[test]
    fn only_what_is_served_and_reached_is_kept() {
        let text = text(&generate(&swagger(), KINDS).expect("generates"));
        let names: Vec<&str> =
            text.lines().filter_map(|line| line.split_once('\t')).map(|(name, _)| name).collect();
        assert!(names.is_sorted());
        assert!(names.contains(&"a.Spec") && names.contains(&"z.Review"));
        assert!(!names.contains(&"a.Unused"));
        let (shapes, prose) = text.split_once("\n\n").expect("two halves");
        assert!(!shapes.contains("wished") && prose.contains("[\"what is wished\"]"));
        assert!(!text.contains("foreign"), "groups that are not served are dropped");
    }

    #[test]
    fn a_kind_without_a_definition_is_an_error() {
        let error = generate(&swagger(), "v1 nopes Nope N all - - - -").expect_err("refused");
        assert_eq!(error.to_string(), "no definition of v1 Nope");
    }
}
