//! Uploads and logs of builds, asked by those who may and those who may not.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use control_plane::ControlPlane;
use control_plane::gates::rbac::User;
use control_plane::wire::{ApiService, Body, Identified, Upload};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full, StreamBody};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tower::ServiceExt;

use super::blobs::hex;
use super::{Settings, sweep};

/// Longest anything here may take.
const PATIENCE: Duration = Duration::from_secs(20);
const ARCHIVE: &[u8] = b"an archive";

struct House {
    plane: ControlPlane,
    dir: tempfile::TempDir,
}

impl House {
    /// A platform with two namespaces; `ann` may write applications in `red`, `bob` in `blue`, `eve` may read in `red`.
    async fn new() -> Self {
        let plane = ControlPlane::start().await.expect("starts");
        let dir = tempfile::tempdir().expect("a directory");
        let settings = Settings {
            archive_max: 1 << 20,
            patience: Duration::from_millis(200),
            ..Settings::under(dir.path())
        };
        super::mount(&plane, &settings, tokio_util::sync::CancellationToken::new());
        let house = Self { plane, dir };
        for name in ["red", "blue"] {
            house.made("/api/v1/namespaces", json!({ "metadata": { "name": name } })).await;
        }
        let rights = [
            ("ann", "red", vec!["create"]),
            ("bob", "blue", vec!["create", "update", "patch", "get"]),
            ("pat", "red", vec!["patch"]),
            ("uma", "red", vec!["update"]),
            ("eve", "red", vec!["get", "list", "watch"]),
            ("gus", "ghost", vec!["create"]),
        ];
        for (user, namespace, verbs) in rights {
            house.allow(user, namespace, &verbs).await;
        }
        house
    }

    async fn allow(&self, user: &str, namespace: &str, verbs: &[&str]) {
        if namespace == "ghost" {
            self.made("/api/v1/namespaces", json!({ "metadata": { "name": namespace } })).await;
        }
        let rbac = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}");
        let rules = json!([{ "apiGroups": ["iaf.io"], "resources": ["applications"], "verbs": verbs }]);
        self.made(&format!("{rbac}/roles"), json!({ "metadata": { "name": user }, "rules": rules })).await;
        let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user });
        let subjects = json!([{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }]);
        let binding = json!({ "metadata": { "name": user }, "roleRef": role, "subjects": subjects });
        self.made(&format!("{rbac}/rolebindings"), binding).await;
    }

    async fn made(&self, path: &str, object: Value) {
        let request = Request::post(path)
            .header("content-type", "application/json")
            .body(Full::new(bytes::Bytes::from(object.to_string())))
            .expect("is a request");
        let response = self.plane.service().oneshot(request).await.expect("never fails");
        assert_eq!(response.status(), 201, "{path}");
    }

    fn as_user(&self, name: &str) -> Asker {
        let groups = vec!["system:authenticated".to_owned()];
        let user = User { name: name.into(), groups, ..User::default() };
        Asker { service: self.plane.guarded_service(), user: Some(user) }
    }

    fn nobody(&self) -> Asker {
        Asker { service: self.plane.guarded_service(), user: None }
    }

    /// Every file under the directory of archives.
    fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let blobs = self.dir.path().join("blobs");
        for folder in std::fs::read_dir(blobs).into_iter().flatten().flatten() {
            for file in std::fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                let folder = folder.file_name().to_string_lossy().into_owned();
                found.push(format!("{folder}/{}", file.file_name().to_string_lossy()));
            }
        }
        found.sort();
        found
    }

    fn log(&self, namespace: &str, file: &str, text: &str) -> std::path::PathBuf {
        let folder = self.dir.path().join("build-logs").join(namespace);
        std::fs::create_dir_all(&folder).expect("is made");
        std::fs::write(folder.join(file), text).expect("is written");
        folder.join(file)
    }
}

struct Asker {
    service: ApiService,
    user: Option<User>,
}

impl Asker {
    async fn send(&self, method: Method, path: &str, body: Upload) -> Response<Body> {
        let mut builder = Request::builder().method(method).uri(path);
        if let Some(user) = &self.user {
            builder = builder.extension(Identified(user.clone()));
        }
        let request = builder.body(body).expect("is a request");
        let answer = self.service.clone().oneshot(request);
        tokio::time::timeout(PATIENCE, answer).await.expect("an answer comes").expect("never fails")
    }

    /// `403 Forbidden`: the code, and the reason of a Status.
    async fn told(&self, method: Method, path: &str, body: Upload) -> String {
        let response = self.send(method, path, body).await;
        let code = response.status().as_u16();
        let text = collected(response).await;
        let reason = serde_json::from_str::<Value>(&text).ok();
        let reason = reason.and_then(|status| status["reason"].as_str().map(str::to_owned));
        format!("{code} {}", reason.unwrap_or_default()).trim().to_owned()
    }

    async fn put(&self, path: &str, body: &[u8]) -> String {
        self.told(Method::PUT, path, whole(body)).await
    }

    async fn head(&self, path: &str) -> String {
        self.told(Method::HEAD, path, whole(b"")).await
    }
}

async fn collected(response: Response<Body>) -> String {
    let body = tokio::time::timeout(PATIENCE, response.into_body().collect()).await.expect("the answer ends");
    String::from_utf8_lossy(&body.expect("never fails").to_bytes()).into_owned()
}

fn whole(bytes: &[u8]) -> Upload {
    Full::new(bytes::Bytes::copy_from_slice(bytes)).map_err(|never| match never {}).boxed_unsync()
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn path(namespace: &str, digest: &str) -> String {
    super::blob_path(namespace, digest)
}

#[tokio::test]
async fn who_may_write_applications_may_upload_and_nobody_else() {
    let house = House::new().await;
    let red = path("red", &digest(ARCHIVE));
    let table = [
        ("ann", "404 NotFound", "201"),
        ("pat", "200", "200"),
        ("uma", "200", "200"),
        ("eve", "403 Forbidden", "403 Forbidden"),
        ("bob", "403 Forbidden", "403 Forbidden"),
        ("stranger", "403 Forbidden", "403 Forbidden"),
    ];
    for (user, head, put) in table {
        assert_eq!(house.as_user(user).head(&red).await, head, "{user}");
        assert_eq!(house.as_user(user).put(&red, ARCHIVE).await, put, "{user}");
    }
    assert_eq!(house.nobody().put(&red, ARCHIVE).await, "403 Forbidden");
    let file = house.dir.path().join(format!("blobs/red/{}.tar.gz", digest(ARCHIVE)));
    assert_eq!(std::fs::read(&file).expect("is there"), ARCHIVE);
    let mode = |path: &Path| std::fs::metadata(path).expect("is there").permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().expect("has one"))), (0o600, 0o700));
    assert_eq!(house.files(), [format!("red/{}.tar.gz", digest(ARCHIVE))]);
}

#[tokio::test]
async fn what_is_not_as_it_should_be_is_refused_and_leaves_nothing() {
    let house = House::new().await;
    let ann = house.as_user("ann");
    let good = digest(ARCHIVE);
    assert_eq!(ann.put(&path("red", &good), b"something else").await, "400 BadRequest");
    let large = vec![0; (1 << 20) + 1];
    assert_eq!(
        ann.put(&path("red", &digest(&large)), &large).await,
        "413 RequestEntityTooLarge",
        "by its length or on its way"
    );
    let frames = futures::stream::iter([Ok(http_body::Frame::data(bytes::Bytes::from_static(b"an ")))]);
    let stalled = StreamBody::new(futures::StreamExt::chain(frames, futures::stream::pending()));
    let told = ann.told(Method::PUT, &path("red", &good), stalled.boxed_unsync()).await;
    assert_eq!(told, "408 Timeout");
    let begun = Ok(http_body::Frame::data(bytes::Bytes::from_static(b"an ")));
    let broken = futures::stream::iter([begun, Err(std::io::Error::other("gone"))]);
    let broken = StreamBody::new(broken).boxed_unsync();
    assert_eq!(ann.told(Method::PUT, &path("red", &good), broken).await, "400 BadRequest");
    for method in [Method::POST, Method::DELETE, Method::GET] {
        let told = ann.told(method, &path("red", &good), whole(b"")).await;
        assert_eq!(told, "405 MethodNotAllowed");
    }
    assert_eq!(house.files(), Vec::<String>::new());
}

#[tokio::test]
async fn no_path_leads_anywhere_else() {
    let house = House::new().await;
    let admin = Asker { service: house.plane.service(), user: None };
    let good = digest(ARCHIVE);
    let paths = [
        path("..", &good),
        path("red%2f..%2f..", &good),
        path("%2e%2e", &good),
        path("Red", &good),
        path("", &good),
        path("red", "../../kubeconfig"),
        path("red", &good.to_uppercase()),
        path("red", &good[1..]),
        path("red", &format!("{good}0")),
        path("red", &format!("{}/..", &good[..61])),
        format!("{}/", path("red", &good)),
        format!("{}/more", path("red", &good)),
        path(&"r".repeat(64), &good),
    ];
    for path in paths {
        assert_eq!(admin.put(&path, ARCHIVE).await, "404 NotFound", "{path}");
    }
    assert_eq!(admin.put(&path("nowhere", &good), ARCHIVE).await, "404 NotFound");
    assert_eq!(house.files(), Vec::<String>::new());
}

#[tokio::test]
async fn the_log_of_the_latest_build_is_for_those_who_may_read_the_application() {
    let house = House::new().await;
    house.log("red", "shop-9.log", "old\n");
    house.log("red", "shop-10.log", "new\n");
    house.log("red", "shop-1-11.log", "another's\n");
    let log = super::log_path("red", "shop");
    for user in ["ann", "bob", "stranger"] {
        assert_eq!(house.as_user(user).told(Method::GET, &log, whole(b"")).await, "403 Forbidden", "{user}");
    }
    let response = house.as_user("eve").send(Method::GET, &log, whole(b"")).await;
    assert_eq!(response.headers()[super::NUMBER_HEADER], "10");
    assert_eq!(collected(response).await, "new\n");
    for (tail, want) in [("2", "w\n"), ("4", "new\n"), ("100", "new\n"), ("0", ""), ("x", "new\n")] {
        let end = format!("{log}?tailBytes={tail}");
        let response = house.as_user("eve").send(Method::GET, &end, whole(b"")).await;
        assert_eq!(collected(response).await, want, "{tail}");
    }
    let after = format!("{log}?after=10");
    assert_eq!(house.as_user("eve").told(Method::GET, &after, whole(b"")).await, "404 NotFound");
    assert_eq!(house.as_user("eve").told(Method::PUT, &log, whole(b"")).await, "405 MethodNotAllowed");
}

#[tokio::test]
async fn a_log_is_followed_from_before_its_build_begins_until_it_ends() {
    let house = House::new().await;
    install(&house).await;
    house.log("red", "shop-1.log", "old\n");
    let images = "/apis/kpack.io/v1alpha2/namespaces/red/images";
    house
        .made(
            images,
            json!({
                "apiVersion": "kpack.io/v1alpha2", "kind": "Image", "metadata": { "name": "shop" },
                "spec": { "tag": "t", "builder": { "kind": "ClusterBuilder", "name": "b" }, "source": {} },
            }),
        )
        .await;
    let log = format!("{}?follow=true&after=1", super::log_path("red", "shop"));
    let mut body = house.as_user("eve").send(Method::GET, &log, whole(b"")).await.into_body();
    let file = house.log("red", "shop-2.log", "one\n");
    let frame = tokio::time::timeout(PATIENCE, body.frame()).await.expect("comes").expect("is one");
    assert_eq!(frame.expect("never fails").into_data().expect("is data"), "one\n");
    let mut file = std::fs::File::options().append(true).open(file).expect("is there");
    std::io::Write::write_all(&mut file, b"two\n").expect("is written");
    let status = json!({ "status": { "observedGeneration": 1, "conditions": [{ "type": "Ready", "status": "True" }] } });
    let patch = Request::patch(format!("{images}/shop/status"))
        .header("content-type", "application/merge-patch+json")
        .body(Full::new(bytes::Bytes::from(status.to_string())))
        .expect("is a request");
    assert_eq!(house.plane.service().oneshot(patch).await.expect("never fails").status(), 200);
    let rest = tokio::time::timeout(PATIENCE, body.collect()).await.expect("it ends by itself");
    assert_eq!(rest.expect("never fails").to_bytes(), "two\n");
}

#[tokio::test]
async fn archives_that_nobody_needs_go_and_those_in_use_stay() {
    let house = House::new().await;
    install(&house).await;
    let admin = Asker { service: house.plane.service(), user: None };
    let mut urls = Vec::new();
    for (namespace, content) in [
        ("red", "app"),
        ("red", "spare"),
        ("red", "fresh"),
        ("red", "past"),
        ("blue", "app"),
        ("ghost", "gone"),
    ] {
        let digest = digest(content.as_bytes());
        assert_eq!(admin.put(&path(namespace, &digest), content.as_bytes()).await, "201");
        urls.push(super::blob_url(namespace, &digest));
    }
    house.made("/apis/iaf.io/v1alpha1/namespaces/red/applications", json!({
        "apiVersion": "iaf.io/v1alpha1", "kind": "Application", "metadata": { "name": "a" }, "spec": { "blob": urls[0] },
    })).await;
    let source = json!({ "blob": urls[3] }).to_string();
    house.made("/apis/apps/v1/namespaces/red/replicasets", json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": { "name": "r", "annotations": { api::annotations::SOURCE: source } },
        "spec": { "selector": { "matchLabels": { "a": "b" } }, "template": {
            "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } } },
    })).await;
    let blobs = house.dir.path().join("blobs");
    let half = blobs.join(format!("red/{}.x.part", digest(b"half")));
    std::fs::write(&half, "half").expect("is written");
    let tomorrow = SystemTime::now() + Duration::from_secs(25 * 60 * 60);
    let fresh = blobs.join(format!("red/{}.tar.gz", digest(b"fresh")));
    let file = std::fs::File::options().append(true).open(fresh).expect("is there");
    file.set_modified(tomorrow - Duration::from_secs(60)).expect("is set");
    let client = house.plane.client();
    let settings = Settings::under(house.dir.path());
    for namespace in ["red", "ghost"] {
        std::fs::create_dir_all(settings.builds.join(namespace)).expect("a directory");
        std::fs::write(settings.builds.join(namespace).join("a-1.log"), "built").expect("a log");
    }
    sweep::sweep(&settings, &client, SystemTime::now()).await.expect("is swept");
    assert_eq!(house.files().len(), 7, "nothing is old yet");
    let gone = Request::delete("/api/v1/namespaces/ghost").body(Full::default()).expect("is a request");
    house.plane.service().oneshot(gone).await.expect("never fails");
    let namespaces: kube::Api<k8s_openapi::api::core::v1::Namespace> = kube::Api::all(client.clone());
    let deleted =
        kube::runtime::wait::await_condition(namespaces, "ghost", |object: Option<&_>| object.is_none());
    tokio::time::timeout(PATIENCE, deleted).await.expect("it goes").expect("is watched");
    sweep::sweep(&settings, &client, tomorrow).await.expect("is swept");
    assert!(settings.builds.join("red/a-1.log").exists() && !settings.builds.join("ghost").exists());
    let name = |namespace: &str, content: &str| format!("{namespace}/{}.tar.gz", digest(content.as_bytes()));
    let mut want = vec![name("red", "app"), name("red", "fresh"), name("red", "past")];
    want.sort();
    assert_eq!(house.files(), want, "blue's own `app` is another archive, and nothing refers to it");
}

async fn install(house: &House) {
    let definitions = crate::install::wanted(None);
    crate::install::definitions(&house.plane, definitions).await.expect("are installed");
}
