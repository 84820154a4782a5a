//! What a person has to agree to: nobody else can, and not twice.

use serde_json::{Value, json};

use crate::agent::{Agent, Answer, token};
use crate::platform::{Platform, SOON, wait};

fn agreed() -> Value {
    json!({ "confirm": { "action": "accept", "content": { "agree": true } } })
}

/// The call again, with what came back from a person and what went out to them.
fn again(agent: &Agent, tool: &str, arguments: &Value, responses: Value, state: &str) -> Answer {
    let params = json!({
        "name": tool, "arguments": arguments, "inputResponses": responses, "requestState": state,
    });
    agent.request("tools/call", Some(tool), params)
}

#[test]
fn a_confirmation_cannot_be_faked() {
    let mut platform = Platform::start(&[]);
    let (one, other) = (token(&platform, "one", &["--session"]), token(&platform, "other", &["--session"]));
    let (one, other) = (Agent::new(&platform, Some(&one)), Agent::new(&platform, Some(&other)));
    let session = one.register();
    let db = |name: &str| json!({ "session_id": session, "name": name });
    for name in ["a", "b"] {
        let asked = json!({ "session_id": session, "name": name, "type": "postgres", "plan": "micro" });
        one.done("provision_service", asked);
    }
    let ask = |name: &str| -> String {
        let answer = one.done("deprovision_service", db(name));
        assert_eq!(answer["resultType"], "input_required", "{answer}");
        let message = &answer["inputRequests"]["confirm"]["params"]["message"];
        assert!(message.as_str().is_some_and(|message| message.contains(name)), "{answer}");
        answer["requestState"].as_str().expect("it is sealed").to_owned()
    };
    let there = |name: &str| one.done("service_status", db(name))["phase"] != "Deleting";
    let refused = |agent: &Agent, name: &str, responses: Value, state: &str, why: &str| {
        let answer = again(agent, "deprovision_service", &db(name), responses, state).tool();
        let words = answer.expect_err("nothing else is agreed to");
        assert!(words.contains(why), "{words}");
        assert!(there("a") && there("b"), "{why}: something was deleted");
    };

    // A boolean is no confirmation, wherever it stands.
    let mut eager = db("a");
    eager["confirm"] = true.into();
    assert!(one.refused("deprovision_service", eager).contains("takes no confirm"));
    let bare = again(&one, "deprovision_service", &db("a"), agreed(), "");
    assert!(bare.tool().is_err(), "an empty seal is none");
    let params = json!({ "name": "deprovision_service", "arguments": db("a"), "inputResponses": agreed() });
    let unsealed = one.request("tools/call", Some("deprovision_service"), params).tool().expect("it asks");
    assert_eq!(unsealed["resultType"], "input_required", "an answer to no question is none");

    // Tampered with, for something else, by somebody else.
    let state = ask("a");
    let (front, back) = state.split_at(state.len() / 2);
    let turned: String = back.chars().rev().collect();
    refused(&one, "a", agreed(), &format!("{front}{turned}"), "not valid");
    refused(&one, "b", agreed(), &state, "not valid");
    refused(&other, "a", agreed(), &state, "no");
    // Declined, cancelled, or agreed without the box.
    for answer in [
        json!({ "confirm": { "action": "decline" } }),
        json!({ "confirm": { "action": "cancel" } }),
        json!({ "confirm": { "action": "accept", "content": { "agree": false } } }),
        json!({ "confirm": { "action": "accept", "content": { "agree": "true" } } }),
        json!({ "confirm": { "action": "accept" } }),
    ] {
        refused(&one, "a", answer, &ask("a"), "nothing was changed");
    }
    let unanswered =
        again(&one, "deprovision_service", &db("a"), json!({}), &ask("a")).tool().expect("it asks");
    assert_eq!(unanswered["resultType"], "input_required", "who has not answered is asked again");
    // Once refused, a seal is used up.
    let state = ask("a");
    refused(&one, "a", json!({ "confirm": { "action": "decline" } }), &state, "did not agree");
    refused(&one, "a", agreed(), &state, "has been used");

    // Agreed: done, and never a second time.
    let state = ask("a");
    let done =
        again(&one, "deprovision_service", &db("a"), agreed(), &state).tool().expect("it is agreed to");
    assert!(done["resultType"].is_null(), "{done}");
    wait("a to be gone", SOON, || one.call("service_status", db("a")).tool().is_err().then_some(()));
    let made = json!({ "session_id": session, "name": "a", "type": "postgres", "plan": "micro" });
    one.done("provision_service", made);
    let replayed = again(&one, "deprovision_service", &db("a"), agreed(), &state).tool();
    assert!(replayed.expect_err("it was used").contains("has been used"));
    assert!(there("a"));

    // A client that cannot ask is told what a person can type.
    let words = one.clone().alone().refused("deprovision_service", db("a"));
    assert!(
        words.contains("terrace service delete a") && words.contains(&format!("iaf-{session}")),
        "{words}"
    );
    let words = one.clone().alone().refused("unregister", json!({ "session_id": session }));
    assert!(words.contains("terrace session delete"), "{words}");
    platform.stop("-TERM");
}
