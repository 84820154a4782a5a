//! Whether a definition is allowed.

use serde_json::{Value, json};

use super::{defaults, flag, list, names, openapi, parts, status, structural, text};
use crate::kinds::schema::{MAX_DEPTH, Rules};
use crate::status::Cause;

/// Everything that is wrong with a defaulted definition; with the old one, also what may not change.
pub fn validate(crd: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    if old.is_none() {
        object_name(crd, &mut causes);
    }
    spec(crd, &mut causes);
    if let Some(old) = old {
        unchangeable(crd, old, &mut causes);
    }
    stored_versions(crd, &mut causes);
    approval(crd, old, &mut causes);
    if flag(crd, "/spec/preserveUnknownFields") {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        causes.push(Cause::invalid("spec.preserveUnknownFields", &true.into(), why));
    }
    causes
}

fn object_name(crd: &Value, causes: &mut Vec<Cause>) {
    let name = text(crd, "/metadata/name");
    if name.is_empty() {
        return causes.push(Cause::required("metadata.name", "name or generateName is required"));
    }
    let mut faults = names::subdomain(name);
    if name != format!("{}.{}", text(crd, "/spec/names/plural"), text(crd, "/spec/group")) {
        faults.push("must be spec.names.plural+\".\"+spec.group".into());
    }
    causes.extend(faults.iter().map(|why| Cause::invalid("metadata.name", &name.into(), why)));
}

fn spec(crd: &Value, causes: &mut Vec<Cause>) {
    let group = text(crd, "/spec/group");
    let faults = names::subdomain(group);
    if group.is_empty() {
        causes.push(Cause::required("spec.group", ""));
    } else if !faults.is_empty() {
        causes.push(Cause::invalid("spec.group", &group.into(), &faults.join(",")));
    } else if !group.contains('.') {
        causes.push(Cause::invalid("spec.group", &group.into(), "should be a domain with at least one dot"));
    }
    match text(crd, "/spec/scope") {
        "" => causes.push(Cause::required("spec.scope", "")),
        "Cluster" | "Namespaced" => {}
        other => causes.push(Cause::not_supported("spec.scope", &other.into(), &["Cluster", "Namespaced"])),
    }
    let versions = list(crd, "/spec/versions");
    for (index, version) in versions.iter().enumerate() {
        if version.pointer("/schema/openAPIV3Schema").is_none_or(Value::is_null) {
            causes.push(Cause::required(format!("spec.versions[{index}].schema.openAPIV3Schema"), ""));
        }
    }
    for (index, version) in versions.iter().enumerate() {
        own(crd, version, index, causes);
    }
    let all = list(crd, "/spec/versions");
    let named = |version: &Value| text(version, "/name").to_owned();
    if all.iter().enumerate().any(|(index, one)| all[..index].iter().any(|other| named(other) == named(one)))
    {
        causes.push(Cause::invalid("spec.versions", &json!(all), "must contain unique version names"));
    }
    if all.iter().filter(|version| flag(version, "/storage")).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", &json!(all), why));
    }
    for name in ["plural", "singular", "kind", "listKind"] {
        if text(crd, &format!("/spec/names/{name}")).is_empty() {
            causes.push(Cause::required(format!("spec.names.{name}"), ""));
        }
    }
    if let Some(given) = crd.pointer("/spec/names") {
        all_names(given, causes);
    }
    shared(crd, causes);
    conversion(crd, causes);
}

/// What the versions of a definition have in common is told once, under the name it had when a definition
/// had but one version.
const SHARED: [(&str, &str); 4] = [
    ("schema", "spec.validation"),
    ("subresources", "spec.subresources"),
    ("additionalPrinterColumns", "spec.additionalPrinterColumns"),
    ("selectableFields", "spec.selectableFields"),
];

fn is_shared(crd: &Value, part: &str) -> bool {
    let versions = list(crd, "/spec/versions");
    versions.iter().all(|version| version.get(part) == versions[0].get(part))
}

fn own(crd: &Value, version: &Value, index: usize, causes: &mut Vec<Cause>) {
    let path = format!("spec.versions[{index}]");
    let name = text(version, "/name");
    let faults = names::label(name);
    if !faults.is_empty() {
        causes.push(Cause::invalid(format!("{path}.name"), &name.into(), &faults.join(",")));
    }
    let warning = version.get("deprecationWarning").and_then(Value::as_str);
    if let Some(warning) = warning {
        let field = format!("{path}.deprecationWarning");
        let fault = match warning {
            _ if !flag(version, "/deprecated") => Some("can only be set for deprecated versions"),
            "" => Some("must not be an empty string"),
            _ if warning.len() > 256 => Some("must be <= 256 characters long"),
            _ if warning.contains(char::is_control) => Some("must only contain printable UTF-8 characters"),
            _ => None,
        };
        causes.extend(fault.map(|why| Cause::invalid(field, &warning.into(), why)));
    }
    for (part, _) in SHARED.iter().filter(|(part, _)| !is_shared(crd, part)) {
        check_part(version, part, &format!("{path}.{part}"), causes);
    }
}

fn shared(crd: &Value, causes: &mut Vec<Cause>) {
    let Some(first) = list(crd, "/spec/versions").first() else { return };
    for (part, path) in SHARED.iter().filter(|(part, _)| is_shared(crd, part)) {
        check_part(first, part, path, causes);
    }
}

fn check_part(version: &Value, part: &str, path: &str, causes: &mut Vec<Cause>) {
    let schema = version.pointer("/schema/openAPIV3Schema").filter(|schema| !schema.is_null());
    match part {
        "schema" => {
            let has_status = version.pointer("/subresources/status").is_some_and(|status| !status.is_null());
            if let Some(schema) = schema {
                causes.extend(check_schema(schema, has_status, &format!("{path}.openAPIV3Schema")));
            }
        }
        "subresources" => parts::subresources(version, path, causes),
        "additionalPrinterColumns" => parts::columns(version, path, causes),
        _ => parts::selectable(version, schema, path, causes),
    }
}

fn check_schema(schema: &Value, has_status: bool, path: &str) -> Vec<Cause> {
    if structural::too_deep(schema) {
        let why = format!("must not be nested deeper than {MAX_DEPTH} levels");
        return vec![Cause::forbidden(path, &why)];
    }
    let mut causes = Vec::new();
    if has_status {
        causes.extend(root_with_status(schema, path));
    }
    if flag(schema, "/nullable") {
        causes.push(Cause::forbidden(format!("{path}.nullable"), "nullable cannot be true at the root"));
    }
    let mut shape = structural::check(schema, path);
    if shape.is_empty() {
        shape = defaults::check(schema, path);
    }
    let sound = shape.is_empty();
    causes.extend(shape);
    causes.extend(openapi::check(schema, path));
    if sound
        && causes.is_empty()
        && let Err(faults) = Rules::compile_at(schema, path)
    {
        causes.extend(faults);
    }
    causes
}

/// The status is checked by its own part of the schema, so the root may say nothing about the whole.
fn root_with_status(schema: &Value, path: &str) -> Option<Cause> {
    const REFUSED: [&str; 15] = [
        "nullable",
        "default",
        "enum",
        "maxProperties",
        "minProperties",
        "allOf",
        "oneOf",
        "anyOf",
        "not",
        "additionalProperties",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-map-type",
    ];
    let kind = text(schema, "/type");
    if !kind.is_empty() && kind != "object" {
        let why = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        return Some(Cause::invalid(format!("{path}.type"), &kind.into(), why));
    }
    let set =
        |name: &&str| schema.get(*name).is_some_and(|value| !value.is_null() && value != &Value::Bool(false));
    REFUSED.iter().any(set).then(|| {
        let why = "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength \
                   MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs \
                   Example XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the \
                   status subresource is enabled";
        Cause::invalid(path, schema, why)
    })
}

fn all_names(given: &Value, causes: &mut Vec<Cause>) {
    for name in ["plural", "singular"] {
        let value = text(given, &format!("/{name}"));
        let faults = names::label(value);
        if !value.is_empty() && !faults.is_empty() {
            causes.push(Cause::invalid(format!("spec.names.{name}"), &value.into(), &faults.join(",")));
        }
    }
    let (kind, list_kind) = (text(given, "/kind"), text(given, "/listKind"));
    for (name, value) in [("kind", kind), ("listKind", list_kind)] {
        if !value.is_empty() {
            causes.extend(names::kind(value, &format!("spec.names.{name}")));
        }
    }
    words(given, "shortNames", causes);
    if !kind.is_empty() && kind == list_kind {
        let why = "kind and listKind may not be the same";
        causes.push(Cause::invalid("spec.names.listKind", &list_kind.into(), why));
    }
    words(given, "categories", causes);
}

fn words(given: &Value, name: &str, causes: &mut Vec<Cause>) {
    for (index, value) in list(given, &format!("/{name}")).iter().enumerate() {
        let faults = names::label(value.as_str().unwrap_or_default());
        if !faults.is_empty() {
            causes.push(Cause::invalid(format!("spec.names.{name}[{index}]"), value, &faults.join(",")));
        }
    }
}

fn conversion(crd: &Value, causes: &mut Vec<Cause>) {
    let Some(conversion) = crd.pointer("/spec/conversion").filter(|conversion| !conversion.is_null()) else {
        return;
    };
    match text(conversion, "/strategy") {
        "" => causes.push(Cause::required("spec.conversion.strategy", "")),
        "None" if conversion.get("webhook").is_some_and(|webhook| !webhook.is_null()) => {
            let why = "should not be set when strategy is not set to Webhook";
            causes.push(Cause::forbidden("spec.conversion.webhookClientConfig", why));
        }
        "None" => {}
        "Webhook" => {
            let why = "conversion by webhook is not supported by this server; use None";
            causes.push(Cause::forbidden("spec.conversion.strategy", why));
        }
        other => {
            causes.push(Cause::not_supported(
                "spec.conversion.strategy",
                &other.into(),
                &["None", "Webhook"],
            ));
        }
    }
}

fn unchangeable(crd: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let conditions = list(old, "/status/conditions");
    let established =
        conditions.iter().any(|one| text(one, "/type") == "Established" && text(one, "/status") == "True");
    let fixed: &[&str] = if established { &["/scope", "/names/kind"] } else { &[] };
    for path in fixed.iter().chain(&["/group", "/names/plural"]) {
        let value = text(crd, &format!("/spec{path}"));
        if value != text(old, &format!("/spec{path}")) {
            causes.push(Cause::invalid(
                format!("spec{}", path.replace('/', ".")),
                &value.into(),
                "field is immutable",
            ));
        }
    }
}

/// A version that objects are stored in may not go.
fn stored_versions(crd: &Value, causes: &mut Vec<Cause>) {
    let stored = status::stored_versions(crd);
    if stored.is_empty() {
        let why = "must have at least one stored version";
        return causes.push(Cause::invalid("status.storedVersions", &json!(stored), why));
    }
    let known =
        |name: &Value| list(crd, "/spec/versions").iter().any(|version| version.get("name") == Some(name));
    for (index, name) in stored.iter().enumerate().filter(|(_, name)| !known(name)) {
        let version = name.as_str().unwrap_or_default();
        let why = format!(
            "missing from spec.versions; {version} was previously a storage version, and must remain in spec.versions \
             until a storage migration ensures no data remains persisted in {version} and removes {version} from \
             status.storedVersions"
        );
        causes.push(Cause::invalid(format!("status.storedVersions[{index}]"), name, &why));
    }
}

/// Groups of the Kubernetes community want a word of approval.
fn approval(crd: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    const ANNOTATION: &str = "api-approved.kubernetes.io";
    const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";
    let group = text(crd, "/spec/group");
    let protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|ours| group.strip_suffix(ours).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
    let given = |crd: &Value| {
        let annotations = crd.pointer("/metadata/annotations");
        annotations.and_then(|all| all.get(ANNOTATION)).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let approval = given(crd);
    let is_url =
        approval.split_once("://").is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty());
    let unchanged = old.is_some_and(|old| given(old) == approval);
    if !protected || unchanged || approval.starts_with("unapproved") || is_url {
        return;
    }
    let field = format!("metadata.annotations[{ANNOTATION}]");
    let must = format!("protected groups must have approval annotation {ANNOTATION:?}");
    causes.push(if approval.is_empty() {
        Cause::required(field, &format!("{must}, {SEE}"))
    } else {
        let why = format!("{must} with either a URL or a reason starting with \"unapproved\", {SEE}");
        Cause::invalid(field, &approval.as_str().into(), &why)
    });
}
