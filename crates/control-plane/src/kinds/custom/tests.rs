use serde_json::{Value, json};

use super::*;
use crate::status::Cause;

fn crd(schema: Value) -> Value {
    let mut crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.demo.io" },
        "spec": {
            "group": "demo.io", "scope": "Namespaced",
            "names": { "plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"] },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    });
    defaulted(&mut crd);
    crd
}

fn add(crd: &mut Value, version: Value) {
    crd["spec"]["versions"].as_array_mut().expect("a list").push(version);
}

fn plain() -> Value {
    json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": {
        "size": { "type": "integer" }, "name": { "type": "string" } } } } })
}

fn told(causes: &[Cause]) -> Vec<String> {
    causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
}

#[test]
fn a_definition_is_named_to_the_end() {
    let crd = crd(plain());
    assert_eq!(
        crd["spec"]["names"].to_string(),
        r#"{"plural":"widgets","singular":"widget","shortNames":["wd"],"kind":"Widget","listKind":"WidgetList","categories":["all"]}"#
    );
    assert_eq!(crd["spec"]["conversion"], json!({ "strategy": "None" }));
    assert!(validate(&crd, None).is_empty());
}

#[test]
fn the_recorded_bad_definition_gives_the_recorded_causes() {
    let mut bad = json!({
        "metadata": { "name": "bad.demo.io" },
        "spec": { "group": "demo.io", "names": { "plural": "bads", "kind": "Bad" }, "scope": "Namespaced",
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "a": { "type": "foo" }, "b": {} } } } }] },
    });
    defaulted(&mut bad);
    let causes = validate(&bad, None);
    assert_eq!(
        told(&causes),
        [
            "metadata.name: Invalid value: \"bad.demo.io\": must be spec.names.plural+\".\"+spec.group",
            "spec.validation.openAPIV3Schema.properties[b].type: Required value: must not be empty for specified object fields",
            "spec.validation.openAPIV3Schema.properties[a].type: Unsupported value: \"foo\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
        ]
    );
    let reasons: Vec<_> = causes.iter().map(|cause| cause.reason.as_str()).collect();
    assert_eq!(reasons, ["FieldValueInvalid", "FieldValueRequired", "FieldValueNotSupported"]);
}

#[test]
fn several_versions_name_their_own_schema() {
    let mut crd = crd(plain());
    add(
        &mut crd,
        json!({ "name": "v2", "served": true, "storage": false,
        "schema": { "openAPIV3Schema": { "type": "object", "properties": { "b": {} } } } }),
    );
    assert_eq!(
        told(&validate(&crd, None)),
        [
            "spec.versions[1].schema.openAPIV3Schema.properties[b].type: Required value: must not be empty for specified object fields"
        ]
    );
}

#[test]
fn every_rule_about_schemas_has_its_sentence() {
    let field = |schema: Value| json!({ "type": "object", "properties": { "f": schema } });
    let table: Vec<(&str, Value, &str)> = vec![
        (
            "root must be an object",
            json!({ "type": "string" }),
            ".type: Invalid value: \"string\": must be object at the root",
        ),
        ("root must have a type", json!({}), ".type: Required value: must not be empty at the root"),
        (
            "arrays have items",
            field(json!({ "type": "array" })),
            ".properties[f].items: Required value: must be specified",
        ),
        (
            "items have a type",
            field(json!({ "type": "array", "items": {} })),
            ".properties[f].items.type: Required value: must not be empty for specified array items",
        ),
        (
            "no additionalProperties at the root",
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
            ".additionalProperties: Forbidden: must not be used at the root",
        ),
        (
            "properties or additionalProperties",
            field(json!({ "type": "object", "properties": { "a": { "type": "string" } },
            "additionalProperties": { "type": "string" } })),
            ".properties[f].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        (
            "no types in junctors",
            field(json!({ "type": "string", "anyOf": [{ "type": "string" }] })),
            ".properties[f].anyOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            "no defaults in junctors",
            field(json!({ "type": "string", "oneOf": [{ "default": "a" }] })),
            ".properties[f].oneOf[0].default: Forbidden: must be undefined to be structural",
        ),
        (
            "no nullable in junctors",
            field(json!({ "type": "string", "not": { "nullable": true } })),
            ".properties[f].not.nullable: Forbidden: must be false to be structural",
        ),
        (
            "junctors below the root are not followed, as in the original",
            field(
                json!({ "type": "object", "properties": {}, "allOf": [{ "properties": { "x": { "minimum": 1 } } }] }),
            ),
            "",
        ),
        (
            "junctors at the root check declared fields",
            json!({ "type": "object", "anyOf": [{ "properties": { "x": { "minimum": 1 } } }] }),
            ".properties[x]: Required value: because it is defined in spec.validation.openAPIV3Schema.anyOf[0].properties[x]",
        ),
        (
            "int-or-string may spell itself out",
            field(
                json!({ "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }, { "type": "string" }] }),
            ),
            "",
        ),
        (
            "int-or-string is not free",
            field(
                json!({ "x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true }),
            ),
            ".properties[f].x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
        ),
        ("free fields need no type", field(json!({ "x-kubernetes-preserve-unknown-fields": true })), ""),
        (
            "preserve is true or absent",
            field(json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": false })),
            ".properties[f].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
        ),
        (
            "embedded resources are objects",
            field(
                json!({ "type": "string", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true }),
            ),
            ".properties[f].type: Invalid value: \"string\": must be object if x-kubernetes-embedded-resource is true",
        ),
        (
            "embedded resources have fields",
            field(json!({ "type": "object", "x-kubernetes-embedded-resource": true })),
            ".properties[f].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        ),
        (
            "metadata restricts names only",
            json!({ "type": "object", "properties": { "metadata": { "type": "object", "properties": { "labels": { "type": "object" } } } } }),
            ".properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
        ),
        (
            "metadata may restrict the name",
            json!({ "type": "object", "properties": { "metadata": { "type": "object", "properties": { "name": { "type": "string", "maxLength": 5 } } } } }),
            "",
        ),
        (
            "no references",
            field(json!({ "type": "object", "$ref": "#/x" })),
            ".properties[f].$ref: Forbidden: $ref is not supported",
        ),
        (
            "no uniqueItems",
            field(json!({ "type": "array", "items": { "type": "string" }, "uniqueItems": true })),
            ".properties[f].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ),
        (
            "list types are for lists",
            field(json!({ "type": "object", "x-kubernetes-list-type": "set" })),
            ".properties[f].type: Invalid value: \"object\": must be array if x-kubernetes-list-type is specified",
        ),
        (
            "list types are known",
            field(json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "bag" })),
            ".properties[f].x-kubernetes-list-type: Unsupported value: \"bag\": supported values: \"atomic\", \"set\", \"map\"",
        ),
        (
            "map lists have keys",
            field(json!({ "type": "array", "items": { "type": "object" }, "x-kubernetes-list-type": "map" })),
            ".properties[f].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            "map keys are fields",
            field(
                json!({ "type": "array", "items": { "type": "object" }, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"] }),
            ),
            ".properties[f].x-kubernetes-list-map-keys: Invalid value: [\"a\"]: entries must all be names of item properties",
        ),
        (
            "map keys are there",
            field(
                json!({ "type": "array", "items": { "type": "object", "properties": { "a": { "type": "string" } } }, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"] }),
            ),
            ".properties[f].items.properties[a].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
        ),
        (
            "elements of sets are whole",
            field(json!({ "type": "array", "items": { "type": "object" }, "x-kubernetes-list-type": "set" })),
            ".properties[f].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
        ),
        (
            "defaults obey the schema",
            field(json!({ "type": "integer", "default": "x" })),
            ".properties[f].default: Invalid value: \"string\":  in body must be of type integer: \"string\"",
        ),
        (
            "defaults have no unknown fields",
            field(json!({ "type": "object", "default": { "x": 1 } })),
            ".properties[f].default: Invalid value: {\"x\":1}: must not have unknown fields",
        ),
        (
            "defaults obey rules",
            field(
                json!({ "type": "integer", "default": 1, "x-kubernetes-validations": [{ "rule": "self > 2" }] }),
            ),
            ".properties[f].default: Invalid value: 1: failed rule: self > 2",
        ),
        (
            "no default in top-level metadata",
            json!({ "type": "object", "properties": { "metadata": { "type": "object", "default": {} } } }),
            ".properties[metadata].default: Forbidden: must not be set in top-level metadata",
        ),
        (
            "patterns compile",
            field(json!({ "type": "string", "pattern": "(" })),
            ".properties[f].pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: unclosed group",
        ),
        (
            "no nullable root",
            json!({ "type": "object", "nullable": true }),
            ".nullable: Forbidden: nullable cannot be true at the root",
        ),
        (
            "rules have text",
            field(json!({ "type": "string", "x-kubernetes-validations": [{ "rule": " " }] })),
            ".properties[f].x-kubernetes-validations[0].rule: Required value: rule is not specified",
        ),
        (
            "messages have one line",
            field(
                json!({ "type": "string", "x-kubernetes-validations": [{ "rule": "true", "message": "a\nb" }] }),
            ),
            ".properties[f].x-kubernetes-validations[0].message: Invalid value: \"a\\nb\": must not contain line breaks",
        ),
        (
            "reasons are known",
            field(
                json!({ "type": "string", "x-kubernetes-validations": [{ "rule": "true", "reason": "Bad" }] }),
            ),
            ".properties[f].x-kubernetes-validations[0].reason: Unsupported value: \"Bad\": supported values: \"FieldValueDuplicate\", \"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\"",
        ),
        (
            "field paths exist",
            field(
                json!({ "type": "object", "x-kubernetes-validations": [{ "rule": "true", "fieldPath": ".x" }] }),
            ),
            ".properties[f].x-kubernetes-validations[0].fieldPath: Invalid value: \".x\": must be a valid path",
        ),
        (
            "oldSelf needs elements that can be told apart",
            field(
                json!({ "type": "array", "items": { "type": "string", "x-kubernetes-validations": [{ "rule": "self == oldSelf" }] } }),
            ),
            ".properties[f].items.x-kubernetes-validations[0].rule: Invalid value: \"self == oldSelf\": oldSelf cannot be used on the uncorrelatable portion of the schema within spec.validation.openAPIV3Schema.properties[f]",
        ),
        (
            "optionalOldSelf needs oldSelf",
            field(
                json!({ "type": "string", "x-kubernetes-validations": [{ "rule": "self == 'a'", "optionalOldSelf": true }] }),
            ),
            ".properties[f].x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule",
        ),
    ];
    for (rule, schema, want) in table {
        let want: Vec<_> = (!want.is_empty())
            .then(|| format!("spec.validation.openAPIV3Schema{want}"))
            .into_iter()
            .collect();
        let got = told(&validate(&crd(schema), None));
        assert_eq!(got, want, "{rule}");
    }
}

#[test]
fn a_rule_that_cannot_be_asked_is_refused() {
    let table = [
        ("self.", "compilation failed: ERROR"),
        ("self.colour == 'x'", "compilation failed: undefined field 'colour'"),
        ("self.size == 'x'", "found no matching overload for '_==_' applied to '(int, string)'"),
        ("nothing > 1", "undeclared reference to 'nothing'"),
        ("self.size.nope()", "undeclared reference to 'nope'"),
        ("self.size + 1", "cel expression must evaluate to a bool"),
        ("self.name", "cel expression must evaluate to a bool"),
    ];
    for (rule, want) in table {
        let mut schema = plain();
        schema["properties"]["spec"]["x-kubernetes-validations"] = json!([{ "rule": rule }]);
        let got = told(&validate(&crd(schema), None));
        let place = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {\"Rule\":";
        assert!(got.len() == 1 && got[0].starts_with(place) && got[0].contains(want), "{rule}: {got:?}");
    }
}

#[test]
fn every_rule_about_definitions_has_its_sentence() {
    let label = "a DNS-1035 label must consist of";
    let table: Vec<(&str, &str, Value, &str)> = vec![
        (
            "group is a domain",
            "/spec/group",
            json!("demo"),
            "spec.group: Invalid value: \"demo\": should be a domain with at least one dot",
        ),
        (
            "scope is known",
            "/spec/scope",
            json!("Galaxy"),
            "spec.scope: Unsupported value: \"Galaxy\": supported values: \"Cluster\", \"Namespaced\"",
        ),
        (
            "kinds are names",
            "/spec/names/kind",
            json!("9"),
            "spec.names.kind: Invalid value: \"9\": may have mixed case, but should otherwise match: a DNS-1035",
        ),
        (
            "list kind differs",
            "/spec/names/listKind",
            json!("Widget"),
            "spec.names.listKind: Invalid value: \"Widget\": kind and listKind may not be the same",
        ),
        (
            "short names are names",
            "/spec/names/shortNames/0",
            json!("W"),
            "spec.names.shortNames[0]: Invalid value: \"W\": a DNS-1035",
        ),
        ("versions are names", "/spec/versions/0/name", json!("1"), label),
        (
            "one storage version",
            "/spec/versions/0/storage",
            json!(false),
            "must have exactly one version marked as storage version",
        ),
        (
            "every version has a schema",
            "/spec/versions/0/schema",
            json!({}),
            "spec.versions[0].schema.openAPIV3Schema: Required value",
        ),
        (
            "no conversion webhook",
            "/spec/conversion/strategy",
            json!("Webhook"),
            "spec.conversion.strategy: Forbidden: conversion by webhook is not supported by this server; use None",
        ),
        (
            "conversion is known",
            "/spec/conversion/strategy",
            json!("Magic"),
            "spec.conversion.strategy: Unsupported value: \"Magic\": supported values: \"None\", \"Webhook\"",
        ),
    ];
    for (rule, place, value, want) in table {
        let mut crd = crd(plain());
        *crd.pointer_mut(place).expect("the place is there") = value;
        let got = told(&validate(&crd, None));
        assert!(got.iter().any(|one| one.contains(want)), "{rule}: {got:?}");
    }
    let mut free = crd(plain());
    free["spec"]["preserveUnknownFields"] = json!(true);
    let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
    assert_eq!(
        told(&validate(&free, None)),
        [format!("spec.preserveUnknownFields: Invalid value: true: {why}")]
    );
}

#[test]
fn parts_of_a_version_are_checked() {
    let part = |name: &str, value: Value| {
        let mut crd = crd(plain());
        crd["spec"]["versions"][0][name] = value;
        told(&validate(&crd, None))
    };
    assert_eq!(
        part("additionalPrinterColumns", json!([{ "name": "A", "type": "text", "jsonPath": "x" }])),
        [
            "spec.additionalPrinterColumns[0].type: Invalid value: \"text\": must be one of boolean,date,integer,number,string",
            "spec.additionalPrinterColumns[0].JSONPath: Invalid value: \"x\": must be a simple json path starting with .",
        ]
    );
    assert_eq!(
        part("subresources", json!({ "scale": { "specReplicasPath": ".status.n" } })),
        [
            "spec.subresources.scale.specReplicasPath: Invalid value: \".status.n\": should be a json path under .spec",
            "spec.subresources.scale.statusReplicasPath: Required value",
        ]
    );
    assert_eq!(
        part(
            "selectableFields",
            json!([{ "jsonPath": ".spec.name" }, { "jsonPath": ".spec.no" }, { "jsonPath": ".spec" }])
        ),
        [
            "spec.selectableFields[1].jsonPath: Invalid value: \".spec.no\": is an invalid path: does not refer to a valid field",
            "spec.selectableFields[2].jsonPath: Invalid value: \".spec\": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
        ]
    );
    assert_eq!(
        part("deprecationWarning", json!("old")),
        [
            "spec.versions[0].deprecationWarning: Invalid value: \"old\": can only be set for deprecated versions"
        ]
    );
}

#[test]
fn what_names_the_storage_never_changes() {
    let now = "2026-11-15T18:49:17Z".parse().expect("a time");
    let mut old = crd(plain());
    old["status"] = accepted_status(&old, &|_, _| false, now);
    let changed = |place: &str, value: &str| {
        let mut new = old.clone();
        *new.pointer_mut(place).expect("the place is there") = json!(value);
        told(&validate(&new, Some(&old)))
    };
    assert_eq!(
        changed("/spec/scope", "Cluster"),
        ["spec.scope: Invalid value: \"Cluster\": field is immutable"]
    );
    assert_eq!(
        changed("/spec/group", "demo.org"),
        ["spec.group: Invalid value: \"demo.org\": field is immutable"]
    );
    assert_eq!(
        changed("/spec/names/plural", "ws"),
        ["spec.names.plural: Invalid value: \"ws\": field is immutable"]
    );
    assert_eq!(
        changed("/spec/names/kind", "W"),
        ["spec.names.kind: Invalid value: \"W\": field is immutable"]
    );
    let gone = changed("/spec/versions/0/name", "v2");
    assert!(
        gone[0].starts_with(
            "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was"
        ),
        "{gone:?}"
    );
}

#[test]
fn community_groups_want_approval() {
    let mut crd = crd(plain());
    crd["spec"]["group"] = json!("x.k8s.io");
    crd["metadata"]["name"] = json!("widgets.x.k8s.io");
    let got = told(&validate(&crd, None));
    assert!(
        got[0].starts_with(
            "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups"
        ),
        "{got:?}"
    );
    crd["metadata"]["annotations"] = json!({ "api-approved.kubernetes.io": "https://github.com/x/y/pull/1" });
    assert!(validate(&crd, None).is_empty());
}

#[test]
fn a_schema_too_deep_is_refused_and_costs_no_stack() {
    let mut schema = json!({ "type": "string" });
    for _ in 0..200 {
        schema = json!({ "type": "object", "properties": { "a": schema } });
    }
    let deep = crd(schema);
    assert_eq!(
        told(&validate(&deep, None)),
        ["spec.validation.openAPIV3Schema: Forbidden: must not be nested deeper than 128 levels"]
    );
    assert_eq!(kinds(&deep).len(), 1);
}

#[test]
fn accepted_names_make_the_recorded_status() {
    let now = "2026-11-15T18:49:17.123Z".parse().expect("a time");
    let status = accepted_status(&crd(plain()), &|_, _| false, now);
    let want = json!({
        "conditions": [
            { "type": "NamesAccepted", "status": "True", "lastTransitionTime": "2026-11-15T18:49:17Z",
              "reason": "NoConflicts", "message": "no conflicts found" },
            { "type": "Established", "status": "True", "lastTransitionTime": "2026-11-15T18:49:17Z",
              "reason": "InitialNamesAccepted", "message": "the initial names have been accepted" },
        ],
        "acceptedNames": { "plural": "widgets", "singular": "widget", "shortNames": ["wd"], "kind": "Widget",
            "listKind": "WidgetList", "categories": ["all"] },
        "storedVersions": ["v1"],
    });
    assert_eq!(status.to_string(), want.to_string());
}

#[test]
fn a_taken_name_is_a_conflict_and_an_accepted_one_stays() {
    let (then, now) =
        ("2026-01-01T00:00:00Z".parse().expect("a time"), "2026-01-02T00:00:00Z".parse().expect("a time"));
    let taken = |_: &str, name: &str| name == "wd";
    let fresh = accepted_status(&crd(plain()), &taken, now);
    assert_eq!(fresh["conditions"][0]["reason"], "ShortNamesConflict");
    assert_eq!(fresh["conditions"][0]["message"], "\"wd\" is already in use");
    assert_eq!(fresh["conditions"][1]["reason"], "NotAccepted");
    assert_eq!(fresh["acceptedNames"].get("shortNames"), None);
    let mut known = crd(plain());
    known["status"] = accepted_status(&known, &|_, _| false, then);
    let again = accepted_status(&known, &taken, now);
    assert_eq!(again, known["status"], "nothing changed, so no time moves");
}

#[test]
fn kinds_carry_what_discovery_and_tables_need() {
    let mut crd = crd(plain());
    crd["spec"]["versions"][0]["additionalPrinterColumns"] = json!([
        { "name": "Size", "type": "integer", "jsonPath": ".spec.size" },
        { "name": "Why", "type": "string", "jsonPath": ".spec.why", "description": "because", "priority": 1 },
    ]);
    crd["spec"]["versions"][0]["subresources"] = json!({ "status": {}, "scale": { "specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n" } });
    crd["spec"]["versions"][0]["selectableFields"] = json!([{ "jsonPath": ".spec.name" }]);
    add(
        &mut crd,
        json!({ "name": "v1beta1", "served": true, "storage": false, "deprecated": true,
        "schema": { "openAPIV3Schema": { "type": "object" } } }),
    );
    add(
        &mut crd,
        json!({ "name": "v1alpha1", "served": false, "storage": false,
        "schema": { "openAPIV3Schema": { "type": "object" } } }),
    );
    let kinds = kinds(&crd);
    let [stable, beta] = kinds.as_slice() else { panic!("unserved versions are not served") };
    assert!(stable.storage_version && stable.deprecation.is_none());
    assert_eq!(
        stable.kind.verbs,
        ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
    );
    assert_eq!(stable.kind.api_version(), "demo.io/v1");
    assert_eq!(&*stable.kind.storage, "widgets.demo.io");
    assert_eq!(stable.kind.selectable, ["spec.name"]);
    assert!(stable.kind.status && stable.kind.namespaced && !stable.kind.builtin);
    assert_eq!(stable.kind.scale.as_ref().map(|scale| scale.spec.as_str()), Some(".spec.n"));
    let columns: Vec<_> =
        stable.kind.columns.iter().map(|c| (c.name.as_str(), c.description.as_str(), c.priority)).collect();
    assert_eq!(columns[1], ("Size", "Custom resource definition column (in JSONPath format): .spec.size", 0));
    assert_eq!(columns[2], ("Why", "because", 1));
    assert_eq!((columns[0].0, columns.len()), ("Name", 3));
    assert_eq!(
        beta.deprecation.as_deref(),
        Some("demo.io/v1beta1 Widget is deprecated; use demo.io/v1 Widget")
    );
    assert_eq!(beta.kind.columns[1].name, "Age");
}

#[test]
fn newer_versions_come_first() {
    let ordered =
        ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"];
    for pair in ordered.windows(2) {
        assert_eq!(versions::compare(pair[0], pair[1]), std::cmp::Ordering::Greater, "{pair:?}");
    }
}
