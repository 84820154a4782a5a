//! Rows recorded from the printers of Kubernetes 1.36, and what those do not show.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::jsonpath::Path;
use super::{Include, columns, header_json, partial_list, partial_metadata, row, table, time};
use crate::kinds::{Column, Kind};

/// The moment at which the rows were recorded.
const RECORDED_AT: &str = "2026-11-15T21:47:50Z";

fn now() -> Timestamp {
    RECORDED_AT.parse().expect("a constant time")
}

fn kind(group: &str, plural: &str) -> Kind {
    Kind {
        group: group.into(),
        version: "v1".into(),
        kind: "Widget".into(),
        list_kind: "WidgetList".into(),
        plural: plural.into(),
        singular: String::new(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        verbs: Vec::new(),
        storage: Arc::from(plural),
        schema: crate::kinds::SchemaRef::None,
        subresources: Vec::new(),
        status: false,
        scale: None,
        columns: Vec::new(),
        selectable: Vec::new(),
        builtin: true,
    }
}

fn custom(columns: Vec<Column>) -> Kind {
    Kind { builtin: false, columns, ..kind("demo.io", "widgets") }
}

fn column(name: &str, kind: &str, path: &str) -> Column {
    Column {
        name: name.into(),
        kind: kind.into(),
        format: String::new(),
        description: String::new(),
        priority: 0,
        path: path.into(),
    }
}

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON"))
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().expect("a string")
}

#[test]
fn every_recorded_row_is_printed_alike() {
    let mut differing = Vec::new();
    for case in lines(include_str!("recorded.jsonl")) {
        let of = match case["columns"].as_array() {
            None => kind(word(&case, "group"), word(&case, "plural")),
            Some(columns) => {
                let of =
                    |given: &Value| column(word(given, "name"), word(given, "type"), word(given, "jsonPath"));
                custom(columns.iter().map(of).collect())
            }
        };
        let cells = row(&of, &case["object"], now());
        assert_eq!(columns(&of).len(), cells.len(), "{}", case["shows"]);
        if Value::from(cells.clone()) != case["cells"] {
            differing.push(format!(
                "{}\n   want {}\n   told {}",
                case["shows"],
                case["cells"],
                Value::from(cells)
            ));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn every_recorded_kind_has_the_recorded_columns() {
    for line in lines(include_str!("columns.jsonl")) {
        let path: Vec<&str> = line[0].as_str().expect("a path").split('/').collect();
        let (group, plural) = if path.len() == 2 { ("", path[1]) } else { (path[0], path[2]) };
        let told = columns(&kind(group, plural));
        let told: Vec<Value> = told
            .into_iter()
            .map(|column| json!([column.name, column.kind, column.format, column.priority]))
            .collect();
        assert_eq!(Value::from(told), line[1], "{}", line[0]);
    }
}

#[test]
fn kinds_outside_the_printers_have_rows_of_their_own() {
    let at = "2026-01-01T00:00:00Z";
    let object = |body: Value| {
        let mut object = json!({ "metadata": { "name": "x", "creationTimestamp": at } });
        object.as_object_mut().expect("an object").extend(body.as_object().cloned().expect("an object"));
        object
    };
    let available = |status: &str, reason: &str| json!({ "status": { "conditions": [{ "type": "Available", "status": status, "reason": reason }] } });
    let far = json!({ "spec": { "service": { "namespace": "n", "name": "s" } } });
    let parent =
        json!({ "spec": { "parentRef": { "resource": "Services", "namespace": "n", "name": "s" } } });
    let api = ("apiregistration.k8s.io", "apiservices");
    let table = [
        (
            "a role shows when it was made",
            ("rbac.authorization.k8s.io", "roles"),
            json!({}),
            json!(["x", at]),
        ),
        ("a limit range too", ("", "limitranges"), json!({}), json!(["x", at])),
        ("an unknown kind too", ("example.io", "things"), json!({}), json!(["x", at])),
        ("an API served here", api, available("True", "Local"), json!(["x", "Local", "True", "318d"])),
        (
            "an API nobody serves",
            api,
            available("False", "Gone"),
            json!(["x", "Local", "False (Gone)", "318d"]),
        ),
        ("an API served elsewhere", api, far, json!(["x", "n/s", "Unknown", "318d"])),
        (
            "an address of a service",
            ("networking.k8s.io", "ipaddresses"),
            parent,
            json!(["x", "services/n/s"]),
        ),
    ];
    for (shows, (group, plural), body, want) in table {
        assert_eq!(Value::from(row(&kind(group, plural), &object(body), now())), want, "{shows}");
    }
    let timeless = row(&kind("", "limitranges"), &json!({ "metadata": { "name": "x" } }), now());
    assert_eq!(timeless, [json!("x"), json!("0001-01-01T00:00:00Z")]);
}

#[test]
fn durations_keep_two_figures() {
    let minute = 60;
    let hour = 60 * minute;
    let day = 24 * hour;
    let table = [
        ("two seconds ahead is nonsense", -2, "<invalid>"),
        ("one second ahead is now", -1, "0s"),
        ("now", 0, "0s"),
        ("up to two minutes in seconds", 119, "119s"),
        ("whole minutes", 2 * minute, "2m"),
        ("minutes and seconds", 9 * minute + 59, "9m59s"),
        ("minutes", 10 * minute, "10m"),
        ("up to three hours in minutes", 3 * hour - 1, "179m"),
        ("whole hours", 3 * hour, "3h"),
        ("hours and minutes", 8 * hour - 1, "7h59m"),
        ("hours", 8 * hour, "8h"),
        ("up to two days in hours", 2 * day - 1, "47h"),
        ("whole days", 2 * day, "2d"),
        ("days and hours", 8 * day - 1, "7d23h"),
        ("days", 8 * day, "8d"),
        ("up to two years in days", 730 * day - 1, "729d"),
        ("whole years", 730 * day, "2y"),
        ("years and days", 731 * day, "2y1d"),
        ("years", 2920 * day, "8y"),
        ("no longer than the original can count", i64::MAX, "292y"),
    ];
    for (shows, seconds, want) in table {
        assert_eq!(time::human(SignedDuration::from_secs(seconds)), want, "{shows}");
    }
}

#[test]
fn times_are_read_as_strictly_as_objects_carry_them() {
    let table = [
        ("seconds", "2026-01-02T03:04:05Z", true),
        ("a fraction", "2026-01-02T03:04:05.678901Z", true),
        ("an offset", "2026-01-02T03:04:05+02:00", true),
        ("a day alone", "2026-01-02", false),
        ("no zone", "2026-01-02T03:04:05", false),
        ("a space", "2026-01-02 03:04:05Z", false),
        ("small letters", "2026-01-02t03:04:05z", false),
        ("a leap second", "2026-01-02T03:04:60Z", false),
        ("an empty fraction", "2026-01-02T03:04:05.Z", false),
        ("a named zone", "2026-01-02T03:04:05Z[UTC]", false),
        ("no such day", "2026-02-30T03:04:05Z", false),
        ("letters of several bytes", "ééééééééééééééééééé", false),
    ];
    for (shows, text, want) in table {
        assert_eq!(time::rfc3339(text).is_some(), want, "{shows}");
    }
}

#[test]
fn a_table_is_written_in_the_recorded_order() {
    let of = custom(vec![column("Size", "integer", ".spec.size")]);
    let object = json!({ "metadata": { "name": "gw" }, "spec": { "size": 6 } });
    let told = |include| {
        let metadata = json!({ "resourceVersion": "644" });
        let mut told = table(&of, [object.clone()].into_iter(), include, metadata, now());
        told["columnDefinitions"] = json!([]);
        told.to_string()
    };
    let head = r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"644"},"columnDefinitions":[],"rows":[{"cells":["gw",6],"object":"#;
    let rows = [
        (Include::None, "null"),
        (
            Include::Metadata,
            r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"gw"}}"#,
        ),
        (
            Include::Object,
            r#"{"kind":"Widget","apiVersion":"demo.io/v1","metadata":{"name":"gw"},"spec":{"size":6}}"#,
        ),
    ];
    for (include, object) in rows {
        assert_eq!(told(include), format!("{head}{object}}}]}}"), "{include:?}");
    }
}

#[test]
fn headers_of_a_custom_resource_are_the_recorded_ones() {
    let size = column("Size", "integer", ".spec.size");
    let want = r#",{"name":"Size","type":"integer","format":"","description":"Custom resource definition column (in JSONPath format): .spec.size","priority":0}]"#;
    let name = r#"[{"name":"Name","type":"string","format":"name","description":"Name must be unique within a namespace. Is required"#;
    let named = Column { format: "name".into(), ..column("Name", "string", "") };
    for given in [vec![size.clone()], vec![named, size]] {
        let told = header_json(&columns(&custom(given))).to_string();
        assert!(told.starts_with(name) && told.ends_with(want), "{told}");
    }
    let described = Column { description: "own words".into(), ..column("Size", "integer", ".spec.size") };
    assert_eq!(columns(&custom(vec![described]))[1].description, "own words");
}

#[test]
fn a_custom_resource_without_columns_shows_its_age() {
    let of = custom(Vec::new());
    let names: Vec<String> = columns(&of).into_iter().map(|column| column.name).collect();
    assert_eq!(names, ["Name", "Age"]);
    let object = json!({ "metadata": { "name": "w", "creationTimestamp": "2026-01-01T00:00:00Z" } });
    assert_eq!(row(&of, &object, now()), [json!("w"), json!("318d")]);
}

#[test]
fn finished_pods_say_so_beside_their_cells() {
    let conditions = |of: &Kind, phase: &str| {
        let pod = json!({ "metadata": {}, "status": { "phase": phase } });
        let told = table(of, [pod].into_iter(), Include::None, json!({}), now());
        told["rows"][0]["conditions"][0]["reason"].clone()
    };
    let pods = kind("", "pods");
    assert_eq!(conditions(&pods, "Succeeded"), "Succeeded");
    assert_eq!(conditions(&pods, "Failed"), "Failed");
    assert_eq!(conditions(&pods, "Running"), Value::Null);
    assert_eq!(conditions(&kind("", "secrets"), "Failed"), Value::Null);
}

#[test]
fn metadata_alone_is_written_in_the_recorded_order() {
    let object = json!({ "spec": {}, "metadata": { "name": "gw" } });
    let partial =
        r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"gw"}}"#;
    assert_eq!(partial_metadata(&object).to_string(), partial);
    let told = partial_list([&object].into_iter(), json!({ "resourceVersion": "7" })).to_string();
    let head = r#"{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"}"#;
    assert_eq!(told, format!(r#"{head},"items":[{partial}]}}"#));
}

#[test]
fn paths_that_cannot_be_read_are_refused() {
    let broken = [
        ("a bare word", "spec"),
        ("an open bracket", ".a[0"),
        ("an index that is no number", ".a[x]"),
        ("an open filter", ".a[?(@.b==1)"),
        ("an open quote", ".a[?(@.b==\"c)]"),
        ("two descents", ".a....b"),
        ("too large an index", ".a[99999999999999999999]"),
        ("a filter that ends in the open", ".a[?(@.b==1)x"),
    ];
    for (shows, path) in broken {
        assert_eq!(Path::parse(path), None, "{shows}");
    }
}

proptest::proptest! {
    #[test]
    fn no_path_makes_the_server_stumble(path in "[.\\[\\]?()@'\"=<>!a-c0-9:*,\\\\ -]{0,24}") {
        let object = json!({ "a": [{ "b": 1, "c": "x" }, { "b": null }], "b": { "c": [1, [2, 3]] } });
        if let Some(path) = Path::parse(&path) {
            let _ = path.first(&object);
        }
    }
}
