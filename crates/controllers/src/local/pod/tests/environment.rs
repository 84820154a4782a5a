//! What a program finds when it starts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use api::secret::Sealed;
use kit::Do;
use serde_json::{Value, json};

use super::super::plan::{Found, Seen, Step, World};
use super::{launch, plan, pod, world};

fn given(change: impl FnOnce(&mut World)) -> World {
    let mut world = world(Seen::default());
    let sealed = |text: &str| Sealed::new(text.as_bytes().to_vec());
    world
        .supplies
        .secrets
        .insert("db".into(), Some(BTreeMap::from([("password".to_owned(), sealed("hunter2"))])));
    world.supplies.secrets.insert("gone".into(), None);
    let map = BTreeMap::from([("colour".to_owned(), b"red".to_vec())]);
    world.supplies.config_maps.insert("look".into(), Some(map));
    let service = json!({ "metadata": { "name": "my-db" },
        "spec": { "clusterIP": "127.96.0.5", "ports": [{ "name": "pg", "port": 5432 }] } });
    world.supplies.services.push(Arc::new(serde_json::from_value(service).expect("a service")));
    change(&mut world);
    world
}

fn env(variables: Value) -> BTreeMap<String, String> {
    let pod = pod(|value| value["spec"]["containers"][0]["env"] = variables);
    let launch = launch(&pod, &given(|_| {})).expect("it starts");
    launch.env.into_iter().map(|(name, value)| (name, value.into_open())).collect()
}

#[test]
fn values_refer_to_what_stands_before_them() {
    let found = env(json!([
        { "name": "A", "value": "1" },
        { "name": "B", "value": "$(A)-$(C)-$$(A)-$x-$(MY_DB_SERVICE_HOST)-$" },
        { "name": "C", "value": "$(B" },
        { "name": "PORT", "value": "8080" },
        { "name": "URL", "value": "http://127.0.0.1:$(PORT)/" },
    ]));
    assert_eq!(found["A"], "1");
    assert_eq!(found["B"], "1-$(C)-$(A)-$x-127.96.0.5-$");
    assert_eq!(found["C"], "$(B");
    assert_eq!(found["PORT"], "20001");
    assert_eq!(found["URL"], "http://127.0.0.1:20001/");
    assert_eq!(found["MY_DB_SERVICE_PORT_PG"], "5432");
    assert_eq!(found["MY_DB_PORT_5432_TCP"], "tcp://127.96.0.5:5432");
    assert_eq!(found["PATH"], "/images/1/bin");
    assert_eq!(found["HOME"], "/homes/1");
    assert_eq!(found["HOSTNAME"], "a");
}

#[test]
fn values_come_from_secrets_maps_and_the_pod_itself() {
    let from = |name: &str, source: Value| json!({ "name": name, "valueFrom": source });
    let found = env(json!([
        from("SECRET", json!({ "secretKeyRef": { "name": "db", "key": "password" } })),
        from("MAYBE", json!({ "secretKeyRef": { "name": "gone", "key": "x", "optional": true } })),
        from("COLOUR", json!({ "configMapKeyRef": { "name": "look", "key": "colour" } })),
        from("NAME", json!({ "fieldRef": { "fieldPath": "metadata.name" } })),
        from("TIER", json!({ "fieldRef": { "fieldPath": "metadata.labels['tier']" } })),
        from("IP", json!({ "fieldRef": { "fieldPath": "status.podIP" } })),
        from("MEMORY", json!({ "resourceFieldRef": { "resource": "limits.memory", "divisor": "1Mi" } })),
    ]));
    let want = [
        ("SECRET", "hunter2"),
        ("COLOUR", "red"),
        ("NAME", "a"),
        ("TIER", "web"),
        ("IP", "127.0.0.1"),
        ("MEMORY", "0"),
    ];
    for (name, value) in want {
        assert_eq!(found[name], value, "{name}");
    }
    assert!(!found.contains_key("MAYBE"));
}

#[test]
fn what_is_missing_is_told_in_the_words_of_kubernetes_and_nothing_starts() {
    let one = |source: Value| json!({ "env": [{ "name": "X", "valueFrom": source }] });
    let mount = |path: &str, volume: Value| json!({ "volumeMounts": [{ "name": "v", "mountPath": path }], "volume": volume });
    let table = [
        (one(json!({ "secretKeyRef": { "name": "gone", "key": "x" } })), "secret \"gone\" not found"),
        (one(json!({ "secretKeyRef": { "name": "db", "key": "x" } })), "couldn't find key x in Secret ns/db"),
        (one(json!({ "configMapKeyRef": { "name": "none", "key": "x" } })), "configmap \"none\" not found"),
        (
            one(json!({ "configMapKeyRef": { "name": "look", "key": "x" } })),
            "couldn't find key x in ConfigMap ns/look",
        ),
        (json!({ "envFrom": [{ "secretRef": { "name": "gone" } }] }), "secret \"gone\" not found"),
        (mount("/data", json!({ "emptyDir": {} })), "cannot be mounted at /data"),
        (
            mount("data", json!({ "hostPath": { "path": "/etc" } })),
            "of a kind that one machine does not have",
        ),
        (mount("../up", json!({ "emptyDir": {} })), "cannot be mounted at ../up"),
    ];
    for (fields, want) in table {
        let pod = pod(|value| {
            let container = value["spec"]["containers"][0].as_object_mut().expect("a container");
            container.extend(fields.as_object().cloned().unwrap_or_default());
            if let Some(mut volume) = container.remove("volume") {
                volume["name"] = json!("v");
                value["spec"]["volumes"] = json!([volume]);
            }
        });
        let planned = plan(&pod, &given(|_| {}));
        assert!(planned.steps.is_empty(), "{want}");
        let statuses = planned.status.container_statuses.unwrap_or_default();
        let waiting = statuses[0].state.clone().and_then(|state| state.waiting).expect("it waits");
        assert_eq!(waiting.reason.as_deref(), Some("CreateContainerConfigError"));
        assert!(
            waiting.message.as_deref().unwrap_or_default().contains(want),
            "{want}: {:?}",
            waiting.message
        );
    }
}

#[test]
fn volumes_are_files_below_the_pods_directory() {
    let pod = pod(|value| {
        value["spec"]["volumes"] =
            json!([{ "name": "v", "secret": { "secretName": "db" } }, { "name": "w", "emptyDir": {} }]);
        value["spec"]["containers"][0]["volumeMounts"] =
            json!([{ "name": "v", "mountPath": "conf/db" }, { "name": "w", "mountPath": "data" }]);
    });
    let planned = plan(&pod, &given(|_| {}));
    let Some(Do::Outside(Step::Prepare(home))) = planned.steps.first() else {
        panic!("its directory is prepared")
    };
    assert_eq!(home.files[Path::new("conf/db/password")].open(), b"hunter2");
    assert!(home.directories.iter().any(|directory| directory == Path::new("data")));
    assert!(!format!("{planned:?}").contains("hunter2"), "no secret is ever printed");
}

#[test]
fn the_command_is_the_images_or_the_pods_own() {
    let table = [
        (json!({}), "serve"),
        (json!({ "args": ["--port", "$(PORT)"] }), "serve --port 20001"),
        (json!({ "command": ["run", "$(PORT)", "$$(PORT)"], "args": ["x"] }), "run 20001 $(PORT) x"),
    ];
    for (fields, want) in table {
        let pod = pod(|value| {
            let container = value["spec"]["containers"][0].as_object_mut().expect("a container");
            container.extend(fields.as_object().cloned().unwrap_or_default());
        });
        assert_eq!(launch(&pod, &given(|_| {})).expect("it starts").command.join(" "), want);
    }
}

#[test]
fn a_container_runtime_gets_names_as_arguments_and_never_values() {
    let pod = pod(|value| {
        value["spec"]["containers"][0]["image"] = json!("nginx");
        value["spec"]["containers"][0]["env"] = json!([{ "name": "PASSWORD", "valueFrom": { "secretKeyRef": { "name": "db", "key": "password" } } }]);
        value["spec"]["containers"][0]["resources"] = json!({ "limits": { "memory": "64Mi" } });
        value["spec"]["containers"][0]["command"] = json!(["nginx", "-g"]);
    });
    let podman = given(|world| {
        world.supplies.images.insert("nginx".into(), Found::By(vec!["podman".into()]));
        world.supplies.services.clear();
    });
    let launch = launch(&pod, &podman).expect("it starts");
    let want = "podman run --rm --network host --env PASSWORD --env PORT --memory 67108864 --entrypoint nginx -- nginx -g";
    assert_eq!(launch.command.join(" "), want);
    assert_eq!(launch.env["PASSWORD"].open(), "hunter2");
}

#[test]
fn limits_are_kept() {
    let pod = pod(|value| {
        value["spec"]["containers"][0]["resources"] = json!({ "limits": { "memory": "64Mi" } });
    });
    let limits = launch(&pod, &given(|world| world.user = Some(200_001))).expect("it starts").limits;
    assert_eq!(limits.memory_bytes, Some(64 << 20));
    assert_eq!(limits.log_bytes, Some(10 << 20));
    assert!(limits.processes.is_some() && limits.open_files.is_some());
}
