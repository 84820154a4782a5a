//! From the first start to the last end.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use ports::probe::{Finding, Purpose};
use ports::process::Cause;
use serde_json::{Value, json};

use super::super::plan::{Farewell, Found, Seen};
use super::{UID, ago, container, ended, now, plan, pod, running, told, world};

fn probed(value: &mut Value) {
    value["spec"]["containers"][0]["readinessProbe"] = json!({ "tcpSocket": { "port": 8080 } });
    value["spec"]["containers"][0]["livenessProbe"] = json!({ "httpGet": { "port": 8080, "path": "/" } });
}

fn found(
    readiness: Option<bool>,
    liveness: Option<bool>,
    trouble: Option<&str>,
) -> Option<BTreeMap<Purpose, Finding>> {
    let finding = |passes: Option<bool>| Finding {
        passes,
        trouble: trouble.filter(|_| passes != Some(true)).map(str::to_owned),
    };
    Some(BTreeMap::from([(Purpose::Readiness, finding(readiness)), (Purpose::Liveness, finding(liveness))]))
}

#[test]
fn a_container_starts_runs_and_starts_again() {
    let plain = |_: &mut Value| {};
    let unbound = |value: &mut Value| {
        value["spec"]["nodeName"].take();
        value["metadata"]["annotations"].take();
    };
    let elsewhere = |value: &mut Value| value["spec"]["nodeName"] = json!("other");
    let once = |value: &mut Value| value["spec"]["restartPolicy"] = json!("Never");
    let on_failure = |value: &mut Value| value["spec"]["restartPolicy"] = json!("OnFailure");
    let end = |cause, seconds, failures| Seen { state: ended(cause, seconds), failures, ..Seen::default() };
    let crash = || Cause::Exited(1);
    let start = "prepare; turn log; start";
    let table = [
        ("elsewhere", pod(elsewhere), Seen::default(), "-; -; -; OnChange".to_owned()),
        ("bound", pod(plain), Seen::default(), format!("{start} app-0; Running; running #0; ready; OnChange")),
        (
            "not bound",
            pod(unbound),
            Seen::default(),
            format!("bind to local; note {{\"terrace.dev/port.8080\":\"20009\"}}; {start} app-0; Running; running #0; ready; OnChange"),
        ),
        ("runs", pod(plain), Seen { state: running(60), ..Seen::default() }, "Running; running #0; ready; OnChange".into()),
        ("dies for the first time", pod(plain), end(crash(), 0, 1), format!("{start} app-1; Running; running #1; ready; OnChange")),
        (
            "dies again",
            pod(plain),
            end(crash(), 4, 2),
            "Running; waiting CrashLoopBackOff #0; unready; app ended with code 1: boom; 6000ms".into(),
        ),
        ("has rested", pod(plain), end(crash(), 10, 2), format!("{start} app-1; Running; running #1; ready; OnChange")),
        (
            "out of memory",
            pod(plain),
            end(Cause::OutOfMemory, 0, 9),
            "Running; waiting CrashLoopBackOff #0; unready; app held more memory than its limit: boom; 300000ms".into(),
        ),
        ("is done", pod(once), end(Cause::Exited(0), 0, 1), "Succeeded; terminated Completed #0; -; OnChange".into()),
        ("has failed", pod(once), end(crash(), 0, 1), "Failed; terminated Error #0; unready; OnChange".into()),
        ("is done, too", pod(on_failure), end(Cause::Exited(0), 0, 1), "Succeeded; terminated Completed #0; -; OnChange".into()),
        ("is tried again", pod(on_failure), end(crash(), 0, 1), format!("{start} app-1; Running; running #1; ready; OnChange")),
    ];
    for (what, pod, seen, want) in table {
        let mut world = world(seen);
        if pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_none()) {
            world.free.insert(8080, 20009);
        }
        assert_eq!(told(&pod, &world), want, "{what}");
    }
}

#[test]
fn probes_decide_who_is_ready_and_who_is_started_again() {
    let refused = Some("nothing listens on port 20001");
    let table = [
        ("nobody asks yet", None, "probe app-0; Running; running #0; unready; OnChange"),
        ("no answer yet", found(None, None, None), "Running; running #0; unready; OnChange"),
        (
            "nobody listens",
            found(None, None, refused),
            "Running; running #0; unready; readiness probe failed: nothing listens on port 20001 (told in PORT); OnChange",
        ),
        ("a good answer", found(Some(true), Some(true), None), "Running; running #0; ready; OnChange"),
        (
            "it answers no more",
            found(Some(false), Some(true), Some("no answer within 1 s")),
            "Running; running #0; unready; readiness probe failed: no answer within 1 s; OnChange",
        ),
        (
            "it is dead",
            found(Some(false), Some(false), Some("/ on port 20001 answered 500")),
            "stop app-0 within 30 s; Running; running #0; unready; liveness probe failed: / on port 20001 answered 500; OnChange",
        ),
    ];
    for (what, findings, want) in table {
        let seen = Seen { state: running(60), findings, ..Seen::default() };
        assert_eq!(told(&pod(probed), &world(seen)), want, "{what}");
    }
}

#[test]
fn who_was_ready_before_the_platform_started_again_stays_ready_until_asked() {
    let ready = pod(|value| {
        probed(value);
        value["status"] = json!({ "containerStatuses": [{ "name": "app", "image": "shop", "imageID": "", "ready": true,
            "restartCount": 0, "started": true, "containerID": format!("terrace://{UID}-app-0"),
            "state": { "running": { "startedAt": "2026-01-01T11:00:00Z" } } }] });
    });
    let seen = Seen { state: running(3600), ..Seen::default() };
    assert_eq!(told(&ready, &world(seen)), "probe app-0; Running; running #0; ready; OnChange");
}

#[test]
fn the_run_before_is_told_of_and_older_ones_are_forgotten() {
    let seen = Seen { attempt: 3, state: ended(Cause::Signaled(9), 300), failures: 4, ..Seen::default() };
    let told_of = told(&pod(|_| {}), &world(seen));
    assert_eq!(told_of, "prepare; turn log; start app-4; forget app-2; Running; running #4; ready; OnChange");
    let seen = Seen { attempt: 3, state: ended(Cause::Signaled(9), 300), failures: 4, ..Seen::default() };
    let status = plan(&pod(|_| {}), &world(seen)).status;
    let last =
        status.container_statuses.and_then(|all| all[0].last_state.clone()?.terminated).expect("it ended");
    assert_eq!((last.exit_code, last.signal, last.message.as_deref()), (137, Some(9), Some("boom")));
    assert_eq!(last.reason.as_deref(), Some("Error"));
}

#[test]
fn an_image_that_is_nowhere_is_waited_for() {
    let mut nowhere = world(Seen::default());
    nowhere.supplies.images.insert("shop".into(), Found::Nowhere);
    let status = plan(&pod(|_| {}), &nowhere).status;
    let first = serde_json::to_value(&status).expect("a status is JSON");
    assert_eq!(container(&first["containerStatuses"][0]), "waiting ErrImagePull #0");
    let again = plan(&pod(|value| value["status"] = first), &nowhere).status;
    let again = serde_json::to_value(&again).expect("a status is JSON");
    assert_eq!(container(&again["containerStatuses"][0]), "waiting ImagePullBackOff #0");
    let message = again["containerStatuses"][0]["state"]["waiting"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("image \"shop\"") && message.contains("podman"), "{message}");
}

#[test]
fn init_containers_run_one_after_the_other() {
    let init = pod(|value| {
        value["spec"]["initContainers"] =
            json!([{ "name": "one", "image": "shop" }, { "name": "two", "image": "shop" }]);
    });
    let stands = |one: Seen, two: Seen| {
        let mut world = world(Seen::default());
        world.seen.extend([("one".to_owned(), one), ("two".to_owned(), two)]);
        told(&init, &world)
    };
    let done = || Seen { state: ended(Cause::Exited(0), 1), ..Seen::default() };
    let start = "prepare; turn log; start";
    assert_eq!(
        stands(Seen::default(), Seen::default()),
        format!("{start} one-0; Pending; waiting PodInitializing #0; unready; OnChange")
    );
    assert_eq!(
        stands(done(), Seen { state: ended(Cause::Exited(2), 1), failures: 2, ..Seen::default() }),
        "Pending; waiting PodInitializing #0; unready; two ended with code 2: boom; 9000ms"
    );
    assert_eq!(stands(done(), done()), format!("{start} app-0; Running; running #0; ready; OnChange"));
}

#[test]
fn a_pod_ends_without_losing_a_request() {
    let leaving = |ready: bool| {
        pod(|value| {
            value["metadata"]["deletionTimestamp"] = json!("2026-01-01T12:00:28Z");
            value["metadata"]["deletionGracePeriodSeconds"] = json!(30);
            let status = if ready { "True" } else { "False" };
            value["status"] = json!({ "conditions": [{ "type": "Ready", "status": status }] });
        })
    };
    let quiet = |seconds: i64, requests| Farewell { quiet_since: Some(ago(seconds)), requests };
    let runs = || Seen { state: running(60), ..Seen::default() };
    let gone = || Seen {
        attempt: 1,
        state: ended(Cause::Signaled(15), 0),
        before: None,
        findings: found(None, None, None),
        ..Seen::default()
    };
    let table = [
        (
            "first it is ready for nobody",
            leaving(true),
            runs(),
            Farewell::default(),
            "-; -; the pod is going away; 100ms",
        ),
        ("somebody may still be sent", leaving(false), runs(), Farewell::default(), "-; -; -; 100ms"),
        ("somebody is being answered", leaving(false), runs(), quiet(1, 3), "-; -; -; 100ms"),
        ("somebody may be on the way", leaving(false), runs(), quiet(0, 0), "-; -; -; 100ms"),
        ("nobody is left", leaving(false), runs(), quiet(1, 0), "stop app-0 within 28 s; -; -; -; 5000ms"),
        (
            "all has ended",
            leaving(false),
            gone(),
            quiet(1, 0),
            "probe app-1 no more; forget app-1; remove its directory; remove its logs; delete Pod ns/a; -; -; -; OnChange",
        ),
        (
            "it never started",
            leaving(false),
            Seen::default(),
            quiet(0, 0),
            "remove its directory; remove its logs; delete Pod ns/a; -; -; -; OnChange",
        ),
    ];
    for (what, pod, seen, farewell, want) in table {
        let mut world = world(seen);
        world.farewell = Some(farewell);
        assert_eq!(told(&pod, &world), want, "{what}");
    }
    let mut late = world(runs());
    late.now = now().checked_add(SignedDuration::from_secs(9)).expect("a time");
    late.farewell = Some(quiet(0, 3));
    assert_eq!(
        told(&leaving(false), &late),
        "stop app-0 within 19 s; -; -; -; 5000ms",
        "no request may hold it for ever"
    );
}
