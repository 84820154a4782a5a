//! Packing, judging, choosing and writing; and the way of a deploy on a control plane in this process.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use agents::apps::revisions::{Revision, chosen};
use api::apps::Application;
use control_plane::ControlPlane;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::follow::Follow;
use super::pack::{BOUNDS, Bounds, Packed, pack};
use super::source::Source;
use super::stand::{Stand, stand};
use super::write::{Wish, write};
use super::{deploy, list};
use crate::uploads;

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, content) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("has one")).expect("is made");
        std::fs::write(path, content).expect("is written");
    }
    dir
}

/// What an archive holds: names with their modes.
fn names(packed: &Packed) -> BTreeMap<String, u32> {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(packed.archive.as_slice()));
    let entries = archive.entries().expect("is an archive").map(|entry| {
        let entry = entry.expect("is an entry");
        let header = entry.header();
        assert_eq!((header.uid().expect("is there"), header.gid().expect("is there")), (0, 0));
        let name = entry.path().expect("is a path").display().to_string();
        (name, header.mode().expect("is there"))
    });
    entries.collect()
}

fn refused(dir: &Path, bounds: Bounds) -> String {
    format!("{:#}", pack(dir, bounds).expect_err("is refused"))
}

#[test]
fn the_same_tree_makes_the_same_archive_wherever_and_whenever() {
    let files = [("b/main.py", "print(1)"), ("a.txt", "a"), ("Procfile", "web: x")];
    let (one, two) = (tree(&files), tree(&files));
    let old = std::fs::File::options().append(true).open(two.path().join("a.txt")).expect("is there");
    old.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(86_400)).expect("is set");
    let digest = |dir: &Path| pack(dir, BOUNDS).expect("is packed").digest;
    assert_eq!(digest(one.path()), digest(two.path()));
    let run = two.path().join("b/main.py");
    std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o700)).expect("is set");
    assert_ne!(digest(one.path()), digest(two.path()), "what can be run is part of it");
    let modes = names(&pack(two.path(), BOUNDS).expect("is packed"));
    assert_eq!(
        modes,
        BTreeMap::from([("Procfile".into(), 0o644), ("a.txt".into(), 0o644), ("b/main.py".into(), 0o755)])
    );
}

#[test]
fn what_ignore_files_name_stays_out_and_dot_files_come_along() {
    let files = [
        (".gitignore", "node_modules/\n*.log\n!keep.log\n"),
        (".ignore", "secret.txt\n"),
        (".env.example", ""),
        (".git/config", ""),
        ("node_modules/x/index.js", ""),
        ("a.log", ""),
        ("keep.log", ""),
        ("secret.txt", ""),
        ("sub/.gitignore", "tmp\n"),
        ("sub/tmp/x", ""),
        ("sub/y", ""),
    ];
    let want = [".env.example", ".gitignore", ".ignore", "keep.log", "sub/.gitignore", "sub/y"];
    let whole = tree(&files);
    let without_git: Vec<_> = files.into_iter().filter(|(name, _)| !name.starts_with(".git/")).collect();
    for dir in [whole.path(), tree(&without_git).path()] {
        let found = if dir.exists() { names(&pack(dir, BOUNDS).expect("is packed")) } else { continue };
        assert_eq!(found.into_keys().collect::<Vec<_>>(), want);
    }
    let repository =
        tree(&[(".git/config", ""), (".gitignore", "target\n"), ("app/target/x", ""), ("app/y", "")]);
    let found = names(&pack(&repository.path().join("app"), BOUNDS).expect("is packed"));
    assert_eq!(found.into_keys().collect::<Vec<_>>(), ["y"], "the repository's own file counts in its parts");
}

#[test]
fn links_stay_inside_or_are_refused_by_name() {
    let dir = tree(&[("a/x", ""), ("y", "")]);
    symlink("../y", dir.path().join("a/up")).expect("is made");
    symlink("nowhere", dir.path().join("broken")).expect("is made");
    let found = names(&pack(dir.path(), BOUNDS).expect("is packed"));
    assert_eq!(found.into_keys().collect::<Vec<_>>(), ["a/up", "a/x", "broken", "y"]);
    for target in ["/etc/passwd", "../../etc/passwd", "..", "../nowhere", "a/../../x"] {
        let dir = tree(&[("a/x", "")]);
        symlink(target, dir.path().join("bad-link")).expect("is made");
        let error = refused(dir.path(), BOUNDS);
        assert!(error.contains("bad-link") && error.contains(target), "{target}: {error}");
    }
    // It says nothing bad itself, but the link before it leads out.
    let outside = tree(&[("inner/x", "")]);
    let dir = tree(&[("a", "")]);
    symlink(outside.path(), dir.path().join("zz")).expect("is made");
    symlink("zz/inner", dir.path().join("chain")).expect("is made");
    assert!(refused(dir.path(), BOUNDS).contains("chain"));
}

#[test]
fn too_much_is_refused_with_what_to_do() {
    let dir = tree(&[("a", "12345"), ("b", "12345"), ("c", "12345")]);
    let error = refused(dir.path(), Bounds { files: 2, bytes: 100 });
    assert!(error.contains("more than 2 files") && error.contains(".gitignore"), "{error}");
    let error = refused(dir.path(), Bounds { files: 3, bytes: 14 });
    assert!(error.contains("at c") && error.contains(".gitignore"), "{error}");
    assert_eq!(pack(dir.path(), Bounds { files: 3, bytes: 15 }).expect("fits").files, 3);
    assert!(refused(tree(&[]).path(), BOUNDS).contains("nothing to deploy"));
    assert!(refused(&dir.path().join("none"), BOUNDS).contains("cannot read"));
    assert!(refused(&dir.path().join("a"), BOUNDS).contains("not a directory"));
}

fn app(replicas: i32, status: &Value) -> Application {
    serde_json::from_value(json!({
        "apiVersion": "iaf.io/v1alpha1", "kind": "Application",
        "metadata": { "name": "shop", "namespace": "default", "generation": 2 },
        "spec": { "blob": "terrace-blob://default/b", "replicas": replicas }, "status": status,
    }))
    .expect("is an application")
}

fn status(seen: i64, phase: &str, ready: &str, reason: &str) -> Value {
    let time = "2026-01-01T00:00:00Z";
    let condition = json!({ "type": "Ready", "status": ready, "reason": reason, "message": "why", "lastTransitionTime": time });
    json!({ "observedGeneration": seen, "phase": phase, "conditions": [condition] })
}

fn deployment(blob: &str, updated: i32, total: i32) -> Deployment {
    serde_json::from_value(json!({
        "metadata": { "name": "shop", "generation": 1, "annotations": {
            api::annotations::SOURCE: json!({ "blob": format!("terrace-blob://default/{blob}") }).to_string() } },
        "spec": { "replicas": 1, "selector": {}, "template": {} },
        "status": { "observedGeneration": 1, "updatedReplicas": updated, "replicas": total, "availableReplicas": 1 },
    }))
    .expect("is a deployment")
}

#[test]
fn how_far_an_application_is_can_be_read_off() {
    let waiting = |words: &str| Stand::Waiting(words.into());
    let pending = || waiting("Pending: waiting for the platform to take it up");
    let table = [
        ("nobody looked", app(1, &Value::Null), None, pending()),
        ("an old verdict", app(1, &status(1, "Running", "True", "Deployed")), None, pending()),
        ("an old failure", app(1, &status(1, "Failed", "False", "BuildFailed")), None, pending()),
        ("a build", app(1, &status(2, "Building", "False", "Building")), None, waiting("Building: why")),
        (
            "a failed build",
            app(1, &status(2, "Failed", "False", "BuildFailed")),
            None,
            Stand::Failed("why".into(), false),
        ),
        (
            "a crash",
            app(1, &status(2, "Deploying", "False", "CrashLoopBackOff")),
            None,
            Stand::Troubled("why".into()),
        ),
        (
            "a Secret that is missing",
            app(1, &status(2, "Deploying", "False", "CreateContainerConfigError")),
            None,
            Stand::Troubled("why".into()),
        ),
        (
            "too many",
            app(1, &status(2, "Failed", "False", "CrashLooping")),
            None,
            Stand::Failed("why".into(), true),
        ),
        (
            "a taken host",
            app(1, &status(2, "Running", "False", "HostConflict")),
            None,
            Stand::Failed("why".into(), false),
        ),
        ("stopped", app(0, &status(2, "Deploying", "False", "Stopped")), None, Stand::Stopped),
        ("up", app(1, &status(2, "Running", "True", "Deployed")), Some(deployment("b", 1, 1)), Stand::Up),
        ("up, unseen", app(1, &status(2, "Running", "True", "Deployed")), None, Stand::Up),
        (
            "the old one still runs",
            app(1, &status(2, "Running", "True", "Deployed")),
            Some(deployment("a", 1, 1)),
            waiting("Deploying: why"),
        ),
        (
            "an old pod is left",
            app(1, &status(2, "Running", "True", "Deployed")),
            Some(deployment("b", 1, 2)),
            waiting("Deploying: why"),
        ),
        (
            "the roll-out is stuck",
            app(1, &status(2, "Running", "False", "CrashLoopBackOff")),
            Some(deployment("b", 0, 2)),
            Stand::Troubled("why".into()),
        ),
    ];
    for (what, app, deployment, want) in table {
        assert_eq!(stand(&app, deployment.as_ref()), want, "{what}");
    }
}

#[test]
fn a_rollback_goes_to_the_last_other_source_or_where_it_is_told() {
    let image = |name: &str| Source::Image(name.to_owned());
    let revision = |number, name: &str| Revision { number, source: image(name), created: None };
    let all = [revision(1, "a"), revision(2, "b"), revision(4, "c"), revision(5, "c")];
    let told = |now: &str, to| match chosen(&all, Some(&image(now)), to, "shop") {
        Ok(found) => found.number.to_string(),
        Err(error) => error.to_string(),
    };
    assert_eq!(told("c", None), "2");
    assert_eq!(told("b", None), "5");
    assert_eq!(told("c", Some(1)), "1");
    assert_eq!(told("c", Some(3)), "shop has no revision 3; there are: 1, 2, 4, 5");
    let none = chosen(&all[..1], Some(&image("a")), None, "shop").expect_err("there is none");
    assert!(none.to_string().contains("no earlier version"), "{none}");
    let upload = Source::remembered(r#"{"blob":"terrace-blob://default/0123456789abcdef"}"#);
    assert_eq!(upload.map(|source| source.to_string()).as_deref(), Some("upload 0123456789ab"));
    for bad in ["", "[]", "{}", r#"{"image":1}"#, r#"{"image":"a","blob":"b"}"#, r#"{"other":"a"}"#] {
        assert_eq!(Source::remembered(bad), None, "{bad}");
    }
}

#[test]
fn applications_are_listed_in_a_table() {
    let mut running = app(2, &status(2, "Running", "True", "Deployed"));
    running.status.as_mut().expect("is there").url = Some("http://shop.localhost".into());
    let long = "m".repeat(80);
    let mut troubled = app(1, &status(2, "Deploying", "False", "CrashLoopBackOff"));
    troubled.status.as_mut().expect("is there").conditions[0].message = format!("{long}\nmore");
    let now = "2026-01-01T00:00:00Z".parse().expect("is a time");
    let text = list::shown(&[running, troubled], false, false, now);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "NAME   PHASE       READY   URL                     AGE   MESSAGE");
    assert_eq!(lines[1], "shop   Running     0/2     http://shop.localhost   0s    why");
    assert_eq!(
        lines[2],
        format!("shop   Deploying   0/1     -                       0s    {}…", &long[..59])
    );
}

struct House {
    plane: ControlPlane,
    client: Client,
    dir: tempfile::TempDir,
}

async fn house() -> House {
    let plane = ControlPlane::start().await.expect("starts");
    let dir = tempfile::tempdir().expect("a directory");
    uploads::mount(&plane, &uploads::Settings::under(dir.path()), CancellationToken::new());
    crate::install::definitions(&plane, crate::install::wanted(None)).await.expect("are installed");
    let client = plane.client();
    House { plane, client, dir }
}

async fn say(client: &Client, status: &Value) {
    let apps: Api<Application> = Api::default_namespaced(client.clone());
    let patch = Patch::Merge(json!({ "status": status }));
    apps.patch_status("shop", &PatchParams::default(), &patch).await.expect("is written");
}

#[tokio::test]
async fn a_directory_is_uploaded_once_and_its_application_follows_it() {
    let House { plane, client, dir } = house().await;
    let source = tree(&[("index.html", "hello")]);
    let first = deploy::upload(&client, "default", source.path()).await.expect("is uploaded");
    let again = deploy::upload(&client, "default", source.path()).await.expect("is there");
    assert_eq!(first, again);
    assert_eq!(std::fs::read_dir(dir.path().join("blobs/default")).expect("is there").count(), 1);
    let wish = Wish { replicas: Some(2), env: vec![("A".into(), "1".into())], ..Wish::source(first.clone()) };
    let written = write(&client, "default", "shop", &wish).await.expect("is written");
    assert!(written.changed);
    let same = write(&client, "default", "shop", &wish).await.expect("is written");
    assert!(!same.changed, "the same wish changes nothing");
    let bare = write(&client, "default", "shop", &Wish::source(first)).await.expect("is written");
    assert!(!bare.changed, "what an earlier deploy has set stays");
    let image = Wish::source(Source::Image("i:1".into()));
    let written = write(&client, "default", "shop", &image).await.expect("the source is replaced");
    assert_eq!((written.app.spec.blob, written.app.spec.image.as_deref()), (None, Some("i:1")));
    assert_eq!((written.app.spec.replicas, written.app.spec.env.len()), (2, 1));
    plane.close().await;
}

#[tokio::test]
async fn a_source_in_a_manifest_of_others_gives_way() {
    let House { plane, client, .. } = house().await;
    let apps: Api<Application> = Api::default_namespaced(client.clone());
    let theirs = json!({
        "apiVersion": "iaf.io/v1alpha1", "kind": "Application", "metadata": { "name": "shop" },
        "spec": { "git": { "url": "https://example.com/shop.git" }, "port": 3000 },
    });
    apps.patch("shop", &PatchParams::apply("kubectl"), &Patch::Apply(theirs)).await.expect("is applied");
    let wish = Wish::source(Source::Image("i:1".into()));
    let written = write(&client, "default", "shop", &wish).await.expect("is written");
    let spec = written.app.spec;
    assert_eq!((spec.image.as_deref(), spec.git, spec.port), (Some("i:1"), None, 3000));
    plane.close().await;
}

#[tokio::test]
async fn a_deploy_ends_when_the_application_is_up_or_has_failed() {
    let House { plane, client, .. } = house().await;
    let follow =
        |timeout| Follow { client: &client, namespace: "default", name: "shop", timeout, json: true };
    let wish = Wish::source(Source::Image("i:1".into()));
    let written = write(&client, "default", "shop", &wish).await.expect("is written");
    let late = follow(Duration::ZERO).until_settled(&written, None).await.expect("ends");
    assert_eq!(late, ExitCode::FAILURE, "nobody takes it up");
    let patient = follow(Duration::from_secs(20));
    let (ended, ()) = tokio::join!(patient.until_settled(&written, None), async {
        say(&client, &status(1, "Deploying", "False", "Deploying")).await;
        say(&client, &status(1, "Running", "True", "Deployed")).await;
    });
    assert_eq!(ended.expect("ends"), ExitCode::SUCCESS);
    say(&client, &status(1, "Failed", "False", "BuildFailed")).await;
    assert_eq!(patient.until_settled(&written, None).await.expect("ends"), ExitCode::FAILURE);
    let told = Follow { json: false, ..patient };
    let error = told.until_settled(&written, None).await.expect_err("is told");
    assert_eq!(error.to_string(), "shop did not come up: why");
    plane.close().await;
}
