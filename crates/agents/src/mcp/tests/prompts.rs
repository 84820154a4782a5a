//! Guides.

use serde_json::{Value, json};

use super::stage::{Stage, Visitor};
use crate::identity::Role;
use crate::mcp::prompts::LANGUAGES;

async fn got(visitor: &Visitor<'_>, name: &str, arguments: Value) -> String {
    let prompt = visitor.ask("prompts/get", json!({ "name": name, "arguments": arguments })).await;
    prompt["messages"][0]["content"]["text"].as_str().unwrap_or(&prompt.to_string()).to_owned()
}

#[tokio::test]
async fn guides_say_what_the_seeds_ask_for() {
    let stage = Stage::open().await;
    let ann = stage.token("ann", Role::Session).await;
    let listed = ann.ask("prompts/list", json!({})).await;
    let names: Vec<&Value> =
        listed["prompts"].as_array().expect("prompts").iter().map(|prompt| &prompt["name"]).collect();
    assert_eq!(names, ["deploy-guide", "services-guide", "language-guide"]);
    let deploy = got(&ann, "deploy-guide", json!({})).await;
    assert!(deploy.contains("## Persistent data"));
    assert!(
        deploy
            .replace('\n', " ")
            .contains("For databases, use `provision_service` — do not deploy a database as an Application")
    );
    let services = got(&ann, "services-guide", json!({})).await;
    assert!(services.contains(
        "credential values are injected as K8s Secret references — never logged or returned by tools"
    ));
    assert!(services.contains("every 10 seconds") && services.contains("deploy-guide"));
    let steps = [
        "provision_service",
        "service_status",
        "bind_service",
        "DATABASE_URL",
        "unbind_service",
        "deprovision_service",
    ];
    for (number, step) in steps.iter().enumerate() {
        let line = services.lines().find(|line| line.starts_with(&format!("{}. ", number + 1)));
        assert!(line.is_some_and(|line| line.contains(step)), "step {step}: {line:?}");
    }
}

#[tokio::test]
async fn every_language_has_a_guide_with_an_example() {
    let stage = Stage::open().await;
    let ann = stage.token("ann", Role::ReadOnly).await;
    for language in LANGUAGES {
        let guide = got(&ann, "language-guide", json!({ "language": language })).await;
        assert!(
            guide.contains("A whole example") && guide.contains("```") && guide.contains("PORT"),
            "{language}"
        );
        let read = ann.ask("resources/read", json!({ "uri": format!("iaf://languages/{language}") })).await;
        assert_eq!(read["contents"][0]["text"], guide, "{language}");
    }
    let wrong = got(&ann, "language-guide", json!({ "language": "cobol" })).await;
    assert!(wrong.contains("go, nodejs, python, java, ruby, rust, static"), "{wrong}");
    let argument = json!({ "name": "language", "value": "r" });
    let prompt = json!({ "type": "ref/prompt", "name": "language-guide" });
    let completed = ann.ask("completion/complete", json!({ "ref": prompt, "argument": argument })).await;
    assert_eq!(completed["completion"]["values"], json!(["ruby", "rust"]));
    let refused =
        stage.trail().into_iter().filter(|line| line == "prompts/get language-guide refused").count();
    let done = stage.trail().into_iter().filter(|line| line == "prompts/get language-guide done").count();
    assert_eq!((done, refused), (LANGUAGES.len(), 1));
}
