//! Who leads, row by row.

use std::collections::BTreeSet;

use jiff::ToSpan;
use ports::postgres::{Facts, Instance, Number, Run, Seen, There};
use serde_json::json;

use super::super::plan::{World, plan};
use super::{KEEP, acts, cluster, empty, ended, fenced, settled, start, starting, stopped, up};

/// Instances by their numbers.
type Set = Vec<(Number, There)>;

/// What is done about these instances, some of which count as synchronous, after so many seconds.
fn done(instances: Set, synchronous: &[Number], seconds: i64) -> String {
    let cluster = cluster(json!({ "instances": instances.len() }));
    let synchronous: BTreeSet<Number> = synchronous.iter().copied().collect();
    let mut world = settled(&cluster, instances, empty());
    world.seen.synchronous.clone_from(&synchronous);
    world.now = start() + seconds.seconds();
    // The primary knows whom it serves and waits for.
    let streaming: Vec<(Number, Facts)> =
        facts(&world.seen).into_iter().filter(|(_, facts)| facts.streaming).collect();
    for instance in world.seen.instances.values_mut() {
        if let Instance::There(There { run: Run::Up(facts), .. }) = instance
            && !facts.in_recovery
        {
            facts.waits_for.clone_from(&synchronous);
            facts.serves = streaming.iter().map(|(number, facts)| (*number, facts.lsn)).collect();
        }
    }
    let plan = plan(KEEP, &cluster, &world).expect("a plan");
    let phase = plan.status.phase.unwrap_or_default();
    format!("{} | {phase}", acts(&plan.steps))
}

fn facts(seen: &Seen) -> Vec<(Number, Facts)> {
    let of = |(number, instance): (&Number, &Instance)| match instance {
        Instance::There(There { run: Run::Up(facts), .. }) => Some((*number, facts.clone())),
        _ => None,
    };
    seen.instances.iter().filter_map(of).collect()
}

/// Three instances, the first of which leads as given.
fn three(first: There) -> Set {
    vec![(1, first), (2, up(2, true, 10)), (3, up(3, true, 10))]
}

fn with(mut instances: Set, number: Number, there: There) -> Set {
    instances.retain(|(held, _)| *held != number);
    instances.push((number, there));
    instances
}

fn quiet(there: There) -> There {
    match there.run {
        Run::Up(facts) => There { run: Run::Up(Facts { streaming: false, ..facts }), ..there },
        _ => there,
    }
}

fn on_timeline(there: There, timeline: u32) -> There {
    match there.run {
        Run::Up(facts) => There { run: Run::Up(Facts { timeline, ..facts }), ..there },
        _ => there,
    }
}

const OVER: &str = "Failing over";
const COMING: &str = "Waiting for the instances to become active";
const HEALTHY: &str = "Cluster in healthy state";
const LOST: &str = "Cluster is unrecoverable and needs manual intervention";

#[test]
fn a_standby_takes_over_only_if_nothing_that_was_acknowledged_is_lost() {
    let primary = || up(1, false, 10);
    let dead = || ended(primary(), 0);
    let gone = |number| ended(up(number, true, 10), 1);
    let ahead = |number| up(number, true, 12);
    let table: Vec<(&str, Set, &[Number], i64, String)> = vec![
        ("all is well", three(primary()), &[2, 3], 0, format!(" | {HEALTHY}")),
        ("it died: of equals the first", three(dead()), &[2, 3], 0, format!("fence 1, promote 2 | {OVER}")),
        (
            "it died: the one that has most",
            with(three(dead()), 3, ahead(3)),
            &[2, 3],
            0,
            format!("fence 1, promote 3 | {OVER}"),
        ),
        (
            "one that has more but does not count is not asked",
            with(three(dead()), 3, ahead(3)),
            &[2],
            0,
            format!("fence 1, promote 2 | {OVER}"),
        ),
        (
            "one of those that count cannot be asked",
            with(three(dead()), 3, gone(3)),
            &[2, 3],
            0,
            format!("start 1 | {COMING}"),
        ),
        (
            "one that does not count cannot be asked",
            with(three(dead()), 3, gone(3)),
            &[2],
            0,
            format!("fence 1, promote 2 | {OVER}"),
        ),
        ("nobody counts", three(dead()), &[], 0, format!("start 1 | {COMING}")),
        (
            "it counted, and is gone for good",
            with(three(dead()), 2, up(2, true, 10)),
            &[2, 9],
            0,
            format!("start 1 | {COMING}"),
        ),
        ("it was stopped", three(stopped(primary())), &[2, 3], 0, format!("start 1 | {COMING}")),
        ("silent for a while", three(starting(primary(), None)), &[2, 3], 10, format!(" | {COMING}")),
        (
            "silent for too long",
            three(starting(primary(), None)),
            &[2, 3],
            11,
            format!("fence 1, promote 2 | {OVER}"),
        ),
        (
            "starting, and says so",
            three(starting(primary(), Some("it is starting up"))),
            &[2, 3],
            600,
            format!(" | {COMING}"),
        ),
        (
            "silent, and nobody can take over",
            three(starting(primary(), None)),
            &[],
            60,
            format!(" | {COMING}"),
        ),
        (
            "silent for a minute, and nobody can take over",
            three(starting(primary(), None)),
            &[],
            61,
            format!("kill 1, start 1 | {COMING}"),
        ),
        (
            "damaged, and another can",
            three(There { major: None, ..dead() }),
            &[2, 3],
            0,
            format!("fence 1, promote 2 | {OVER}"),
        ),
        ("damaged, and nobody can", three(There { major: None, ..dead() }), &[], 0, format!(" | {LOST}")),
    ];
    for (what, instances, synchronous, seconds, want) in table {
        assert_eq!(done(instances, synchronous, seconds), want, "{what}");
    }
}

#[test]
fn what_was_begun_when_the_platform_ended_is_brought_to_its_end() {
    let aside = || fenced(up(1, false, 10));
    let ahead = |number| up(number, true, 12);
    let table: Vec<(&str, Set, &[Number], String)> = vec![
        ("fenced, and not promoted", three(aside()), &[2, 3], format!("promote 2 | {OVER}")),
        ("the one that has most", with(three(aside()), 3, ahead(3)), &[2, 3], format!("promote 3 | {OVER}")),
        (
            "nobody remembers who counts, but all can be asked",
            with(three(aside()), 3, ahead(3)),
            &[],
            format!("promote 3 | {OVER}"),
        ),
        (
            "the standbys are not up yet",
            with(with(three(aside()), 2, stopped(up(2, true, 10))), 3, stopped(up(3, true, 10))),
            &[2, 3],
            format!("start 2, start 3 | {COMING}"),
        ),
        (
            "no standby can be asked",
            with(with(three(aside()), 2, ended(up(2, true, 10), 3)), 3, ended(up(3, true, 10), 3)),
            &[2, 3],
            format!("unfence 1, start 1 | {COMING}"),
        ),
        (
            "one standby can be asked, and it may not have all",
            with(three(aside()), 2, ended(up(2, true, 10), 3)),
            &[2, 3],
            format!("unfence 1, start 1 | {COMING}"),
        ),
        (
            "promoted, and the old one is still aside",
            with(vec![(1, aside()), (3, quiet(up(3, true, 10)))], 2, on_timeline(up(2, false, 10), 2)),
            &[],
            format!("3 follows 2, 1 rejoins 2 | {COMING}"),
        ),
        (
            "promoted, before its directory says so",
            with(
                vec![(1, aside()), (3, quiet(up(3, true, 10)))],
                2,
                There { standby: true, ..on_timeline(up(2, false, 10), 2) },
            ),
            &[],
            format!("3 follows 2, 1 rejoins 2 | {COMING}"),
        ),
        (
            "two would take writes",
            with(three(up(1, false, 12)), 2, on_timeline(up(2, false, 10), 2)),
            &[],
            format!("fence 1 | {OVER}"),
        ),
        (
            "two would take writes, and one runs",
            with(three(stopped(up(1, false, 12))), 2, on_timeline(up(2, false, 10), 2)),
            &[],
            format!("fence 1 | {OVER}"),
        ),
    ];
    for (what, instances, synchronous, want) in table {
        // Which standby is named first says nothing.
        let got = done(instances, synchronous, 0);
        let sorted = |line: &str| {
            let (steps, phase) = line.split_once(" | ").unwrap_or((line, ""));
            let mut steps: Vec<String> = steps.split(", ").map(str::to_owned).collect();
            if !phase.starts_with("Failing") {
                steps.sort();
            }
            format!("{} | {phase}", steps.join(", "))
        };
        let want = if want.starts_with("unfence") { want } else { sorted(&want) };
        let got = if got.starts_with("unfence") { got } else { sorted(&got) };
        assert_eq!(got, want, "{what}");
    }
}

#[test]
fn the_primary_waits_for_those_that_receive_and_for_nobody_else() {
    let primary = || up(1, false, 10);
    let far = || There {
        run: Run::Up(Facts { lsn: ports::postgres::Lsn(64 << 20), ..facts_of(up(1, false, 0)) }),
        ..primary()
    };
    let table: Vec<(&str, Set, &[Number], String)> = vec![
        ("two have come", three(primary()), &[], format!("1 waits for {{2, 3}} | {HEALTHY}")),
        ("one more has come", three(primary()), &[2], format!("1 waits for {{2, 3}} | {HEALTHY}")),
        (
            "one receives nothing",
            with(three(primary()), 3, quiet(up(3, true, 10))),
            &[2, 3],
            format!("1 waits for {{2}} | {COMING}"),
        ),
        (
            "one has ended",
            with(three(primary()), 3, ended(up(3, true, 10), 0)),
            &[2, 3],
            format!("1 waits for {{2}}, start 3 | {COMING}"),
        ),
        (
            "none receives",
            with(with(three(primary()), 3, quiet(up(3, true, 10))), 2, quiet(up(2, true, 10))),
            &[2, 3],
            format!("1 waits for {{}} | {COMING}"),
        ),
        ("far behind, and not counted yet", three(far()), &[], format!(" | {HEALTHY}")),
        ("far behind, but counted", three(far()), &[2, 3], format!(" | {HEALTHY}")),
    ];
    for (what, instances, synchronous, want) in table {
        assert_eq!(done(instances, synchronous, 0), want, "{what}");
    }
}

fn facts_of(there: There) -> Facts {
    match there.run {
        Run::Up(facts) => facts,
        _ => Facts::default(),
    }
}

#[test]
fn a_standby_is_started_led_and_made_anew() {
    let primary = || up(1, false, 10);
    let set = |third: There| with(three(primary()), 3, third);
    let elsewhere = There { follows: Some(1), ..up(3, true, 10) };
    let table: Vec<(&str, There, &[Number], i64, String)> = vec![
        ("it is not started", stopped(up(3, true, 10)), &[2], 0, format!("start 3 | {COMING}")),
        ("it has just failed", ended(up(3, true, 10), 2), &[2], 1, format!(" | {COMING}")),
        ("it has rested", ended(up(3, true, 10), 2), &[2], 2, format!("start 3 | {COMING}")),
        ("it fails again and again", ended(up(3, true, 10), 4), &[2], 0, format!("3 rejoins 1 | {COMING}")),
        ("it hangs", starting(up(3, true, 10), None), &[2], 61, format!("kill 3 | {COMING}")),
        ("it is slow", starting(up(3, true, 10), None), &[2], 60, format!(" | {COMING}")),
        ("it follows nobody of today", quiet(elsewhere), &[2], 0, format!("3 follows 1 | {COMING}")),
        ("it was put aside", fenced(up(3, true, 10)), &[2], 0, format!("3 rejoins 1 | {COMING}")),
        (
            "it is damaged",
            There { major: None, ..stopped(up(3, true, 10)) },
            &[2],
            0,
            format!("remove 3 | {COMING}"),
        ),
    ];
    for (what, third, synchronous, seconds, want) in table {
        assert_eq!(done(set(third), synchronous, seconds), want, "{what}");
    }
}

#[test]
fn a_standby_that_receives_nothing_for_a_minute_rejoins() {
    let cluster = cluster(json!({ "instances": 2 }));
    let instances = vec![(1, up(1, false, 10)), (2, quiet(up(2, true, 10)))];
    let world = settled(&cluster, instances, empty());
    let after = |seconds: i64| {
        let now = start() + seconds.seconds();
        let world = World { now, silent: [(2, start())].into(), ..world.clone() };
        acts(&plan(KEEP, &cluster, &world).expect("a plan").steps)
    };
    assert_eq!(after(60), "");
    assert_eq!(after(61), "stop 2, 2 rejoins 1");
}

#[test]
fn a_single_instance_that_ends_is_started_again_with_growing_pauses() {
    let table = [
        (0, 0, "start 1"),
        (1, 0, ""),
        (1, 1, "start 1"),
        (3, 3, ""),
        (3, 4, "start 1"),
        (9, 29, ""),
        (9, 30, "start 1"),
        (90, 30, "start 1"),
    ];
    for (failures, seconds, want) in table {
        let got = done(vec![(1, ended(up(1, false, 10), failures))], &[], seconds);
        assert_eq!(got, format!("{want} | {COMING}"), "{failures} failures, {seconds} s ago");
    }
}
