//! When passwords change, and who notices.

use std::sync::Arc;
use std::time::Duration;

use api::annotations::{ISSUED_AT, ROTATE};
use api::conditions::READY;
use api::names::RoleName;
use api::secret::Sealed;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kit::Name;
use kit::testing::Trouble;
use ports::admin::{Act, Admin, Powers, Title};
use serde_json::json;

use super::{PERIOD, STATIC, Stage, server, title, value, with};
use crate::claims::logins::{Hour, Pair};
use crate::claims::secret::{Held, Issued};

const HOST: &str = "db.example";

async fn shop(text: &str) -> (Stage, Name) {
    let stage = Stage::new(text).await;
    let name = stage.served("shop", with(json!({ "instanceLabel": "athena" }))).await;
    (stage, name)
}

/// What is known: the login of the Secret, how old it is in minutes, whether it gets in, what is asked, what the status tells.
type Known<'a> = (Option<(&'a str, Option<i64>)>, Option<bool>, Option<&'a str>, Option<&'a str>);

/// Why a password changes, and which login is published then.
fn turned((held, gets_in, asked, told): Known<'_>) -> String {
    let now = Timestamp::UNIX_EPOCH + Duration::from_secs(1_000_000);
    let issued = |(username, age): (&str, Option<i64>)| Issued {
        username: username.to_owned(),
        password: Sealed::new("old".to_owned()),
        at: age.map(|age| now - jiff::SignedDuration::from_mins(age)),
        asked: Some("first".to_owned()),
        ..Issued::default()
    };
    let (held, asked) =
        (held.map_or(Held::Nothing, |held| Held::Ours(issued(held))), asked.map(str::to_owned));
    let fresh = Sealed::new("new".to_owned());
    let hour = Hour { now, period: PERIOD, held: &held, gets_in, asked: asked.as_ref(), told, fresh: &fresh };
    let (stem, server): (RoleName, _) = ("shop".parse().expect("a name"), Arc::new(server(HOST)));
    let title = Title::to_own("mark");
    let pair = Pair {
        server: &server,
        database: "shop",
        stem: &stem,
        owner: "shop",
        powers: Powers::default(),
        title: &title,
    };
    let (steps, published) = pair.turn(&hour);
    let why = hour.why(&stem).map_or_else(|| "stays".to_owned(), |why| format!("{why:?}"));
    assert_eq!(steps.len(), usize::from(why != "stays"));
    assert_eq!(published.password.open() == "new", why != "stays");
    format!("{why} {}", published.username)
}

#[test]
fn every_situation_of_a_login_has_its_turn() {
    let (a, b) = ("shop_a", "shop_b");
    let held = |login, age| Some((login, Some(age)));
    let good = Some(true);
    let table: [(&str, Known<'_>, &str); 18] = [
        ("nothing yet", (None, None, None, None), "First shop_a"),
        ("a is young", (held(a, 5), good, None, Some(a)), "stays shop_a"),
        ("b is young", (held(b, 5), good, None, Some(b)), "stays shop_b"),
        ("a is old", (held(a, 60), good, None, Some(a)), "Due shop_b"),
        ("b is old", (held(b, 61), good, None, Some(b)), "Due shop_a"),
        ("almost", (held(a, 59), good, None, Some(a)), "stays shop_a"),
        ("nobody tried", (held(a, 5), None, None, Some(a)), "stays shop_a"),
        ("a is refused", (held(a, 5), Some(false), None, Some(a)), "Refused shop_b"),
        ("b is refused", (held(b, 5), Some(false), None, Some(b)), "Refused shop_a"),
        ("the other name is refused", (held(b, 5), Some(false), None, Some(a)), "Refused shop_b"),
        ("the wish of before", (held(a, 5), good, Some("first"), Some(a)), "stays shop_a"),
        ("a new wish", (held(a, 5), good, Some("second"), Some(a)), "Asked shop_b"),
        ("a wish taken back", (held(b, 5), good, None, Some(b)), "stays shop_b"),
        ("the Secret is gone", (None, None, None, Some(a)), "Lost shop_b"),
        ("the Secret of b is gone", (None, None, None, Some(b)), "Lost shop_a"),
        ("another name", (held("root", 5), None, None, Some(a)), "Lost shop_b"),
        ("no time", (Some((a, None)), good, None, Some(a)), "Due shop_b"),
        ("a time to come", (held(a, -600), good, None, Some(a)), "Due shop_b"),
    ];
    for (row, known, want) in table {
        assert_eq!(turned(known), want, "{row}");
    }
}

#[tokio::test]
async fn a_wish_is_granted_exactly_once() {
    let (stage, name) = shop(STATIC).await;
    for (wish, want) in [("one", "shop_b"), ("one", "shop_b"), ("two", "shop_a")] {
        stage.patch(&name, json!({ "metadata": { "annotations": { ROTATE: wish } } })).await;
        for _ in 0..3 {
            stage.pass(&name).await.expect("a pass");
        }
        let login = stage.login(&name).await;
        assert_eq!(login.role, want, "{wish}");
        assert!(stage.gets_in(HOST, &login).await);
    }
    stage.patch(&name, json!({ "metadata": { "annotations": { ROTATE: null } } })).await;
    stage.pass(&name).await.expect("a pass");
    assert_eq!(stage.login(&name).await.role, "shop_a", "a wish that is taken back is none");
}

#[tokio::test]
async fn a_password_lasts_two_periods_and_nobody_is_cut_off() {
    let (stage, name) = shop(STATIC).await;
    let first = stage.login(&name).await;
    let session = stage.fake.connect(&server(HOST), &first).expect("a session");
    let mut before = first.clone();
    for turn in 1..=50 {
        stage.bench.clock().advance(PERIOD);
        stage.pass(&name).await.expect("a pass");
        let now = stage.login(&name).await;
        assert_ne!(now.role, before.role, "turn {turn}");
        assert!(stage.gets_in(HOST, &now).await && stage.gets_in(HOST, &before).await, "turn {turn}");
        assert_eq!(stage.gets_in(HOST, &first).await, turn < 2, "turn {turn}");
        assert!(session.is_open(), "turn {turn}");
        before = now;
    }
    let status = stage.status(&name).await;
    assert_eq!(status.connection_info.and_then(|info| info.user_name), Some(before.role));
    assert_eq!(status.drift, Vec::new());
}

#[tokio::test]
async fn what_is_published_is_mended_whoever_broke_it() {
    let (stage, name) = shop(STATIC).await;
    for row in ["deleted", "username", "password", "issued-at", "elsewhere", "locked", "both locked"] {
        let (before, place) = (stage.login(&name).await, server(HOST));
        let other = if before.role == "shop_a" { "shop_b" } else { "shop_a" };
        let lock = |role: &str| Act::Lock { role: role.to_owned(), title: title(&name) };
        let act = async |act: Act| stage.fake.act(&place, &act).await.expect("it is done");
        let edit = async |patch| stage.bench.patch::<Secret>(&name, patch).await;
        match row {
            "deleted" => stage.bench.delete::<Secret>(&name).await,
            "username" => edit(json!({ "stringData": { "username": "root" } })).await,
            "password" => edit(json!({ "stringData": { "password": "wrong" } })).await,
            "issued-at" => edit(json!({ "metadata": { "annotations": { ISSUED_AT: "yesterday" } } })).await,
            "elsewhere" => {
                let password = Sealed::new("changed".to_owned());
                act(Act::SetPassword { role: before.role.clone(), password, title: title(&name) }).await;
            }
            "locked" => act(lock(&before.role)).await,
            _ => {
                act(lock(&before.role)).await;
                act(lock(other)).await;
            }
        }
        stage.pass(&name).await.expect("a pass");
        let after = stage.login(&name).await;
        assert_eq!(after.role, other, "{row}");
        assert!(stage.gets_in(HOST, &after).await, "{row}");
        stage.bench.gate().take();
        stage.pass(&name).await.expect("a pass");
        assert_eq!(stage.login(&name).await, after, "{row}: once is enough");
        assert_eq!(stage.told(&name, READY).await, "True Available", "{row}");
    }
}

#[tokio::test]
async fn whatever_breaks_in_a_rotation_the_published_login_gets_in() {
    let (stage, name) = shop(STATIC).await;
    stage.bench.clock().advance(PERIOD);
    stage.bench.gate().take();
    stage.pass(&name).await.expect("an undisturbed rotation");
    let calls = stage.bench.gate().take();
    assert!(calls.iter().any(|call| call.what == "admin SetPassword"), "it is a rotation: {calls:?}");
    for nth in 1..=calls.len() {
        for trouble in Trouble::ALL {
            let before = stage.login(&name).await;
            stage.bench.clock().advance(PERIOD);
            let call = &calls[nth - 1];
            stage.bench.gate().arm(nth, trouble);
            let _ = stage.bench.attempt(&stage.room, &name).await;
            let login = stage.login(&name).await;
            assert!(stage.gets_in(HOST, &login).await, "{call} {trouble:?}");
            assert!(stage.gets_in(HOST, &before).await, "{call} {trouble:?}: the one before");
            stage.pass(&name).await.expect("a pass");
            let after = stage.login(&name).await;
            assert_ne!(after, before, "{call} {trouble:?}: it is made up for");
            assert!(stage.gets_in(HOST, &after).await, "{call} {trouble:?}");
        }
    }
}

#[tokio::test]
async fn a_longer_period_and_longer_passwords_are_kept_to() {
    let text = format!("passwordConfig: {{ passwordRotationPeriod: 120, minPasswordLength: 40 }}\n{STATIC}");
    let (stage, name) = shop(&text).await;
    assert_eq!(value(&stage.secret(&name).await, "password").len(), 40);
    for (advanced, want) in [(119, "shop_a"), (1, "shop_b")] {
        stage.bench.clock().advance(Duration::from_secs(60 * advanced));
        stage.pass(&name).await.expect("a pass");
        assert_eq!(stage.login(&name).await.role, want);
    }
}
