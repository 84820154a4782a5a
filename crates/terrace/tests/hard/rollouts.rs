//! Nobody who asks an application notices that it changes.

use std::path::Path;

use crate::load::{Load, Manner};
use crate::platform::{Platform, host};

/// Replaces a word in a file of a program.
fn rewrite(file: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(file).expect("it is there");
    assert!(text.contains(from), "{from} is not in {}", file.display());
    std::fs::write(file, text.replacen(from, to, 1)).expect("it is ours");
}

/// The roll-out has come to its end: the old pods are gone.
fn settled(platform: &Platform, name: &str, replicas: usize) {
    let deployment = format!("deployment/{name}");
    platform.kubectl(&["rollout", "status", &deployment, "--timeout=60s"]);
    crate::platform::wait("old pods to go", crate::platform::SOON, || {
        (platform.pods(name).len() == replicas).then_some(())
    });
}

#[test]
fn no_request_is_dropped_in_twenty_roll_outs() {
    let mut platform = Platform::start(&[]);
    let program = platform.program("program");
    let pages = platform.path().join("pages");
    std::fs::create_dir(&pages).expect("a new directory");
    std::fs::write(pages.join("index.html"), "page 0").expect("a file");
    platform.deploy(&program, "web", &["--replicas", "2", "--env", "GREETING=g0"]);
    platform.deploy(&pages, "pages", &[]);
    let (kept, fresh, posting) = (Manner::Kept, Manner::Fresh, Manner::Posting);
    let web = Load::start(
        platform.gateway,
        &host("web"),
        &[kept, kept, fresh, fresh, posting, Manner::Slow, Manner::Slow],
    );
    let site = Load::start(platform.gateway, &host("pages"), &[kept, fresh]);
    web.wait_for("one/g0");
    site.wait_for("page 0");
    let first = web.good();
    let mut version = "one".to_owned();
    let healthy = |what: &str| {
        let bad: Vec<String> = web.bad().into_iter().chain(site.bad()).collect();
        assert!(bad.is_empty(), "{what}: {} bad: {bad:#?}\n{}", bad.len(), platform.last_words());
    };

    for round in 1..=4 {
        let next = format!("v{round}");
        rewrite(&program.join("server.py"), &format!("\"{version}\""), &format!("\"{next}\""));
        version = next;
        platform.deploy(&program, "web", &[]);
        web.wait_for(&format!("{version}/"));
        settled(&platform, "web", 2);
        std::fs::write(pages.join("index.html"), format!("page {round}")).expect("a file");
        platform.deploy(&pages, "pages", &[]);
        site.wait_for(&format!("page {round}"));
        settled(&platform, "pages", 1);
        healthy("new images");
    }
    for round in 1..=3 {
        let patch = format!(r#"{{"spec":{{"env":[{{"name":"GREETING","value":"g{round}"}}]}}}}"#);
        platform.kubectl(&["patch", "application", "web", "--type=merge", "-p", &patch]);
        web.wait_for(&format!("/g{round}"));
        settled(&platform, "web", 2);
        healthy("new variables");
    }
    for replicas in [4, 1, 3, 2] {
        let count = replicas.to_string();
        platform.kubectl(&["scale", "application/web", "--replicas", &count]);
        settled(&platform, "web", replicas);
        healthy("scaling");
    }
    for name in ["web", "pages", "web"] {
        let before = platform.pods(name);
        platform.kubectl(&["rollout", "restart", &format!("deployment/{name}")]);
        settled(&platform, name, if name == "web" { 2 } else { 1 });
        assert!(before.is_disjoint(&platform.pods(name)), "{name} was not restarted");
        healthy("restarts");
    }
    let pod = platform.pods("web").into_iter().next().expect("it has two");
    platform.kubectl(&["delete", "pod", &pod]);
    settled(&platform, "web", 2);
    assert!(!platform.pods("web").contains(&pod), "the pod was not replaced");
    healthy("a pod deleted");

    web.gently();
    for _ in 0..2 {
        let answer = platform.answer("web", "/").json();
        let pid = answer["pid"].to_string();
        assert!(
            std::process::Command::new("kill").args(["-9", &pid]).status().expect("kill is there").success()
        );
        crate::platform::wait("the program to be started again", crate::platform::SOON, || {
            let restarts = "jsonpath={.items[*].status.containerStatuses[0].restartCount}";
            let ready = "jsonpath={.status.availableReplicas}";
            let again = platform.kubectl(&["get", "pods", "-l", "iaf.io/application=web", "-o", restarts]);
            let available = platform.kubectl(&["get", "application", "web", "-o", ready]);
            (again.split(' ').any(|count| count != "0") && available == "2").then_some(())
        });
        healthy("a program killed");
    }
    let (web, site) = (web.finish(), site.finish());
    assert_eq!((web.bad, site.bad), (Vec::new(), Vec::new()));
    assert!(web.good - first > 2000 && site.good > 1000, "{} and {} requests", web.good, site.good);
    assert!(web.posts > 300, "{} posts", web.posts);
    assert!(web.versions.len() >= 8, "{:?}", web.versions);
    assert!(web.pods.len() >= 2 * 8 + 5, "{:?}", web.pods);
    assert_eq!(site.versions.len(), 5, "{:?}", site.versions);
    assert!(platform.stop("-TERM") < crate::platform::STOPS_WITHIN);
}
