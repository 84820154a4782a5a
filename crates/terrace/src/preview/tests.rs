//! Files in, words out.

use kit::{Change, Changes, Draft, Drafted, Verb};
use serde_json::{Value, json};

use super::*;

fn change(path: &str, from: Value, to: Value) -> Change {
    let some = |value: Value| Some(value).filter(|value| !value.is_null());
    Change { path: path.into(), from: some(from), to: some(to) }
}

fn draft(steps: Vec<Drafted>, refusal: Option<&str>) -> Option<Draft> {
    Some(Draft {
        object: "Application default/shop".into(),
        steps,
        status: Vec::new(),
        next: "on change".into(),
        refusal: refusal.map(str::to_owned),
    })
}

fn preview(new: bool, changes: Changes, draft: Option<Draft>) -> Preview {
    Preview { object: "Application default/shop".into(), new, changes, draft, error: None, found: None }
}

#[test]
fn a_file_holds_documents_lists_and_nothing_else() {
    let kinds = |text: &str| -> String {
        match documents(text) {
            Err(_) => "refused".into(),
            Ok(found) => {
                found.iter().map(|d| d["kind"].as_str().unwrap_or("?")).collect::<Vec<_>>().join(" ")
            }
        }
    };
    let table = [
        ("kind: A\n---\nkind: B\n", "A B"),
        ("---\nkind: A\n---\n---\n# only words\n", "A"),
        (r#"{"kind":"A"}"#, "A"),
        (r#"{"kind":"List","items":[{"kind":"A"},{"kind":"B"}]}"#, "A B"),
        ("kind: [", "refused"),
        ("", ""),
    ];
    for (text, want) in table {
        assert_eq!(kinds(text), want, "{text}");
    }
}

#[test]
fn what_changes_of_an_object_is_told_in_both_directions() {
    let live = json!({
        "metadata": { "uid": "1", "labels": { "a": "1" } }, "spec": { "port": 80, "env": [1] }, "status": { "x": 1 },
    });
    let next = json!({
        "metadata": { "uid": "2", "labels": { "a.b/c": "2" } }, "spec": { "port": 81, "env": [1], "host": "h" },
    });
    let told: Vec<String> = changes::between(Some(&live), &next).into_iter().map(|c| c.path).collect();
    assert_eq!(told, ["metadata.labels.a", "metadata.labels[a.b/c]", "spec.port", "spec.host"]);
    assert!(changes::between(Some(&live), &live).is_empty());
    let secret = json!({ "kind": "Secret", "data": { "p": "c2VjcmV0" } });
    let told = serde_json::to_string(&changes::between(None, &secret)).expect("is JSON");
    assert!(told.contains("data.p") && !told.contains("c2VjcmV0"), "{told}");
}

#[test]
fn a_preview_reads_like_a_list_of_changes() {
    let steps = vec![
        Drafted {
            verb: Verb::Create,
            words: "apply Service default/shop".into(),
            changes: vec![change("spec.port", Value::Null, json!(80))],
        },
        Drafted { verb: Verb::Delete, words: "delete Ingress default/shop".into(), changes: Vec::new() },
        Drafted { verb: Verb::Act, words: "build it".into(), changes: Vec::new() },
    ];
    let fields =
        vec![change("spec.replicas", json!(1), json!(3)), change("spec.host", json!("old"), Value::Null)];
    let previews =
        [preview(false, fields, draft(steps, None)), preview(false, Vec::new(), draft(Vec::new(), None))];
    let want = "~ Application default/shop\n    ~ spec.replicas: 1 → 3\n    - spec.host: \"old\"\n  \
        + apply Service default/shop\n      + spec.port: 80\n  - delete Ingress default/shop\n  ! build it\n\
        = Application default/shop: nothing to do\n1 to change, 1 as it should be; nothing was done\n";
    assert_eq!(render::text(&previews, Paint::fixed(false)), want);
    let painted = render::text(&previews, Paint::fixed(true));
    assert!(painted.contains("\u{1b}[31m-\u{1b}[0m delete Ingress"), "{painted}");
}

#[test]
fn the_exit_code_tells_programs_how_it_stands() {
    let same = || preview(false, Vec::new(), draft(Vec::new(), None));
    let new = || preview(true, Vec::new(), None);
    let refused = || preview(false, Vec::new(), draft(Vec::new(), Some("the host is taken")));
    let told = |previews: &[Preview]| format!("{:?}", verdict(previews));
    let code = |code: u8| format!("{:?}", ExitCode::from(code));
    assert_eq!(told(&[same()]), code(0));
    assert_eq!(told(&[same(), new()]), code(2));
    assert_eq!(told(&[new(), refused()]), code(1));
    let words = render::text(&[refused()], Paint::fixed(false));
    assert!(words.contains("refused: the host is taken") && words.contains("1 cannot be"), "{words}");
}

#[test]
fn what_would_only_be_said_in_the_status_is_a_refusal_too() {
    let said = |reason: &str| {
        let mut draft = draft(Vec::new(), None).expect("a draft");
        draft.status = vec![
            change("conditions[Ready].message", Value::Null, json!("the host is held")),
            change("conditions[Ready].reason", Value::Null, json!(reason)),
        ];
        preview(true, Vec::new(), Some(draft))
    };
    assert_eq!(said("HostConflict").refusal(), Some("the host is held"));
    assert_eq!(said("Deploying").refusal(), None);
}
