use serde_json::json;

use super::*;

/// A field of bytes, as the encoder writes it.
fn bytes(number: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2, u8::try_from(content.len()).expect("short")];
    out.extend_from_slice(content);
    out
}

fn enveloped(version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let meta = [bytes(1, version.as_bytes()), bytes(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), bytes(1, &meta), bytes(2, raw)].concat()
}

#[test]
fn an_object_reads_like_its_json() {
    let meta = [bytes(1, b"bob"), bytes(3, b"default"), bytes(8, b"")].concat();
    let account = enveloped("v1", "ServiceAccount", &bytes(1, &meta));
    let want = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "bob", "namespace": "default" } });
    assert_eq!(decode(&account), Ok(want));
}

#[test]
fn maps_bytes_and_wrapped_lists_read_like_their_json() {
    let entry = [bytes(1, b"a"), bytes(2, b"\x01\x02")].concat();
    let secret = decode(&enveloped("v1", "Secret", &bytes(2, &entry))).expect("reads");
    assert_eq!(secret["data"], json!({ "a": "AQI=" }));
    let extra = [bytes(1, b"scopes"), bytes(2, &[bytes(1, b"x"), bytes(1, b"y")].concat())].concat();
    let review = enveloped("authorization.k8s.io/v1", "SubjectAccessReview", &bytes(2, &bytes(5, &extra)));
    assert_eq!(decode(&review).expect("reads")["spec"]["extra"], json!({ "scopes": ["x", "y"] }));
}

#[test]
fn every_message_that_a_field_names_is_in_the_table() {
    for root in
        ["v1/Pod", "v1/Service", "apps/v1/Deployment", "batch/v1/Job", "rbac.authorization.k8s.io/v1/Role"]
    {
        let (version, kind) = root.rsplit_once('/').expect("has a kind");
        let mut open = vec![messages::name(version, kind).expect("is known").to_owned()];
        let mut seen = std::collections::HashSet::new();
        while let Some(name) = open.pop() {
            if !seen.insert(name.clone()) || special::read(&name, &[]).is_ok_and(|value| value.is_some()) {
                continue;
            }
            let fields = messages::fields(&name).unwrap_or_else(|| panic!("{name} is missing"));
            open.extend(
                fields.iter().filter(|field| field.kind.contains('.')).map(|field| field.kind.clone()),
            );
        }
        assert!(seen.len() > 2, "{root}");
    }
}

#[test]
fn broken_bodies_are_refused_with_a_sentence() {
    let table: [(&[u8], &str); 4] = [
        (b"{}", "does not begin"),
        (b"k8s\0\x0a\x7f", "ends in the middle"),
        (b"k8s\0\x0f", "wire type 7"),
        (b"k8s\0", "no known protobuf form"),
    ];
    for (body, want) in table {
        let why = decode(body).expect_err("is refused");
        assert!(why.contains(want), "{why}");
    }
}

proptest::proptest! {
    #[test]
    fn arbitrary_bytes_never_break_the_reader(body in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        let _ = decode(&body);
        let _ = decode(&enveloped("v1", "Pod", &body[..body.len().min(100)]));
    }
}
