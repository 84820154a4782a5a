use std::sync::Arc;

use api::conditions::{DELETION_BLOCKED, READY, SYNCED, find};
use api::infra::{EC2Instance, EC2InstanceStatus};
use kit::{Do, Plan};
use ports::aws::{Account, Console, Login, Machine, Power, Profile};
use serde_json::{Value, json};

use super::plan::{Call, Details, Found, plan};
use crate::infra::desk::{Open, Sight, World};
use crate::infra::step::Step;

const NOW: &str = "2026-01-01T12:00:00Z";
const OWN: [&str; 3] = ["Name", "team", "terrace.dev/owner"];

fn instance(change: Value) -> EC2Instance {
    let mut manifest = json!({
        "apiVersion": "aws-infra-operator.runner.codes/v1alpha1", "kind": "EC2Instance",
        "metadata": { "name": "web", "namespace": "default", "generation": 1, "uid": "u-1" },
        "spec": {
            "providerRef": { "name": "dev" }, "instanceName": "web", "instanceType": "t3.micro", "imageID": "ami-1",
        },
        "status": { "instanceID": "i-1", "tagKeys": OWN, "observedGeneration": 1, "ready": true, "lastSyncTime": NOW },
    });
    merge(&mut manifest, &change);
    serde_json::from_value(manifest).expect("an instance")
}

fn merge(into: &mut Value, change: &Value) {
    match (into, change) {
        (Value::Object(into), Value::Object(change)) => {
            change.iter().for_each(|(key, value)| merge(into.entry(key).or_insert(Value::Null), value));
        }
        (into, change) => *into = change.clone(),
    }
}

/// A machine of ours.
fn machine(power: &str) -> Machine {
    let tags = json!({ "Name": "web", "team": "shop", "terrace.dev/owner": "default/web" });
    Machine {
        id: "i-1".into(),
        power: Power::from(power),
        image_id: "ami-1".into(),
        instance_type: "t3.micro".into(),
        tags: serde_json::from_value(tags).expect("tags"),
        launch_time: "2026-01-01T11:00:00Z".parse().ok(),
        ..Machine::default()
    }
}

fn tagged(mut machine: Machine, key: &str, value: Option<&str>) -> Machine {
    match value {
        Some(value) => machine.tags.insert(key.into(), value.into()),
        None => machine.tags.remove(key),
    };
    machine
}

fn marked(machines: impl IntoIterator<Item = Machine>) -> Found {
    let details = Some(Details::default());
    Found { marked: machines.into_iter().collect(), others: Vec::new(), details }
}

fn others(machines: impl IntoIterator<Item = Machine>) -> Found {
    Found { marked: Vec::new(), others: machines.into_iter().collect(), details: Some(Details::default()) }
}

fn planned(instance: &EC2Instance, found: Found) -> Plan<Step<Call>, EC2InstanceStatus> {
    let login = Login::WebIdentity { role: "arn:aws:iam::123456789012:role/terrace".into() };
    let (provider, region) = ("default/dev".into(), "eu-central-1".into());
    let account = Arc::new(Account { provider, region, endpoint: None, login, role: None });
    let default_tags = [("team".to_owned(), "shop".to_owned())].into();
    let open = Open { account, default_tags, found: Some(found), _place: None };
    let world = World { now: NOW.parse().expect("a time"), sight: Sight::Open(open) };
    plan(instance, &world).expect("nothing is refused")
}

/// Steps, reasons of `Ready` and `Synced`, and when to look again.
fn told(instance: &EC2Instance, found: Found) -> String {
    let plan = planned(instance, found);
    let mut words: Vec<String> = plan.steps.iter().map(ToString::to_string).collect();
    for condition in [READY, SYNCED, DELETION_BLOCKED] {
        let said = find(&plan.status.conditions, condition);
        words.extend(said.map(|said| format!("{condition} {} {}", said.status, said.reason)));
    }
    words.push(format!("{:?}", plan.next));
    words.join("; ")
}

#[test]
fn every_state_of_a_machine_has_its_plan() {
    let none = || json!({});
    let larger = || json!({ "spec": { "instanceType": "t3.large" }, "metadata": { "generation": 2 } });
    let again = |power: &str| tagged(machine(power), "terrace.dev/restart", Some("true"));
    let table = [
        ("as asked", none(), machine("running"), "Ready True Available; Synced True Available; After(300s)"),
        (
            "on its way",
            none(),
            machine("pending"),
            "Ready False Provisioning; Synced True Available; After(5s)",
        ),
        ("on its way, and not as asked", larger(), machine("pending"), "Ready False Provisioning; After(5s)"),
        (
            "to be stopped",
            larger(),
            machine("running"),
            "tag machine i-1 with terrace.dev/restart; stop machine i-1; Ready False Provisioning; Synced False Provisioning; After(5s)",
        ),
        ("being stopped", larger(), again("stopping"), "Ready False Provisioning; After(5s)"),
        (
            "stopped by us",
            larger(),
            again("stopped"),
            "set instanceType of machine i-1; start machine i-1; take tags terrace.dev/restart off machine i-1; Ready False Provisioning; Synced True Available; After(5s)",
        ),
        (
            "started by us, and nobody noted it",
            none(),
            again("running"),
            "take tags terrace.dev/restart off machine i-1; Ready True Available; Synced True Available; After(300s)",
        ),
        (
            "stopped by us and changed, but not started",
            none(),
            again("stopped"),
            "start machine i-1; take tags terrace.dev/restart off machine i-1; Ready False Provisioning; Synced True Available; After(5s)",
        ),
        (
            "stopped by somebody",
            none(),
            machine("stopped"),
            "Ready False Stopped; Synced True Available; After(300s)",
        ),
        (
            "stopped by somebody, and to be changed",
            larger(),
            machine("stopped"),
            "set instanceType of machine i-1; Ready False Stopped; Synced True Available; After(300s)",
        ),
        (
            "ending",
            none(),
            machine("shutting-down"),
            "Ready False Provisioning; Synced True Available; After(5s)",
        ),
        ("a new word", larger(), machine("hibernating"), "Ready False Provisioning; After(5s)"),
        (
            "gone",
            json!({ "metadata": { "generation": 2 } }),
            machine("terminated"),
            "launch a machine t3.micro from ami-1; Ready False Provisioning; Synced True Available; After(2s)",
        ),
        (
            "only watched, and not as asked",
            json!({
                "metadata": { "annotations": { "terrace.dev/mode": "observe" } }, "spec": { "instanceType": "t3.large" },
            }),
            machine("running"),
            "Ready True Available; Synced False Drifted; After(300s)",
        ),
    ];
    for (rule, change, live, want) in table {
        assert_eq!(told(&instance(change), marked([live])), want, "{rule}");
    }
}

#[test]
fn a_machine_is_known_by_its_mark_its_status_or_by_what_a_person_says() {
    let new = || json!({ "status": null });
    let adopt = |id: Option<&str>| {
        let mut annotations = json!({ "terrace.dev/adopt": "true" });
        if let Some(id) = id {
            annotations["aws-infra-operator.runner.codes/instance-id"] = id.into();
        }
        json!({ "status": null, "metadata": { "annotations": annotations } })
    };
    let other = |id: &str| {
        let machine = tagged(machine("running"), "terrace.dev/owner", None);
        Machine { id: id.into(), ..machine }
    };
    let launched =
        "launch a machine t3.micro from ami-1; Ready False Provisioning; Synced True Available; After(2s)";
    let mark =
        "tag machine i-2 with terrace.dev/owner; Ready True Available; Synced True Available; After(300s)";
    let not_ours = "Ready False NotOurs; Synced False NotOurs; After(300s)";
    let table = [
        ("none", new(), marked([]), launched),
        (
            "its own",
            new(),
            marked([machine("running")]),
            "Ready True Available; Synced True Available; After(300s)",
        ),
        (
            "without its mark, but the status knows it",
            json!({}),
            others([other("i-1")]),
            "tag machine i-1 with terrace.dev/owner; Ready True Available; Synced True DriftCorrected; After(300s)",
        ),
        ("one that has the name", new(), others([other("i-2")]), not_ours),
        (
            "one that has the name, after ours is gone",
            json!({}),
            others([machine("terminated"), other("i-2")]),
            not_ours,
        ),
        ("one that has the name, and is given to us", adopt(None), others([other("i-2")]), mark),
        ("two that have the name", adopt(None), others([other("i-2"), other("i-3")]), not_ours),
        ("the one that is named", adopt(Some("i-2")), others([other("i-2")]), mark),
        ("the one that is named is gone", adopt(Some("i-2")), others([]), not_ours),
        (
            "two with our mark",
            json!({}),
            marked([machine("running"), Machine { id: "i-2".into(), ..machine("stopped") }]),
            not_ours,
        ),
        (
            "one with our mark beside one that ended",
            new(),
            marked([machine("terminated"), Machine { id: "i-2".into(), ..machine("running") }]),
            "Ready True Available; Synced True Available; After(300s)",
        ),
        (
            "given to us, from another image",
            adopt(None),
            others([Machine { image_id: "ami-2".into(), ..other("i-2") }]),
            "Ready False InvalidSpec; Synced False InvalidSpec; After(300s)",
        ),
        (
            "given to us, and otherwise",
            adopt(None),
            others([Machine { instance_type: "t3.large".into(), ..other("i-2") }]),
            "Ready False AwaitingApproval; Synced False AwaitingApproval; After(300s)",
        ),
        (
            "given to us, and on its way",
            adopt(None),
            others([Machine { power: Power::Pending, ..other("i-2") }]),
            "Ready False Provisioning; After(5s)",
        ),
    ];
    for (rule, change, found, want) in table {
        assert_eq!(told(&instance(change), found), want, "{rule}");
    }
}

fn token(instance: &EC2Instance, found: Found) -> String {
    let plan = planned(instance, found);
    match plan.steps.as_slice() {
        [Do::Outside(Step { call: Call::Launch(launch), .. })] => launch.token.clone(),
        other => panic!("nothing is launched: {other:?}"),
    }
}

#[test]
fn a_token_changes_only_when_a_machine_has_ended() {
    let new = instance(json!({ "status": null }));
    let first = token(&new, marked([]));
    assert_eq!(first, token(&new, marked([])), "asked twice, it is the same machine");
    assert!(first.len() <= 64, "AWS takes no longer one: {first}");
    assert_ne!(first, token(&instance(json!({ "status": null, "metadata": { "uid": "u-2" } })), marked([])));
    let second = token(&instance(json!({})), marked([machine("terminated")]));
    assert_ne!(first, second);
    assert_eq!(second, token(&instance(json!({})), marked([])), "AWS forgets what ended");
    let unseen = Machine { client_token: Some(first), ..machine("terminated") };
    assert_eq!(token(&new, marked([unseen])), second, "it ended before the status told of it");
    let other = Machine { client_token: Some("theirs".into()), ..machine("terminated") };
    assert_eq!(
        token(&new, marked([other])),
        token(&new, marked([])),
        "another object's machine says nothing"
    );
}

#[test]
fn a_machine_that_cannot_start_is_not_launched_all_day() {
    let live = Machine {
        launch_time: "2026-01-01T11:59:50Z".parse().ok(),
        state_reason: Some("Client.VolumeLimitExceeded".into()),
        ..machine("terminated")
    };
    let plan = planned(&instance(json!({})), marked([live]));
    assert_eq!(
        told(&instance(json!({})), marked([])).split(';').next(),
        Some("launch a machine t3.micro from ami-1")
    );
    assert!(plan.steps.is_empty());
    let said = find(&plan.status.conditions, READY).expect("it is said");
    assert!(said.message.contains("Client.VolumeLimitExceeded"), "{}", said.message);
    assert_eq!(format!("{:?}", plan.next), "After(50s)");
}

#[test]
fn a_machine_goes_as_its_policy_says() {
    let going = |spec: Value| {
        instance(json!({ "metadata": { "deletionTimestamp": NOW, "finalizers": ["x"] }, "spec": spec }))
    };
    let wait = "Ready False Deleting; After(5s)";
    let table = [
        ("Delete", "running", "terminate machine i-1; Ready False Deleting; After(5s)"),
        ("Delete", "stopped", "terminate machine i-1; Ready False Deleting; After(5s)"),
        ("Delete", "shutting-down", wait),
        ("Delete", "terminated", "Release"),
        ("Retain", "running", "Release"),
        ("Stop", "pending", wait),
        ("Stop", "running", "stop machine i-1; Ready False Deleting; After(5s)"),
        ("Stop", "stopping", wait),
        ("Stop", "stopped", "take tags terrace.dev/owner off machine i-1; Release"),
        ("Stop", "shutting-down", "Release"),
    ];
    for (policy, power, want) in table {
        let got = told(&going(json!({ "deletionPolicy": policy })), marked([machine(power)]));
        assert_eq!(got, want, "{policy}, {power}");
    }
    let theirs = tagged(Machine { id: "i-2".into(), ..machine("running") }, "terrace.dev/owner", None);
    assert_eq!(told(&going(json!({})), others([theirs])), "Release", "what is not ours stays");
    let lost = tagged(machine("stopped"), "terrace.dev/owner", None);
    assert_eq!(
        told(&going(json!({ "deletionPolicy": "Stop" })), others([lost])),
        "Release",
        "its mark is off already"
    );
    let twins = || marked([machine("running"), Machine { id: "i-2".into(), ..machine("running") }]);
    let blocked = "Ready False WouldLoseData; DeletionBlocked True WouldLoseData; After(60s)";
    assert_eq!(told(&going(json!({})), twins()), blocked);
    assert_eq!(told(&going(json!({ "deletionPolicy": "Retain" })), twins()), "Release");
}

#[test]
fn a_protected_machine_is_terminated_only_when_its_spec_was_changed_for_it() {
    let locked = || {
        let details = Some(Details { protected: true, ..Details::default() });
        Found { details, ..marked([machine("running")]) }
    };
    let going = |spec: Value, conditions: Value| {
        let metadata = json!({ "deletionTimestamp": NOW, "finalizers": ["x"] });
        instance(json!({ "metadata": metadata, "spec": spec, "status": { "conditions": conditions } }))
    };
    let asked = json!([{
        "type": DELETION_BLOCKED, "status": "True", "reason": "AwaitingApproval", "message": "",
        "lastTransitionTime": NOW,
    }]);
    let by_spec = going(json!({ "disableApiTermination": true }), json!([]));
    assert_eq!(
        told(&by_spec, locked()),
        "Ready False AwaitingApproval; DeletionBlocked True AwaitingApproval; After(60s)"
    );
    assert_eq!(
        told(&going(json!({}), json!([])), locked()),
        "Ready False WouldLoseData; DeletionBlocked True WouldLoseData; After(60s)"
    );
    assert_eq!(
        told(&going(json!({}), asked.clone()), locked()),
        "set disableApiTermination of machine i-1; terminate machine i-1; Ready False Deleting; DeletionBlocked True AwaitingApproval; After(5s)"
    );
    assert_eq!(
        told(&going(json!({}), asked), marked([machine("running")])),
        "terminate machine i-1; Ready False Deleting; DeletionBlocked False Deleting; After(5s)"
    );
}

#[test]
fn a_profile_is_named_by_name_or_arn() {
    let arn = "arn:aws:iam::123456789012:instance-profile/team/web";
    let table = [
        (json!(null), None, "running", ""),
        (json!("web"), Some(arn), "running", ""),
        (json!(arn), Some(arn), "running", ""),
        (json!("db"), Some(arn), "running", "give a-1 the profile db"),
        (json!("team/web"), Some(arn), "running", "give a-1 the profile team/web"),
        (json!("db"), Some(arn), "stopped", "take the profile of a-1 off; give machine i-1 the profile db"),
        (json!("web"), None, "running", "give machine i-1 the profile web"),
        (json!(null), Some(arn), "running", "take the profile of a-1 off"),
    ];
    for (asked, there, power, want) in table {
        let mut profile = there.map(|_| Profile::default());
        if let (Some(profile), Some(arn)) = (&mut profile, there) {
            (profile.arn, profile.association) = (arn.to_owned(), "a-1".to_owned());
        }
        let details = Some(Details { profile, ..Details::default() });
        let found = Found { details, ..marked([machine(power)]) };
        let plan = planned(&instance(json!({ "spec": { "iamInstanceProfile": asked } })), found);
        let steps: Vec<String> = plan.steps.iter().map(ToString::to_string).collect();
        assert_eq!(steps.join("; "), want, "{asked}, {power}");
    }
}

#[test]
fn a_script_is_shown_to_nobody() {
    let with = instance(json!({ "spec": { "userData": "echo hunter2" } }));
    let details = Some(Details { user_data: Some(b"echo swordfish".to_vec().into()), ..Details::default() });
    let plan = planned(&with, Found { details, ..marked([machine("stopped")]) });
    let shown = format!("{plan:?} {}", plan.steps.iter().map(ToString::to_string).collect::<String>());
    assert!(shown.contains("set userData of machine i-1") && shown.contains("12 bytes"), "{shown}");
    let new =
        planned(&instance(json!({ "spec": { "userData": "echo hunter2" }, "status": null })), marked([]));
    for text in [shown, format!("{new:?}")] {
        assert!(!text.contains("hunter2") && !text.contains("swordfish"), "{text}");
    }
}

fn console(text: &[u8], known: Option<&str>) -> EC2InstanceStatus {
    let console = Some(Console { text: text.to_vec(), at: NOW.parse().ok() });
    let details = Some(Details { console, ..Details::default() });
    let status =
        json!({ "consoleOutput": known, "consoleOutputTimestamp": known.map(|_| "2026-01-01T08:00:00Z") });
    let asked = instance(json!({ "spec": { "enableConsoleOutput": true }, "status": status }));
    planned(&asked, Found { details, ..marked([machine("running")]) }).status
}

#[test]
fn the_end_of_a_console_is_shown_plainly() {
    let status = console(b"\x1b[31mred\x07\r\nfine\t\xff\n", None);
    assert_eq!(status.console_output.as_deref(), Some("[31mred\nfine\t\u{fffd}\n"));
    assert_eq!(json!(status.console_output_timestamp), NOW);
    let same = console(b"up\n", Some("up\n"));
    assert_eq!(
        json!(same.console_output_timestamp),
        "2026-01-01T08:00:00Z",
        "what did not change is not written"
    );
    assert_eq!(console(b"", Some("up\n")).console_output, None);
    let long = format!("{}\nlast line\n", "ü".repeat(10_000));
    assert_eq!(console(long.as_bytes(), None).console_output.as_deref(), Some("last line\n"));
    let one_line = console("ü".repeat(10_000).as_bytes(), None).console_output.expect("it is shown");
    assert_eq!(one_line.chars().count(), 8192);
}

#[test]
fn a_machine_called_by_its_id_has_no_name() {
    let nameless = tagged(machine("running"), "Name", None);
    let asked = instance(json!({ "spec": { "instanceName": "i-1" }, "status": null }));
    assert_eq!(told(&asked, marked([nameless])), "Ready True Available; Synced True Available; After(300s)");
}
