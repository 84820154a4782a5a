//! What is made, mended, watched or asked about; what becomes of it in the end; whose it is.

use std::sync::Arc;
use std::time::Duration;

use api::conditions::{READY, Reason, SYNCED, find};
use api::infra::{AwsDeletionPolicy, SQSQueueStatus, Tags};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kit::Name;
use ports::aws::{Account, Login};
use serde_json::{Value, json};

use super::course::{Case, Mend, Waiting, digest, field};
use super::farewell::{farewell, untouched};
use super::tags::{Mark, compare, mark, wanted};

const NOW: &str = "2026-01-01T12:00:00Z";

/// One resource beside its spec; `default()` is one that is as asked.
struct Situation {
    annotations: Value,
    generation: i64,
    status: Value,
    live: Option<Value>,
    own: Value,
    mends: Vec<Mend<&'static str>>,
    waiting: Option<Waiting>,
}

impl Default for Situation {
    fn default() -> Self {
        let status = json!({
            "ready": true, "tagKeys": ["terrace.dev/owner"], "observedGeneration": 1,
            "lastSyncTime": "2026-01-01T11:59:00Z",
        });
        let live = Some(json!({ "terrace.dev/owner": "default/orders" }));
        let (annotations, own) = (json!({}), json!({}));
        Self { annotations, generation: 1, status, live, own, mends: Vec::new(), waiting: None }
    }
}

fn tags(of: &Value) -> Tags {
    serde_json::from_value(of.clone()).expect("tags")
}

fn meta(annotations: &Value, generation: i64) -> ObjectMeta {
    serde_json::from_value(json!({
        "name": "orders", "namespace": "default", "generation": generation, "annotations": annotations,
    }))
    .expect("metadata")
}

fn account() -> Arc<Account> {
    let login = Login::WebIdentity { role: "arn:aws:iam::123456789012:role/terrace".into() };
    let (provider, region) = ("default/dev".into(), "eu-central-1".into());
    Arc::new(Account { provider, region, endpoint: None, login, role: None })
}

fn delay() -> Mend<&'static str> {
    Mend { fields: vec![field("delaySeconds", 5, 0)], call: "set delay" }
}

fn a_mark() -> Mend<&'static str> {
    Mend { fields: vec![field("tags[terrace.dev/owner]", "default/orders", "")], call: "mark" }
}

fn new_tag() -> Mend<&'static str> {
    Mend { fields: vec![field("tags[team]", "shop", "")], call: "tag" }
}

fn other_tag() -> Mend<&'static str> {
    Mend { fields: vec![field("tags[team]", "shop", "store")], call: "tag" }
}

/// What is planned, in one line.
fn told(of: Situation) -> String {
    let Situation { annotations, generation, status, live, own, mends, waiting } = of;
    let own = tags(&own);
    let (meta, live) = (meta(&annotations, generation), live.as_ref().map(tags));
    let all = tags(&json!({ "team": "shop", "terrace.dev/owner": "default/orders" }));
    let case = Case {
        meta: &meta,
        what: "queue orders".into(),
        account: account(),
        live: live.as_ref(),
        tags: &all,
        own: &own,
        make: vec!["make"],
        mends,
        waiting,
        now: NOW.parse::<Timestamp>().expect("a time"),
    };
    let status: SQSQueueStatus = serde_json::from_value(status).expect("a status");
    let plan = case.settle(status);
    let said = |type_: &str| {
        find(&plan.status.conditions, type_).map(|said| format!("{type_}={}/{}", said.status, said.reason))
    };
    let mut words: Vec<String> = plan.steps.iter().map(ToString::to_string).collect();
    words.extend([READY, SYNCED].into_iter().filter_map(said));
    assert_eq!(plan.status.ready, find(&plan.status.conditions, READY).is_some_and(|it| it.status == "True"));
    words.extend(plan.status.drift.iter().map(|drift| format!("drift {}", drift.field)));
    let moved = plan.status.last_sync_time.is_some_and(|last| last.0.to_string() == NOW);
    words.extend(moved.then(|| "dated".to_owned()));
    words.push(format!("{:?}", plan.next));
    words.join("; ")
}

#[test]
fn every_difference_is_made_mended_watched_or_asked_about() {
    let adopt = || json!({ "terrace.dev/adopt": "true" });
    let observe = || json!({ "terrace.dev/mode": "observe" });
    let approve = |by: &str| json!({ "terrace.dev/adopt": "true", "terrace.dev/approve-plan": by });
    let right = digest(&delay().fields);
    let none = || Some(json!({}));
    let other = || Some(json!({ "terrace.dev/owner": "default/other" }));
    let fresh = || json!({});
    let before = |mut status: Value, time: &str| {
        status["lastSyncTime"] = time.into();
        status
    };
    let met = || Situation::default().status;
    let drifted = || {
        let mut status = met();
        status["drift"] = json!([{ "field": "delaySeconds", "expected": "5", "actual": "0" }]);
        status
    };
    let soon =
        Waiting { reason: Reason::Provisioning, message: "soon".into(), delay: Duration::from_secs(5) };
    let of = Situation::default;
    let good = "Ready=True/Available; Synced=True/Available";
    let table: Vec<(&str, Situation, String)> = vec![
        ("as asked", of(), format!("{good}; After(300s)")),
        (
            "as asked, compared long ago",
            Situation { status: before(met(), "2026-01-01T11:57:30Z"), ..of() },
            format!("{good}; dated; After(300s)"),
        ),
        (
            "as asked, but not up yet",
            Situation { waiting: Some(soon), ..of() },
            "Ready=False/Provisioning; Synced=True/Available; After(5s)".into(),
        ),
        (
            "absent, never there",
            Situation { live: None, status: fresh(), ..of() },
            "make; Ready=False/Provisioning; Synced=True/Available; dated; After(250ms)".into(),
        ),
        (
            "absent, was there",
            Situation { live: None, ..of() },
            "make; Ready=False/Provisioning; Synced=True/DriftCorrected; drift queue orders; dated; After(250ms)".into(),
        ),
        (
            "absent, was there, but the spec is a new one",
            Situation { live: None, generation: 2, ..of() },
            "make; Ready=False/Provisioning; Synced=True/Available; dated; After(250ms)".into(),
        ),
        (
            "absent, watched",
            Situation { live: None, annotations: observe(), ..of() },
            "Ready=False/Drifted; Synced=False/Drifted; After(300s)".into(),
        ),
        (
            "changed outside",
            Situation { mends: vec![delay()], ..of() },
            "set delay; Ready=True/Available; Synced=True/DriftCorrected; drift delaySeconds; dated; After(300s)".into(),
        ),
        (
            "changed outside a moment ago, put back",
            Situation { status: drifted(), ..of() },
            "Ready=True/Available; Synced=True/DriftCorrected; drift delaySeconds; After(300s)".into(),
        ),
        (
            "changed outside, put back, and compared again",
            Situation { status: before(drifted(), "2026-01-01T11:57:30Z"), ..of() },
            format!("{good}; dated; After(300s)"),
        ),
        (
            "a new spec",
            Situation { mends: vec![delay()], generation: 2, ..of() },
            format!("set delay; {good}; dated; After(300s)"),
        ),
        (
            "a new tag of the provider",
            Situation { mends: vec![new_tag()], ..of() },
            format!("tag; {good}; dated; After(300s)"),
        ),
        (
            "lost its mark",
            Situation { live: none(), mends: vec![a_mark()], ..of() },
            "mark; Ready=True/Available; Synced=True/DriftCorrected; drift tags[terrace.dev/owner]; dated; After(300s)".into(),
        ),
        (
            "watched, as asked",
            Situation { annotations: observe(), ..of() },
            format!("{good}; After(300s)"),
        ),
        (
            "watched, otherwise",
            Situation { annotations: observe(), mends: vec![delay()], ..of() },
            "Ready=True/Available; Synced=False/Drifted; drift delaySeconds; After(300s)".into(),
        ),
        (
            "watched, another object's",
            Situation { annotations: observe(), status: fresh(), live: other(), mends: vec![a_mark()], ..of() },
            format!("{good}; dated; After(300s)"),
        ),
        (
            "nobody's",
            Situation { status: fresh(), live: none(), mends: vec![a_mark()], ..of() },
            "Ready=False/NotOurs; Synced=False/NotOurs; After(300s)".into(),
        ),
        (
            "another object's",
            Situation { status: fresh(), live: other(), mends: vec![a_mark()], ..of() },
            "Ready=False/NotOurs; Synced=False/NotOurs; After(300s)".into(),
        ),
        (
            "another object's, asked for",
            Situation { annotations: adopt(), status: fresh(), live: other(), mends: vec![a_mark()], ..of() },
            "Ready=False/NotOurs; Synced=False/NotOurs; After(300s)".into(),
        ),
        (
            "ours once, another object's now",
            Situation { live: other(), mends: vec![a_mark()], ..of() },
            "Ready=False/NotOurs; Synced=False/NotOurs; After(300s)".into(),
        ),
        (
            "nobody's, asked for, as the spec says",
            Situation { annotations: adopt(), status: fresh(), live: none(), mends: vec![a_mark()], ..of() },
            format!("mark; {good}; dated; After(300s)"),
        ),
        (
            "nobody's, asked for, without the provider's tags",
            Situation { annotations: adopt(), status: fresh(), live: none(), mends: vec![new_tag(), a_mark()], ..of() },
            format!("tag; mark; {good}; dated; After(300s)"),
        ),
        (
            "nobody's, asked for, with another value of a provider's tag",
            Situation { annotations: adopt(), status: fresh(), live: none(), mends: vec![other_tag()], ..of() },
            "Ready=False/AwaitingApproval; Synced=False/AwaitingApproval; drift tags[team]; After(300s)".into(),
        ),
        (
            "nobody's, asked for, without a tag that the spec names",
            Situation {
                annotations: adopt(), status: fresh(), live: none(), own: json!({ "team": "shop" }), mends: vec![new_tag()], ..of()
            },
            "Ready=False/AwaitingApproval; Synced=False/AwaitingApproval; drift tags[team]; After(300s)".into(),
        ),
        (
            "nobody's, watched, without the provider's tags",
            Situation { annotations: observe(), status: fresh(), live: none(), mends: vec![new_tag(), a_mark()], ..of() },
            format!("{good}; dated; After(300s)"),
        ),
        (
            "nobody's, asked for, otherwise",
            Situation { annotations: adopt(), status: fresh(), live: none(), mends: vec![delay(), a_mark()], ..of() },
            "Ready=False/AwaitingApproval; Synced=False/AwaitingApproval; drift delaySeconds; After(300s)".into(),
        ),
        (
            "nobody's, asked for, another plan approved",
            Situation { annotations: approve("00"), status: fresh(), live: none(), mends: vec![delay()], ..of() },
            "Ready=False/AwaitingApproval; Synced=False/AwaitingApproval; drift delaySeconds; After(300s)".into(),
        ),
        (
            "nobody's, asked for, this plan approved",
            Situation { annotations: approve(&right), status: fresh(), live: none(), mends: vec![delay(), a_mark()], ..of() },
            format!("set delay; mark; {good}; dated; After(300s)"),
        ),
    ];
    for (case, situation, want) in table {
        assert_eq!(told(situation), want, "{case}");
    }
}

#[test]
fn the_approval_is_asked_for_by_its_digest_and_a_foreign_mark_is_named() {
    let message = |live: Value, mends, annotations: Value| {
        let (meta, live) = (meta(&annotations, 1), tags(&live));
        let all = wanted(&Tags::new(), &Tags::new(), &Name::new("default", "orders"));
        let case = Case {
            meta: &meta,
            what: "queue orders".into(),
            account: account(),
            live: Some(&live),
            tags: &all,
            own: &Tags::new(),
            make: vec!["make"],
            mends,
            waiting: None,
            now: NOW.parse().expect("a time"),
        };
        let status = case.settle(SQSQueueStatus::default()).status;
        find(&status.conditions, SYNCED).expect("it says so").message.clone()
    };
    let adopt = json!({ "terrace.dev/adopt": "true" });
    let asked = message(json!({}), vec![delay()], adopt);
    let digest = digest(&delay().fields);
    assert!(asked.contains(&format!("terrace.dev/approve-plan: {digest} approves it")), "{asked}");
    assert!(asked.contains("differs in delaySeconds"), "{asked}");
    let foreign = message(json!({ "terrace.dev/owner": "shop/other" }), vec![], json!({}));
    assert!(foreign.contains("belongs to shop/other"), "{foreign}");
    let nobodys = message(json!({}), vec![], json!({}));
    assert!(nobodys.contains("terrace.dev/adopt: \"true\""), "{nobodys}");
}

#[test]
fn a_digest_speaks_of_these_differences_and_no_others() {
    let one = digest(&[field("delaySeconds", 5, 0)]);
    assert_eq!(one.len(), 12);
    for other in [field("delaySeconds", 6, 0), field("delaySeconds", 5, 1), field("visibilityTimeout", 5, 0)]
    {
        assert_ne!(one, digest(&[other]));
    }
}

#[test]
fn what_is_not_ours_or_only_watched_stays_in_the_end() {
    let (ours, none) = (json!({ "terrace.dev/owner": "default/orders" }), json!({}));
    let other = json!({ "terrace.dev/owner": "default/other" });
    let (plain, observe) = (json!({}), json!({ "terrace.dev/mode": "observe" }));
    let (held, never) = (vec!["terrace.dev/owner".to_owned()], Vec::new());
    type Row<'a> = (&'a str, &'a Value, Option<&'a Value>, &'a [String], [&'a str; 3]);
    let table: [Row<'_>; 8] = [
        ("ours", &plain, Some(&ours), &held, ["Delete", "Leave", "Unmark"]),
        ("ours, status lost", &plain, Some(&ours), &never, ["Delete", "Leave", "Unmark"]),
        ("mark lost", &plain, Some(&none), &held, ["Delete", "Leave", "Unmark"]),
        ("nobody's", &plain, Some(&none), &never, ["Leave"; 3]),
        ("another's", &plain, Some(&other), &never, ["Leave"; 3]),
        ("another's now", &plain, Some(&other), &held, ["Leave"; 3]),
        ("watched", &observe, Some(&ours), &held, ["Leave"; 3]),
        ("gone", &plain, None, &held, ["Leave"; 3]),
    ];
    let policies = [AwsDeletionPolicy::Delete, AwsDeletionPolicy::Retain, AwsDeletionPolicy::Orphan];
    for (case, annotations, live, held, wants) in table {
        for (policy, want) in policies.into_iter().zip(wants) {
            let end = farewell(&meta(annotations, 1), policy, live.map(tags).as_ref(), held);
            assert_eq!(format!("{end:?}"), want, "{case}, {policy:?}");
        }
    }
    let looks = policies.map(|policy| !untouched(&meta(&plain, 1), policy));
    assert_eq!(looks, [true, false, true], "nobody looks at what is retained");
    assert!(untouched(&meta(&observe, 1), AwsDeletionPolicy::Delete));
}

#[test]
fn tags_of_the_spec_win_over_the_providers_and_nobody_sets_those_of_aws() {
    let (default, own) = (json!({ "team": "shop", "env": "dev" }), json!({ "env": "test", "aws:x": "1" }));
    let forged = json!({ "terrace.dev/owner": "default/other" });
    let owner = Name::new("default", "orders");
    let all = |own: &Value| json!(wanted(&tags(&default), &tags(own), &owner));
    assert_eq!(all(&own), json!({ "team": "shop", "env": "test", "terrace.dev/owner": "default/orders" }));
    assert_eq!(all(&forged)["terrace.dev/owner"], "default/orders", "the mark is not the user's to set");
    let of = |held: Value| mark(&tags(&held), &owner);
    assert_eq!(of(json!({ "terrace.dev/owner": "default/orders" })), Mark::Ours);
    assert_eq!(of(json!({ "terrace.dev/owner": "shop/orders" })), Mark::Others);
    assert_eq!(of(json!({ "team": "shop" })), Mark::None);
}

#[test]
fn only_tags_that_were_set_before_are_taken_off() {
    let live = json!({ "team": "shop", "old": "1", "others": "x", "aws:cloudformation:stack": "s" });
    let held = ["team", "old", "gone"].map(str::to_owned);
    let told = |wanted: &Value| {
        let retag = compare(&tags(&live), &tags(wanted), &held);
        let (set, removed) = retag.split();
        let names = |fields: &[api::drift::Drift]| {
            fields.iter().map(|drift| drift.field.clone()).collect::<Vec<_>>().join(",")
        };
        assert_eq!(retag.fields.len(), set.len() + removed.len());
        format!(
            "set {} {}; remove {} {}",
            json!(retag.set),
            names(&set),
            retag.remove.join(","),
            names(&removed)
        )
    };
    let table = [
        (json!({ "team": "shop", "old": "1" }), "set {} ; remove  "),
        (json!({ "team": "shop" }), "set {} ; remove old tags[old]"),
        (json!({ "team": "store", "old": "1" }), r#"set {"team":"store"} tags[team]; remove  "#),
        // A tag may have no value.
        (
            json!({ "team": "", "old": "1", "new": "" }),
            r#"set {"new":"","team":""} tags[new],tags[team]; remove  "#,
        ),
    ];
    for (wanted, want) in table {
        assert_eq!(told(&wanted), want, "{wanted}");
    }
}
