//! `terrace db` on claims that somebody else serves: here the test itself says how they are.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::process::{Output, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::platform::{Platform, SOON, wait};

const PASSWORD: &str = "Correct-Horse-7";
const GROUP: &str = "persistance.atlas.infoblox.com/v1";

/// How a command ended, and what it said.
#[derive(Debug)]
struct Told {
    code: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for Told {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

fn terrace(platform: &Platform, arguments: &[&str]) -> Told {
    let mut command = platform.command(env!("CARGO_BIN_EXE_terrace"));
    command.arg("db").args(arguments).args(["-n", &platform.namespace]);
    command.output().expect("the binary is there").into()
}

/// What stands at both ends of a command.
#[derive(Clone, Copy, PartialEq)]
enum Ends {
    Terminal,
    InputOnly,
    OutputOnly,
}

/// Runs `terrace db` at a terminal, or with only one of its ends there.
fn at_terminal(platform: &Platform, ends: Ends, arguments: &[&str]) -> Told {
    let nix::pty::OpenptyResult { master, slave } = nix::pty::openpty(None, None).expect("a terminal");
    let end = |slave: &OwnedFd| Stdio::from(slave.try_clone().expect("a second one"));
    let mut command = platform.command(env!("CARGO_BIN_EXE_terrace"));
    command.arg("db").args(arguments).args(["-n", &platform.namespace]);
    command.stdin(if ends == Ends::OutputOnly { Stdio::null() } else { end(&slave) });
    command.stdout(if ends == Ends::InputOnly { Stdio::piped() } else { end(&slave) });
    let child = command.stderr(Stdio::piped()).spawn().expect("the binary is there");
    // The terminal ends when nobody holds its other end any more.
    drop((command, slave));
    let screen = thread::spawn(move || {
        let (mut bytes, mut master) = (Vec::new(), File::from(master));
        // It ends with an error: that is how Linux says that the other end is closed.
        let _ = master.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let mut told = Told::from(child.wait_with_output().expect("it is ours"));
    told.out += &screen.join().expect("it reads to the end");
    told
}

fn apply(platform: &Platform, object: &Value) {
    platform.try_apply_object(object).unwrap_or_else(|error| panic!("{object}: {error}"));
}

/// Says how a claim is, as its controller would.
fn say(platform: &Platform, plural: &str, name: &str, status: &Value) {
    let patch = json!({ "status": status }).to_string();
    platform.kubectl(&["patch", plural, name, "--subresource=status", "--type=merge", "-p", &patch]);
}

fn ready(status: &str, reason: &str, message: &str) -> Value {
    json!([{
        "type": "Ready", "status": status, "reason": reason, "message": message, "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }])
}

fn connected(login: &str, issued: &str) -> Value {
    json!({
        "conditions": ready("True", "Available", "the login is valid"),
        "connectionInfo": {
            "userName": login, "hostName": "db.example.com", "port": "5432", "databaseName": "orders",
            "sslMode": "require", "userUpdatedAt": issued,
        },
    })
}

fn secret(name: &str) -> Value {
    let parts = json!({
        "hostname": "db.example.com", "port": "5432", "database": "orders", "username": "orders_a",
        "password": PASSWORD, "sslmode": "require",
    });
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": parts })
}

fn claim(name: &str) -> Value {
    json!({
        "apiVersion": GROUP, "kind": "DatabaseClaim", "metadata": { "name": name },
        "spec": { "class": "other", "userName": "orders", "databaseName": "orders", "secretName": "orders-db" },
    })
}

fn role(name: &str) -> Value {
    json!({
        "apiVersion": GROUP, "kind": "DbRoleClaim", "metadata": { "name": name },
        "spec": { "class": "other", "sourceDatabaseClaim": { "name": "orders" } },
    })
}

/// The records about passwords that were shown, and whether the trail is whole.
fn shown(platform: &Platform) -> Vec<Value> {
    let run = |arguments: &[&str]| {
        let mut command = platform.command(env!("CARGO_BIN_EXE_terrace"));
        Told::from(command.arg("audit").args(arguments).output().expect("the binary is there"))
    };
    let verified = run(&["--verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let told = run(&["--tool", "db dsn --show", "-o", "json"]);
    assert!(!told.out.contains(PASSWORD), "the trail holds a password");
    serde_json::from_str(&told.out).unwrap_or_else(|error| panic!("{error}: {told:?}"))
}

#[test]
fn claims_are_listed_told_rotated_and_shown() {
    let mut platform = Platform::start(&[]);
    apply(&platform, &claim("orders"));
    apply(&platform, &role("reports"));
    lists_and_tells(&platform);
    rotates(&platform);
    masks(&platform);
    shows_at_a_terminal_alone(&platform);
    asks_which_of_two(&platform);
    tells_what_may_not_be_read(&platform);
    shows_nothing_that_is_not_written_down(&platform);
    platform.stop("-TERM");
}

fn lists_and_tells(platform: &Platform) {
    let told = terrace(platform, &["status", "orders"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.out.contains("waiting for the controller of class other to take it up"), "{told:?}");
    let refused = json!({
        "conditions": ready("False", "LabelNotMatched", "no key matches"), "error": "no key matches athena",
    });
    say(platform, "databaseclaims", "orders", &refused);
    let told = terrace(platform, &["status", "orders", "--wait", "--timeout", "1s"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.err.contains("not done after 1 s"), "{told:?}");
    assert!(told.out.contains("error       no key matches athena"), "{told:?}");
    say(platform, "databaseclaims", "orders", &connected("orders_a", "2026-01-01T00:00:00Z"));
    let reports = json!({
        "username": "reports_a", "userUpdatedAt": "2026-01-01T00:00:00Z",
        "conditions": ready("True", "Available", "the login is valid"),
    });
    say(platform, "dbroleclaims", "reports", &reports);
    let told = terrace(platform, &["status", "orders", "--wait", "-o", "json"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    let object: Value = serde_json::from_str(&told.out).expect("JSON");
    assert_eq!(object["status"]["connectionInfo"]["userName"], "orders_a");
    let told = terrace(platform, &["list"]);
    let words: Vec<Vec<&str>> = told.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[1][..6], ["orders", "claim", "orders", "db.example.com:5432", "orders_a", "True"]);
    assert_eq!(words[2][..6], ["reports", "role", "orders", "db.example.com:5432", "reports_a", "True"]);
    let all: Value =
        serde_json::from_str(&terrace(platform, &["list", "-A", "-o", "json"]).out).expect("JSON");
    assert_eq!((&all[0]["name"], &all[1]["kind"]), (&json!("orders"), &json!("role")));
    let told = terrace(platform, &["status", "ordesr"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.err.contains("there are: orders, reports"), "{told:?}");
}

/// The value that a rotation was asked for with.
fn asked(platform: &Platform, plural: &str, name: &str) -> Option<String> {
    let path = r"jsonpath={.metadata.annotations.terrace\.dev/rotate}";
    Some(platform.kubectl(&["get", plural, name, "-o", path])).filter(|value| !value.is_empty())
}

fn rotates(platform: &Platform) {
    let begin = |name: &str| {
        let mut command = platform.command(env!("CARGO_BIN_EXE_terrace"));
        command.args(["db", "rotate", name, "-n", &platform.namespace]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary is there")
    };
    let rotation = begin("orders");
    let first = wait("a rotation to be asked for", SOON, || asked(platform, "databaseclaims", "orders"));
    say(platform, "databaseclaims", "orders", &connected("orders_b", "2026-01-02T00:00:00Z"));
    let told = Told::from(rotation.wait_with_output().expect("it is ours"));
    assert_eq!((told.code, told.out.as_str()), (Some(0), "orders_a -> orders_b\n"), "{told:?}");
    let rotation = begin("reports");
    wait("a rotation to be asked for", SOON, || asked(platform, "dbroleclaims", "reports"));
    let other = json!({ "username": "reports_b", "userUpdatedAt": "2026-01-02T00:00:00Z" });
    say(platform, "dbroleclaims", "reports", &other);
    let told = Told::from(rotation.wait_with_output().expect("it is ours"));
    assert_eq!((told.code, told.out.as_str()), (Some(0), "reports_a -> reports_b\n"), "{told:?}");
    let told = terrace(platform, &["rotate", "orders", "--timeout", "0s"]);
    assert_eq!(told.code, Some(1), "nobody rotates it: {told:?}");
    assert!(told.err.contains("orders is not rotated: not done after 0 s"), "{told:?}");
    let second = asked(platform, "databaseclaims", "orders");
    assert_ne!(second, Some(first), "each has a value of its own");
    let told = terrace(platform, &["rotate", "orders", "--no-wait"]);
    assert_eq!((told.code, told.out.as_str()), (Some(0), ""), "{told:?}");
    assert_ne!(asked(platform, "databaseclaims", "orders"), second);
}

fn masks(platform: &Platform) {
    let told = terrace(platform, &["dsn", "orders"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.err.contains("there is no Secret orders-db"), "{told:?}");
    apply(platform, &secret("orders-db"));
    let told = terrace(platform, &["dsn", "orders"]);
    let want = "host='db.example.com' port='5432' user='orders_a' password='********' dbname='orders' sslmode='require'\n";
    assert_eq!((told.code, told.out.as_str()), (Some(0), want), "{told:?}");
    let told = terrace(platform, &["dsn", "orders", "--uri"]);
    let want = "postgres://orders_a:********@db.example.com:5432/orders?sslmode=require\n";
    assert_eq!((told.code, told.out.as_str()), (Some(0), want), "{told:?}");
}

fn shows_at_a_terminal_alone(platform: &Platform) {
    for ends in [None, Some(Ends::InputOnly), Some(Ends::OutputOnly)] {
        let arguments = ["dsn", "orders", "--show"];
        let told = match ends {
            None => terrace(platform, &arguments),
            Some(ends) => at_terminal(platform, ends, &arguments),
        };
        assert_eq!((told.code, told.out.as_str()), (Some(2), ""), "{told:?}");
        assert!(told.err.contains("use the Secret orders-db in your program"), "{told:?}");
    }
    assert_eq!(shown(platform), Vec::<Value>::new(), "nothing was shown");
    let told = at_terminal(platform, Ends::Terminal, &["dsn", "orders", "--show"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(told.out.contains(&format!("password='{PASSWORD}'")), "{told:?}");
    let records = shown(platform);
    assert_eq!(records.len(), 1, "{records:?}");
    let subject = format!("{}/orders", platform.namespace);
    assert_eq!((&records[0]["subject"], &records[0]["outcome"]), (&json!(subject), &json!("done")));
    assert_eq!(records[0]["name"], "user:terrace-admin");
    assert!(records[0]["agent"].as_str().is_some_and(|agent| agent.starts_with("terrace/")), "{records:?}");
    let told = at_terminal(platform, Ends::Terminal, &["dsn", "orders", "--show", "--uri"]);
    assert!(told.out.contains(&format!("postgres://orders_a:{PASSWORD}@")), "{told:?}");
    let told = at_terminal(platform, Ends::Terminal, &["dsn", "orders"]);
    assert!(told.out.contains("'********'") && !told.out.contains(PASSWORD), "{told:?}");
    assert_eq!(shown(platform).len(), 2, "a mask leaves no record");
}

fn asks_which_of_two(platform: &Platform) {
    apply(platform, &role("orders"));
    for command in ["status", "rotate", "dsn"] {
        let told = terrace(platform, &[command, "orders"]);
        assert_eq!((told.code, told.out.as_str()), (Some(2), ""), "{told:?}");
        assert!(told.err.contains("`--role` means the DbRoleClaim"), "{told:?}");
    }
    assert!(terrace(platform, &["status", "orders", "--role"]).out.starts_with("kind        role\n"));
    assert!(terrace(platform, &["status", "orders", "--claim"]).out.starts_with("kind        claim\n"));
    platform.kubectl(&["delete", "dbroleclaim", "orders"]);
}

fn tells_what_may_not_be_read(platform: &Platform) {
    let kinds = "--resource=databaseclaims.persistance.atlas.infoblox.com,dbroleclaims.persistance.atlas.infoblox.com";
    platform.kubectl(&["create", "role", "looker", "--verb=get,list", kinds]);
    platform.kubectl(&["create", "rolebinding", "looker", "--role=looker", "--user=eve"]);
    let book = platform.kubectl(&["config", "view", "--raw", "-o", "json"]);
    let mut book: Value = serde_json::from_str(&book).expect("JSON");
    book["users"][0]["user"]["as"] = json!("eve");
    let file = platform.path().join("eve").to_string_lossy().into_owned();
    std::fs::write(&file, book.to_string()).expect("it is ours");
    let own = ["--kubeconfig", file.as_str()];
    let told = terrace(platform, &["status", "orders", own[0], own[1]]);
    assert_eq!(told.code, Some(0), "she may see the claim: {told:?}");
    let told = terrace(platform, &["dsn", "orders", own[0], own[1]]);
    assert_eq!((told.code, told.out.as_str()), (Some(1), ""), "{told:?}");
    assert!(told.err.contains("you may not read the Secret orders-db"), "{told:?}");
    assert!(told.err.contains("User \"eve\" cannot get resource \"secrets\""), "{told:?}");
    let told = terrace(platform, &["rotate", "orders", own[0], own[1]]);
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.err.contains("cannot patch resource \"databaseclaims\""), "{told:?}");
}

fn shows_nothing_that_is_not_written_down(platform: &Platform) {
    let (head, aside) = (platform.data().join("audit.head"), platform.data().join("audit.head.aside"));
    std::fs::rename(&head, &aside).expect("it is ours");
    std::fs::create_dir_all(head.join("in-the-way")).expect("it is ours");
    let told = at_terminal(platform, Ends::Terminal, &["dsn", "orders", "--show"]);
    assert_eq!((told.code, told.out.as_str()), (Some(1), ""), "{told:?}");
    assert!(told.err.contains("nothing is shown") && told.err.contains("cannot be written"), "{told:?}");
    std::fs::remove_dir_all(&head).expect("it is ours");
    std::fs::rename(&aside, &head).expect("it is ours");
    let told = at_terminal(platform, Ends::Terminal, &["dsn", "orders", "--show"]);
    assert_eq!(told.code, Some(0), "{told:?}");
}
