//! Bodies, headers and tokens, beside what Kubernetes 1.36 says to them.

use http::StatusCode;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    Accepts, Answer, MAX_DEPTH, Media, Shape, continue_token, json as decode, media, negotiate,
    negotiate_discovery, parse_continue,
};
use crate::status::Reason;

#[test]
fn every_recorded_error_is_worded_alike() {
    for line in include_str!("recorded.jsonl").lines() {
        let case: Value = serde_json::from_str(line).expect("a line of JSON");
        let told = decode(case["in"].as_str().expect("a document").as_bytes()).map(|decoded| decoded.value);
        let want = case["error"].as_str().expect("an error");
        // The original sees the first byte of a letter, and so do we.
        assert_eq!(told, Err(want.to_owned()), "{line}");
    }
}

#[test]
fn documents_are_read_as_the_original_reads_them() {
    let table = [
        ("space around", " {\"a\" : [ ] }\n", json!({ "a": [] })),
        ("whole numbers lose their fraction", "[1.0, 1e3, -2.0, 1.5]", json!([1, 1000, -2, 1.5])),
        (
            "large whole numbers stay",
            "[9223372036854775807, 18446744073709551615]",
            json!([i64::MAX, u64::MAX]),
        ),
        ("larger ones are floats", "18446744073709551616", json!(18446744073709551616.0)),
        (
            "half a pair is a mark",
            r#"["\ud800", "\ud83d\ude00", "\udc00\\ud800"]"#,
            json!(["\u{fffd}", "😀", "\u{fffd}\\ud800"]),
        ),
        ("the last of two counts", r#"{"a":1,"a":2}"#, json!({ "a": 2 })),
    ];
    for (shows, text, want) in table {
        assert_eq!(decode(text.as_bytes()).map(|decoded| decoded.value), Ok(want), "{shows}");
    }
    assert_eq!(decode(b"\"a\xffb\"").map(|decoded| decoded.value), Ok(json!("a\u{fffd}b")));
    assert!(decode(b"1e999").is_err());
}

#[test]
fn keys_that_stand_twice_are_named_once() {
    let table = [
        ("none", r#"{"a":1,"b":{"a":1}}"#, vec![]),
        ("at the top", r#"{"a":1,"a":2,"a":3}"#, vec!["a"]),
        ("inside", r#"{"data":{"a":"1","a":"2"}}"#, vec!["data.a"]),
        ("in lists", r#"{"l":[{},{"n":1,"n":2}],"m":[[{"x":1,"x":2}]]}"#, vec!["l[1].n", "m[0][0].x"]),
        ("below one", r#"{"a":{"b":1},"a":{"b":1,"b":2}}"#, vec!["a", "a.b"]),
    ];
    for (shows, text, want) in table {
        assert_eq!(decode(text.as_bytes()).expect(shows).duplicates, want, "{shows}");
    }
    let many = (0..300).map(|key| format!("\"{key}\":1,\"{key}\":2")).collect::<Vec<_>>().join(",");
    assert_eq!(decode(format!("{{{many}}}").as_bytes()).expect("many").duplicates.len(), 100);
}

#[test]
fn depth_has_a_bound_that_the_store_can_read_again() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let deepest = decode(nested(MAX_DEPTH).as_bytes()).expect("the deepest document").value;
    assert!(serde_json::from_str::<Value>(&deepest.to_string()).is_ok());
    let want = Err("invalid character '[' exceeded max depth".to_owned());
    assert_eq!(decode(nested(MAX_DEPTH + 1).as_bytes()), want);
    assert_eq!(decode("[".repeat(1_000_000).as_bytes()), want);
}

#[test]
fn bodies_are_known_by_their_type() {
    let table = [
        ("", Media::Json),
        ("application/json", Media::Json),
        ("Application/JSON; charset=utf-8", Media::Json),
        ("application/yaml", Media::Yaml),
        ("application/json-patch+json", Media::JsonPatch),
        ("application/merge-patch+json", Media::MergePatch),
        ("application/strategic-merge-patch+json", Media::StrategicPatch),
        ("application/apply-patch+yaml", Media::ApplyPatch),
        ("application/vnd.kubernetes.protobuf", Media::Protobuf),
        ("application/apply-patch+cbor", Media::Cbor),
        ("text/plain", Media::Other),
    ];
    for (text, want) in table {
        assert_eq!(media(text), want, "{text}");
    }
}

#[test]
fn answers_follow_the_accept_header() {
    let table_of = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let kubectl = format!("{table_of},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json");
    let list = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let table = [
        ("nothing asked", None, "Json Object"),
        ("an empty header", Some(""), "Json Object"),
        ("anything", Some("*/*"), "Json Object"),
        ("a star alone", Some("*"), "Json Object"),
        ("anything of a kind", Some("application/*"), "Json Object"),
        ("yaml", Some("application/yaml"), "Yaml Object"),
        ("by quality", Some("application/json;q=0.5, application/yaml;q=0.9"), "Yaml Object"),
        ("the exact before the vague", Some("*/*, application/yaml"), "Yaml Object"),
        ("as they stand", Some("application/json, */*"), "Json Object"),
        ("kubectl get", Some(kubectl.as_str()), "Json Table"),
        ("a table in yaml", Some("application/yaml;as=Table;v=v1;g=meta.k8s.io"), "Yaml Table"),
        (
            "a table nobody knows, then the object",
            Some("application/json;as=Table;v=v9;g=meta.k8s.io, */*"),
            "Json Object",
        ),
        (
            "metadata",
            Some("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"),
            "Json PartialObjectMetadata",
        ),
        ("metadata of a list", Some(list), "Json PartialObjectMetadataList"),
        ("protobuf first", Some("application/vnd.kubernetes.protobuf,application/json"), "Json Object"),
        ("a watch", Some("application/json;stream=watch"), "Json Object"),
        ("a strange stream, then none", Some("application/json;stream=x, application/yaml"), "Yaml Object"),
    ];
    for (shows, header, want) in table {
        let told = negotiate(header, true).expect(shows);
        assert_eq!(format!("{:?} {:?}", told.media, told.shape), want, "{shows}");
        let plain = if told.media == Answer::Json { "application/json" } else { "application/yaml" };
        assert_eq!(told.content_type, plain, "{shows}");
    }
    assert_eq!(negotiate(Some(list), false).expect_err("one object").reason, Reason::NotAcceptable);
}

#[test]
fn discovery_gives_the_one_document_to_who_can_read_it() {
    let two = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let want = Accepts {
        media: Answer::Json,
        shape: Shape::Discovery { version: "v2".into() },
        content_type: two.into(),
    };
    let client = format!("application/json, {two}, {}", two.replace("v2", "v2beta1"));
    for header in [two, client.as_str()] {
        assert_eq!(negotiate_discovery(Some(header)), Ok(want.clone()), "{header}");
    }
    for header in [None, Some("application/json"), Some("*/*"), Some("application/json;g=x;v=v1;as=Y, */*")] {
        assert_eq!(negotiate_discovery(header).map(|told| told.shape), Ok(Shape::Object), "{header:?}");
    }
}

#[test]
fn refused_headers_get_the_recorded_words() {
    let types = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
    let unknown = negotiate(Some("text/html"), false).expect_err("no such type");
    assert_eq!(unknown.message, format!("406: Not Acceptable\n\nAvailable representations: {types}"));
    assert_eq!((unknown.code, unknown.details), (StatusCode::NOT_ACCEPTABLE, Some(Map::new())));
    let future = "application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList";
    let shape = negotiate_discovery(Some(future)).expect_err("no such shape");
    assert_eq!(shape.message, format!("only the following media types are accepted: {types}"));
    assert_eq!((shape.code, shape.details), (StatusCode::NOT_ACCEPTABLE, None));
}

#[test]
fn tokens_are_written_as_recorded() {
    let recorded = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NjQ0LCJzdGFydCI6Ii9jbTFcdTAwMDAifQ";
    assert_eq!(continue_token(644, "", "cm1"), recorded);
    for (revision, namespace, name) in [(644, "", "cm1"), (7, "default", "a.b"), (0, "n", "x")] {
        let want = (revision, namespace.to_owned(), name.to_owned());
        assert_eq!(parse_continue(&continue_token(revision, namespace, name)), Ok(want));
    }
}

#[test]
fn broken_tokens_are_refused_in_the_original_words() {
    use base64::Engine;
    let of = |text: &str| base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(text);
    let table = [
        ("as recorded", "abc".to_owned(), "invalid character 'i' looking for beginning of value"),
        ("a letter that is none", "ab!c".to_owned(), "illegal base64 data at input byte 2"),
        ("a letter too many", "abcde".to_owned(), "illegal base64 data at input byte 4"),
        ("padding", "YQ==".to_owned(), "illegal base64 data at input byte 2"),
        ("another version", of(r#"{"v":"x"}"#), "server does not recognize this encoded version x"),
        (
            "no revision",
            of(r#"{"v":"meta.k8s.io/v1","start":"/a"}"#),
            "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        ),
        (
            "no start",
            of(r#"{"v":"meta.k8s.io/v1","rv":1}"#),
            "encoded start key empty (version meta.k8s.io/v1)",
        ),
        ("a way out", of(r#"{"v":"meta.k8s.io/v1","rv":1,"start":"/../x"}"#), "/../x"),
        (
            "a revision in words",
            of(r#"{"v":"meta.k8s.io/v1","rv":"1","start":"/a"}"#),
            "json: cannot unmarshal string into Go struct field continueToken.rv of type int64",
        ),
        ("a list", of("[]"), "json: cannot unmarshal array into Go value of type storage.continueToken"),
    ];
    for (shows, token, want) in table {
        let told = parse_continue(&token).expect_err(shows);
        assert_eq!(
            told.message,
            format!("invalid continue token: continue key is not valid: {want}"),
            "{shows}"
        );
        assert_eq!(told.code, StatusCode::BAD_REQUEST, "{shows}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    // Floats with a fraction: whole ones are held without, which a table above shows.
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i32>().prop_map(|whole| Value::from(f64::from(whole) + 0.5)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_is_json_is_read_as_such(value in any_json()) {
        let told = decode(value.to_string().as_bytes()).expect("valid JSON");
        prop_assert_eq!(told.value, value);
        prop_assert!(told.duplicates.is_empty());
    }

    #[test]
    fn nothing_but_json_is_read(text in "[\\[\\]{}:,\"a-f0-9.eE+\\\\u truefalsn-]{0,40}") {
        let known = serde_json::from_str::<Value>(&text).is_ok();
        // Half a pair is the one thing we read and serde_json does not.
        prop_assert!(decode(text.as_bytes()).is_ok() == known || text.contains("\\u"), "{}", text);
    }

    #[test]
    fn no_bytes_make_the_readers_stumble(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes);
        let text = String::from_utf8_lossy(&bytes);
        let _ = parse_continue(&text);
        let _ = negotiate(Some(&text), true);
        let _ = negotiate_discovery(Some(&text));
        let _ = media(&text);
    }
}
