//! The trail that calls leave: whoever changes it is found.

use serde_json::json;

use crate::agent::{Agent, token};
use crate::platform::Platform;

fn verify(platform: &Platform) -> Result<String, String> {
    let output = platform
        .command(env!("CARGO_BIN_EXE_terrace"))
        .args(["audit", "--verify"])
        .output()
        .expect("the binary is there");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let told = text(&output.stdout) + &text(&output.stderr);
    if output.status.success() { Ok(told) } else { Err(told) }
}

#[test]
fn a_record_that_is_changed_removed_or_moved_is_found() {
    let mut platform = Platform::start(&[]);
    let secret = "an-argument-nobody-should-read";
    let agent = Agent::new(&platform, Some(&token(&platform, "one", &["--session"])));
    let session = agent.register();
    for number in 0..8 {
        agent.call("app_status", json!({ "session_id": session, "name": format!("{secret}-{number}") }));
    }
    let told = verify(&platform).expect("it is unbroken");
    assert!(told.contains("9 records"), "{told}");
    platform.stop("-TERM");
    platform.rise();
    agent_again(&platform, &session);
    assert!(verify(&platform).is_ok(), "a restart breaks nothing");

    let trail = platform.data().join("audit.log");
    let good = std::fs::read_to_string(&trail).expect("there is a trail");
    assert!(!good.contains(secret), "arguments are kept as a digest only");
    let lines: Vec<&str> = good.lines().collect();
    let joined = |lines: Vec<&str>| lines.join("\n") + "\n";
    let without =
        |gone: usize| joined(lines.iter().enumerate().filter(|(n, _)| *n != gone).map(|(_, l)| *l).collect());
    let mut bad: Vec<(String, String)> = Vec::new();
    for number in 0..lines.len() {
        bad.push((format!("record {number} removed"), without(number)));
        let changed = lines[number].replacen("\"outcome\":\"", "\"outcome\":\"x", 1);
        let mut all = lines.clone();
        all[number] = &changed;
        bad.push((format!("record {number} changed"), joined(all)));
        if number > 0 {
            let mut all = lines.clone();
            all.swap(number - 1, number);
            bad.push((format!("records {} and {number} swapped", number - 1), joined(all)));
        }
    }
    bad.push(("everything removed".into(), String::new()));
    for (what, text) in bad {
        std::fs::write(&trail, text).expect("it is ours");
        assert!(verify(&platform).is_err(), "{what}: not found");
    }
    std::fs::remove_file(&trail).expect("it is ours");
    assert!(verify(&platform).is_err(), "the file removed: not found");
    std::fs::write(&trail, &good).expect("it is ours");
    assert!(verify(&platform).is_ok(), "as it was, it is good");
    platform.stop("-TERM");
}

fn agent_again(platform: &Platform, session: &str) {
    let agent = Agent::new(platform, Some(&token(platform, "two", &["--session"])));
    assert!(agent.refused("list_apps", json!({ "session_id": session })).contains("no session"));
}
