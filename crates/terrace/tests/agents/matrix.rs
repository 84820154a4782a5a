//! Every tool and every resource, asked for by those who may not: refused, nothing read, nothing written, one record.

use serde_json::{Value, json};

use crate::agent::{Agent, Answer, token};
use crate::platform::{Platform, SOON, wait};

/// A word that only its owner may see.
const CANARY: &str = "canary-of-the-owner";

/// What each tool is asked for, in the owner's session. The owner can have all of it done.
fn arguments(tool: &str, session: &str) -> Value {
    let mut arguments = match tool {
        "register" | "list_data_sources" => return json!({}),
        "get_data_source" => return json!({ "name": "stock" }),
        "unregister" | "list_apps" | "list_git_credentials" | "list_services" => json!({}),
        "push_code" => json!({ "name": "new", "files": [{ "path": "index.html", "content": "x" }] }),
        "deploy_app" => json!({ "name": "new", "image": "registry.example.com/new:1" }),
        "app_status" | "app_logs" | "rollback_app" | "delete_app" => json!({ "name": "shop" }),
        "add_git_credential" => json!({ "name": "forge", "host": "https://git.example.com" }),
        "delete_git_credential" => json!({ "name": "hub" }),
        "provision_service" => json!({ "name": "new", "type": "postgres", "plan": "micro" }),
        "service_status" | "deprovision_service" => json!({ "name": "db" }),
        "bind_service" | "unbind_service" => json!({ "service_name": "db", "app_name": "shop" }),
        "attach_data_source" => json!({ "data_source_name": "stock", "app_name": "shop" }),
        "plan" => json!({ "manifests": application("new").to_string() }),
        "apply_plan" => json!({ "hash": "0".repeat(64) }),
        other => panic!("{other} has no row in this table: what must be refused?"),
    };
    arguments["session_id"] = session.into();
    arguments
}

/// Tools that only look: a token that may look anywhere may call them.
const LOOKS: [&str; 9] = [
    "app_status",
    "app_logs",
    "list_apps",
    "list_git_credentials",
    "service_status",
    "list_services",
    "list_data_sources",
    "get_data_source",
    "plan",
];

fn application(name: &str) -> Value {
    json!({
        "apiVersion": "iaf.io/v1alpha1", "kind": "Application", "metadata": { "name": name },
        "spec": { "image": "registry.example.com/shop:1", "replicas": 0,
                  "env": [{ "name": "WORD", "value": CANARY }], "host": format!("{CANARY}.localhost") },
    })
}

/// A session with something of everything in it, and whoever tries to get at it.
struct Scene {
    platform: Platform,
    owner: Agent,
    session: String,
    tools: Vec<String>,
}

impl Scene {
    fn new() -> Self {
        let platform = Platform::start(&["--agents-rate", "100000"]);
        let owner = Agent::new(&platform, Some(&token(&platform, "owner", &["--session"])));
        let session = owner.register();
        let namespace = format!("iaf-{session}");
        let mut shop = application("shop");
        shop["metadata"]["namespace"] = namespace.clone().into();
        let mut db = json!({
            "apiVersion": "iaf.io/v1alpha1", "kind": "ManagedService", "metadata": { "name": "db" },
            "spec": { "type": "postgres", "plan": "micro", "version": "9" },
        });
        db["metadata"]["namespace"] = namespace.clone().into();
        let source = json!({
            "apiVersion": "iaf.io/v1alpha1", "kind": "DataSource", "metadata": { "name": "stock" },
            "spec": { "kind": "postgres", "description": "what is in stock",
                      "secretRef": { "name": "stock", "namespace": "default" }, "envVarMapping": { "url": "STOCK_URL" } },
        });
        let credential = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/basic-auth",
            "metadata": { "name": "hub", "namespace": namespace, "labels": { "terrace.dev/git-credential": "true" },
                          "annotations": { "kpack.io/git": "https://hub.example.com" } },
            "stringData": { "username": "x", "password": CANARY },
        });
        for object in [shop, db, source, credential] {
            apply(&platform, &object);
        }
        let listed = owner.request("tools/list", None, json!({}));
        let tools = listed.body["result"]["tools"].as_array().expect("a list").iter();
        let tools = tools.map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect();
        Self { platform, owner, session, tools }
    }

    /// Everything in the owner's namespace, and every namespace, without what controllers say of it.
    fn stand(&self) -> String {
        let namespace = format!("iaf-{}", self.session);
        let kinds = "applications.iaf.io,managedservices.iaf.io,secrets,configmaps,rolebindings";
        let shown = "go-template={{range .items}}{{.kind}}/{{.metadata.name}} {{.metadata.uid}} {{.spec}} {{.data}}\n{{end}}";
        let inside = self.platform.kubectl(&["-n", &namespace, "get", kinds, "-o", shown]);
        let around =
            self.platform.kubectl(&["get", "namespaces,clusterroles,clusterrolebindings", "-o", "name"]);
        inside + &around
    }

    fn records(&self) -> usize {
        let text = std::fs::read_to_string(self.platform.data().join("audit.log")).expect("there is a trail");
        text.lines().count()
    }

    /// Asks, and insists on a refusal that says nothing and is written down once.
    #[track_caller]
    fn refuses(&self, what: &str, ask: impl FnOnce() -> Answer) {
        let records = self.records();
        let answer = ask();
        let refused = answer.tool().is_err() || answer.body["error"].is_object();
        assert!(refused, "{what} was answered: {answer:?}");
        let told = answer.body.to_string();
        assert!(!told.contains(CANARY), "{what} tells what it must not: {told}");
        assert_eq!(self.records(), records + 1, "{what} left no record, or several: {told}");
    }

    /// Every tool and every resource of a session that this caller may not touch.
    fn refuses_all(&self, who: &str, agent: &Agent, session: &str, spared: &[&str]) {
        let stand = self.stand();
        for tool in self.tools.iter().filter(|tool| !spared.contains(&tool.as_str())) {
            self.refuses(&format!("{tool} by {who}"), || agent.call(tool, arguments(tool, session)));
        }
        assert_eq!(self.stand(), stand, "{who} changed something");
    }
}

fn apply(platform: &Platform, object: &Value) {
    use std::io::Write as _;
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(object.to_string().as_bytes()).expect("it takes it");
    let output = platform
        .command("kubectl")
        .args(["apply", "-f"])
        .arg(file.path())
        .output()
        .expect("kubectl is there");
    assert!(output.status.success(), "{object}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn nobody_gets_at_the_session_of_another() {
    let mut scene = Scene::new();
    let platform = &scene.platform;
    let own = format!("iaf-{}", scene.session);
    let elsewhere = platform.namespace.clone();

    let revoked = token(platform, "revoked", &["--session"]);
    let once = Agent::new(platform, Some(&revoked));
    once.register();
    let output = platform
        .command(env!("CARGO_BIN_EXE_terrace"))
        .args(["token", "revoke", "revoked", "--yes"])
        .output()
        .expect("the binary is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    wait("the token to be unknown", SOON, || (once.call("register", json!({})).code == 401).then_some(()));

    let stranger = Agent::new(platform, Some(&token(platform, "stranger", &["--session"])));
    let reader = Agent::new(platform, Some(&token(platform, "reader", &["--read-only"])));
    let near =
        Agent::new(platform, Some(&token(platform, "near", &["--read-only", "--namespace", &elsewhere])));
    let nobody = Agent::new(platform, None);
    let forger = Agent::new(platform, Some(&format!("trc_{}", "0".repeat(64))));

    // What everybody with a token may do is not the session's.
    let free = ["register", "list_data_sources", "get_data_source"];
    scene.refuses_all("a stranger", &stranger, &scene.session, &free);
    scene.refuses_all("a stranger who forges an id", &stranger, "0123456789abcdef", &free);
    scene.refuses_all("a stranger who names a namespace", &stranger, "kube-system", &free);
    scene.refuses_all("a stranger with dots", &stranger, "../default", &free);
    scene.refuses_all("one who may look elsewhere", &near, &scene.session, &[]);
    scene.refuses_all("one who may only look", &reader, &scene.session, &LOOKS);
    scene.refuses_all("one whose token was revoked", &once, &scene.session, &[]);
    scene.refuses_all("one without a token", &nobody, &scene.session, &[]);
    scene.refuses_all("one with a made-up token", &forger, &scene.session, &[]);

    let app = format!("iaf://app/{own}/shop");
    for (who, agent) in [("a stranger", &stranger), ("one from elsewhere", &near)] {
        for uri in [
            app.clone(),
            format!("iaf://app/{own}/none"),
            "iaf://app/kube-system/x".into(),
            "iaf://app/../x/y".into(),
        ] {
            scene.refuses(&format!("{uri} by {who}"), || agent.read(&uri));
        }
    }
    let uris = [
        app.as_str(),
        "iaf://platform",
        "iaf://schema/application",
        "iaf://languages/python",
        "iaf://catalog/data-sources",
    ];
    for (who, agent) in [("a revoked one", &once), ("nobody", &nobody), ("a forger", &forger)] {
        for uri in uris {
            scene.refuses(&format!("{uri} by {who}"), || agent.read(uri));
        }
    }

    // The table is one of refusals, not of mistakes: the owner, and who may look, are answered.
    for tool in LOOKS {
        for agent in [&scene.owner, &reader] {
            let answer = agent.call(tool, arguments(tool, &scene.session));
            let told = answer.tool();
            let fine = told.is_ok()
                || told.as_ref().is_err_and(|words| words.contains("no pods") || words.contains("has no"));
            assert!(fine, "{tool}: {answer:?}");
        }
    }
    for uri in uris {
        let answer = scene.owner.read(uri);
        assert!(answer.body["result"]["contents"].is_array(), "{uri}: {answer:?}");
    }
    scene.platform.stop("-TERM");
}

#[test]
fn a_line_is_dead_when_its_token_is_revoked() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let mut platform = Platform::start(&[]);
    let token = token(&platform, "short", &["--session"]);
    let mut line = platform
        .command(env!("CARGO_BIN_EXE_terrace"))
        .arg("mcp")
        .env("TERRACE_TOKEN", token)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the binary is there");
    let mut says = line.stdin.take().expect("it is piped");
    let mut hears = BufReader::new(line.stdout.take().expect("it is piped")).lines();
    let mut ask = |message: Value| -> Value {
        writeln!(says, "{message}").expect("it listens");
        let told = hears.next().expect("an answer").expect("it is text");
        serde_json::from_str(&told).expect("it is JSON")
    };
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
    ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }));
    let register = |id: u32| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "register", "arguments": {} } });
    assert_eq!(ask(register(2))["result"]["isError"], false);
    let revoked =
        platform.command(env!("CARGO_BIN_EXE_terrace")).args(["token", "revoke", "short", "--yes"]).status();
    assert!(revoked.expect("the binary is there").success());
    let trail = platform.data().join("audit.log");
    let records = || std::fs::read_to_string(&trail).expect("there is a trail");
    let mut id = 2;
    let refused = wait("the token to be unknown", SOON, || {
        id += 1;
        let before = records().lines().count();
        let answer = ask(register(id));
        assert_eq!(records().lines().count(), before + 1, "each call leaves one record: {answer}");
        answer["error"]["message"].as_str().map(str::to_owned)
    });
    assert!(refused.contains("revoked"), "{refused}");
    assert!(records().lines().last().is_some_and(|last| last.contains(r#""outcome":"refused""#)));
    drop(says);
    assert!(line.wait().expect("it is ours").success(), "the line ends with its input");
    platform.stop("-TERM");
}
