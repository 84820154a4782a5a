use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::kinds::schema::{Additional, ListType, Schema};

fn named(api_version: &str, name: &str) -> Kind {
    let found = kinds().into_iter().find(|kind| kind.api_version() == api_version && kind.kind == name);
    found.expect("a built-in kind")
}

fn custom(status: bool) -> Kind {
    Kind { builtin: false, status, ..named("apps/v1", "Deployment") }
}

/// The schema at a path; `[]` steps into a list.
fn node(schema: &Arc<Schema>, path: &str) -> Arc<Schema> {
    path.split('.').fold(schema.clone(), |schema, step| match step {
        "[]" => schema.items.clone().expect("a list"),
        name => schema.field(name).unwrap_or_else(|| panic!("no {name} in {path}")).clone(),
    })
}

fn defaulted(api_version: &str, kind: &str, mut object: Value) -> Value {
    let kind = named(api_version, kind);
    default(&kind, &mut object);
    let once = object.clone();
    default(&kind, &mut object);
    assert_eq!(once, object, "defaults are stable");
    object
}

/// Every cause in one line each.
fn told(api_version: &str, kind: &str, object: Value, old: Option<Value>) -> Vec<String> {
    let mut object = object;
    object["apiVersion"] = json!(api_version);
    let kind = named(api_version, kind);
    default(&kind, &mut object);
    let old = old.map(|mut old| {
        default(&kind, &mut old);
        old
    });
    let causes = check(&kind, &object, old.as_ref());
    causes.into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
}

#[test]
fn every_kind_has_a_schema_and_every_column_of_the_table_is_read() {
    let all = kinds();
    assert_eq!(all.len(), TABLE.lines().filter(|line| !line.starts_with('#')).count());
    for kind in &all {
        let schema = kind.schema.get().expect("a schema");
        assert!(schema.properties.contains_key("metadata"), "{} has a definition", kind.kind);
        assert!(kind.status <= kind.verbs.contains(&"get"), "{}", kind.kind);
    }
    let events: Vec<&str> =
        all.iter().filter(|kind| kind.kind == "Event").map(|kind| &*kind.storage).collect();
    assert_eq!(events, ["events", "events"], "both groups share one storage");
    assert_eq!(&*named("apps/v1", "Deployment").storage, "deployments.apps");
    let token = &named("v1", "ServiceAccount").subresources[0];
    assert_eq!(
        (token.group.as_str(), token.kind.as_str(), token.verbs[0]),
        ("authentication.k8s.io", "TokenRequest", "create")
    );
}

#[test]
fn schemas_say_what_merges_and_applies_need() {
    let key = |keys: &[&str]| ListType::Map(keys.iter().map(|key| (*key).to_owned()).collect());
    let table = [
        ("v1", "Pod", "spec.containers", key(&["name"]), Some("name")),
        ("v1", "Pod", "spec.containers.[].ports", key(&["containerPort", "protocol"]), Some("containerPort")),
        ("v1", "Pod", "spec.containers.[].env", key(&["name"]), Some("name")),
        ("v1", "Pod", "spec.containers.[].volumeMounts", key(&["mountPath"]), Some("mountPath")),
        ("v1", "Pod", "spec.volumes", key(&["name"]), Some("name")),
        ("v1", "Pod", "spec.imagePullSecrets", key(&["name"]), Some("name")),
        ("v1", "Pod", "spec.tolerations", ListType::Atomic, None),
        ("v1", "Pod", "status.conditions", key(&["type"]), Some("type")),
        ("v1", "Pod", "metadata.ownerReferences", key(&["uid"]), Some("uid")),
        ("v1", "Pod", "metadata.finalizers", ListType::Set, None),
        ("v1", "Service", "spec.ports", key(&["port", "protocol"]), Some("port")),
        ("v1", "ServiceAccount", "secrets", key(&["name"]), Some("name")),
        ("apps/v1", "Deployment", "spec.template.spec.containers", key(&["name"]), Some("name")),
        ("apps/v1", "Deployment", "status.conditions", key(&["type"]), Some("type")),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", "rules", ListType::Atomic, None),
    ];
    for (api_version, kind, path, list, merge_key) in table {
        let schema = node(&named(api_version, kind).schema.get().expect("a schema"), path);
        assert_eq!(schema.list, list, "{kind} {path}");
        assert_eq!(schema.patch.merge_key.as_deref(), merge_key, "{kind} {path}");
        let merges = merge_key.is_some() || path.ends_with("finalizers");
        assert_eq!(schema.patch.merge, merges, "{kind} {path}");
    }
    let deployment = named("apps/v1", "Deployment").schema.get().expect("a schema");
    assert!(node(&deployment, "spec.strategy").patch.retain_keys);
    assert!(node(&deployment, "spec.selector").atomic_map);
    let port = node(&deployment, "spec.template.spec.containers.[].ports.[].protocol");
    assert_eq!(port.default, Some(json!("TCP")), "apply tells ports apart by it");
    assert!(node(&deployment, "spec.strategy.rollingUpdate.maxSurge").int_or_string);
}

#[test]
fn shapes_are_shared_cycles_end_and_free_values_stay_free() {
    let pod = named("v1", "Pod").schema.get().expect("a schema");
    let deployment = named("apps/v1", "Deployment").schema.get().expect("a schema");
    assert!(Arc::ptr_eq(&node(&pod, "spec"), &node(&deployment, "spec.template.spec")));
    assert!(Arc::ptr_eq(&node(&pod, "metadata"), &object_meta()));
    let crd = named("apiextensions.k8s.io/v1", "CustomResourceDefinition").schema.get().expect("a schema");
    let inner = node(&crd, "spec.versions.[].schema.openAPIV3Schema.properties");
    assert!(matches!(&inner.additional, Additional::Map(values) if values.preserve_unknown));
    let revision = named("apps/v1", "ControllerRevision").schema.get().expect("a schema");
    assert!(node(&revision, "data").preserve_unknown);
    assert!(schema("no.such.Definition").preserve_unknown);
    assert_eq!(
        node(&pod, "spec.containers.[].resources.limits.cpu").kind,
        None,
        "amounts are text or numbers"
    );
}

#[test]
fn descriptions_are_there_when_asked_for() {
    let definition = Definitions::described().get("io.k8s.api.apps.v1.DeploymentSpec").expect("a definition");
    assert!(definition["description"].as_str().is_some_and(|text| text.starts_with("DeploymentSpec is")));
    let replicas = &definition["properties"]["replicas"]["description"];
    assert!(replicas.as_str().is_some_and(|text| text.contains("Defaults to 1")));
    let last =
        Definitions::described().get("io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.ServiceReference");
    assert!(last.expect("the last definition")["description"].is_string());
}

#[test]
fn defaults_are_the_originals() {
    let spec = json!({ "containers": [{ "name": "a", "image": "nginx" }] });
    let template = json!({ "metadata": { "labels": { "a": "b" } }, "spec": spec });
    let table = [
        (
            "pods",
            "v1",
            "Pod",
            json!({ "spec": spec }),
            json!({ "spec": {
            "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30,
            "schedulerName": "default-scheduler", "securityContext": {}, "enableServiceLinks": true,
            "containers": [{ "imagePullPolicy": "Always", "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File", "resources": {} }] } }),
        ),
        (
            "a tag is not pulled again",
            "v1",
            "Pod",
            json!({ "spec": { "containers": [{ "name": "a", "image": "host:5000/nginx:1.2" }] } }),
            json!({ "spec": { "containers": [{ "imagePullPolicy": "IfNotPresent" }] } }),
        ),
        (
            "a host's port is no tag",
            "v1",
            "Pod",
            json!({ "spec": { "containers": [{ "name": "a", "image": "host:5000/nginx" }] } }),
            json!({ "spec": { "containers": [{ "imagePullPolicy": "Always" }] } }),
        ),
        (
            "a digest is not the latest",
            "v1",
            "Pod",
            json!({ "spec": { "containers": [{ "name": "a", "image": "nginx@sha256:00" }] } }),
            json!({ "spec": { "containers": [{ "imagePullPolicy": "IfNotPresent" }] } }),
        ),
        (
            "probes and ports",
            "v1",
            "Pod",
            json!({ "spec": { "containers": [{ "name": "a", "ports": [{ "containerPort": 1 }],
                "livenessProbe": { "httpGet": { "port": 80 }, "periodSeconds": 0 } }] } }),
            json!({ "spec": { "containers": [{ "ports": [{ "protocol": "TCP" }], "livenessProbe": {
                "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3,
                "httpGet": { "path": "/", "scheme": "HTTP" } } }] } }),
        ),
        (
            "requests follow limits, in canonical form",
            "v1",
            "Pod",
            json!({ "spec": { "containers": [{ "name": "a", "resources": { "limits": { "cpu": 1, "memory": "1024Mi" } } }] } }),
            json!({ "spec": { "containers": [{ "resources": {
                "limits": { "cpu": "1", "memory": "1Gi" }, "requests": { "cpu": "1", "memory": "1Gi" } } }] } }),
        ),
        (
            "volumes",
            "v1",
            "Pod",
            json!({ "spec": { "containers": [], "volumes": [{ "name": "a" }, { "name": "b", "secret": {} }] } }),
            json!({ "spec": { "volumes": [{ "emptyDir": {} }, { "secret": { "defaultMode": 420 } }] } }),
        ),
        (
            "null is absence",
            "v1",
            "Pod",
            json!({ "metadata": { "creationTimestamp": null }, "spec": { "dnsPolicy": null, "containers": [] } }),
            json!({ "metadata": {}, "spec": { "dnsPolicy": "ClusterFirst" } }),
        ),
        (
            "deployments",
            "apps/v1",
            "Deployment",
            json!({ "spec": { "template": template } }),
            json!({ "spec": {
            "replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600, "strategy": {
                "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": "25%", "maxSurge": "25%" } },
            "template": { "spec": { "restartPolicy": "Always" } } } }),
        ),
        (
            "stateful sets",
            "apps/v1",
            "StatefulSet",
            json!({ "spec": { "template": template } }),
            json!({ "spec": {
            "replicas": 1, "podManagementPolicy": "OrderedReady", "revisionHistoryLimit": 10,
            "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "partition": 0 } },
            "persistentVolumeClaimRetentionPolicy": { "whenDeleted": "Retain", "whenScaled": "Retain" } } }),
        ),
        (
            "daemon sets",
            "apps/v1",
            "DaemonSet",
            json!({ "spec": { "template": template } }),
            json!({ "spec": {
            "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": 1, "maxSurge": 0 } } } }),
        ),
        (
            "jobs",
            "batch/v1",
            "Job",
            json!({ "metadata": {}, "spec": { "template": template } }),
            json!({
            "metadata": { "labels": { "a": "b" } },
            "spec": { "completions": 1, "parallelism": 1, "backoffLimit": 6, "completionMode": "NonIndexed",
                "suspend": false, "manualSelector": false, "podReplacementPolicy": "TerminatingOrFailed" } }),
        ),
        (
            "cron jobs",
            "batch/v1",
            "CronJob",
            json!({ "spec": { "jobTemplate": { "spec": { "template": template } } } }),
            json!({ "spec": { "concurrencyPolicy": "Allow", "suspend": false, "successfulJobsHistoryLimit": 3,
                "failedJobsHistoryLimit": 1,
                "jobTemplate": { "spec": { "template": { "spec": { "dnsPolicy": "ClusterFirst" } } } } } }),
        ),
        (
            "services",
            "v1",
            "Service",
            json!({ "spec": { "ports": [{ "port": 80 }] } }),
            json!({ "spec": {
            "type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
            "ports": [{ "port": 80, "protocol": "TCP", "targetPort": 80 }] } }),
        ),
        (
            "named services",
            "v1",
            "Service",
            json!({ "spec": { "type": "ExternalName", "externalName": "a.b" } }),
            json!({ "spec": { "type": "ExternalName", "externalName": "a.b", "sessionAffinity": "None" } }),
        ),
        (
            "secrets keep base64",
            "v1",
            "Secret",
            json!({ "data": { "a": "eA==" }, "stringData": { "a": "y", "b": "z" } }),
            json!({ "type": "Opaque", "data": { "a": "eQ==", "b": "eg==" } }),
        ),
        (
            "namespaces",
            "v1",
            "Namespace",
            json!({ "metadata": { "name": "n" } }),
            json!({
            "metadata": { "labels": { "kubernetes.io/metadata.name": "n" } }, "status": { "phase": "Active" } }),
        ),
        (
            "claims",
            "v1",
            "PersistentVolumeClaim",
            json!({ "spec": { "resources": { "requests": { "storage": "0.5Gi" } } } }),
            json!({ "spec": { "volumeMode": "Filesystem", "resources": { "requests": { "storage": "512Mi" } } },
                "status": { "phase": "Pending" } }),
        ),
        (
            "bindings",
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            json!({ "roleRef": { "kind": "Role", "name": "r" }, "subjects": [
                { "kind": "User", "name": "u" }, { "kind": "ServiceAccount", "name": "s" }] }),
            json!({ "roleRef": { "apiGroup": "rbac.authorization.k8s.io" }, "subjects": [
                { "apiGroup": "rbac.authorization.k8s.io" }, { "kind": "ServiceAccount" }] }),
        ),
        (
            "limits",
            "v1",
            "LimitRange",
            json!({ "spec": { "limits": [{ "type": "Container", "max": { "cpu": "2" }, "min": { "memory": "1Mi" } }] } }),
            json!({ "spec": { "limits": [{ "default": { "cpu": "2" }, "defaultRequest": { "cpu": "2", "memory": "1Mi" } }] } }),
        ),
        (
            "policies",
            "networking.k8s.io/v1",
            "NetworkPolicy",
            json!({ "spec": { "podSelector": {}, "egress": [{ "ports": [{ "port": 1 }] }] } }),
            json!({ "spec": { "policyTypes": ["Ingress", "Egress"], "egress": [{ "ports": [{ "protocol": "TCP" }] }] } }),
        ),
        (
            "slices",
            "discovery.k8s.io/v1",
            "EndpointSlice",
            json!({ "ports": [{ "port": 1 }] }),
            json!({ "ports": [{ "name": "", "protocol": "TCP" }] }),
        ),
    ];
    for (rule, api_version, kind, given, want) in table {
        let got = defaulted(api_version, kind, given);
        assert!(holds(&got, &want), "{rule}:\n got {got}\nwant {want}");
    }
    let named = defaulted("v1", "Service", json!({ "spec": { "type": "ExternalName" } }));
    assert_eq!(named["spec"].get("ipFamilies"), None, "a named service has no addresses");
}

/// Whether everything in `want` is in `got`; lists are compared place by place.
fn holds(got: &Value, want: &Value) -> bool {
    match (got, want) {
        (Value::Object(got), Value::Object(want)) => {
            want.iter().all(|(key, want)| got.get(key).is_some_and(|got| holds(got, want)))
        }
        (Value::Array(got), Value::Array(want)) => {
            got.len() == want.len() && got.iter().zip(want).all(|(got, want)| holds(got, want))
        }
        _ => got == want,
    }
}

fn workload(labels: Value, selector: Value) -> Value {
    json!({ "spec": { "selector": selector, "template": {
        "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "c", "image": "i" }] } } } })
}

#[test]
fn new_objects_are_refused_with_the_originals_sentences() {
    let good = workload(json!({ "a": "b" }), json!({ "matchLabels": { "a": "b" } }));
    let edited = |edit: fn(&mut Value)| {
        let mut object = good.clone();
        edit(&mut object);
        object
    };
    const RBAC: &str = "rbac.authorization.k8s.io/v1";
    let table: Vec<(&str, &str, &str, Value, &[&str])> = vec![
        ("a good deployment", "apps/v1", "Deployment", good.clone(), &[]),
        (
            "a selector is needed, and nothing fits one that is not there",
            "apps/v1",
            "Deployment",
            edited(|d| d["spec"]["selector"] = Value::Null),
            &[
                "spec.selector: Required value",
                "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`",
            ],
        ),
        (
            "labels must match",
            "apps/v1",
            "Deployment",
            edited(|d| d["spec"]["selector"] = json!({ "matchLabels": { "a": "c" } })),
            &[
                "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`",
            ],
        ),
        (
            "expressions count",
            "apps/v1",
            "ReplicaSet",
            edited(|d| {
                d["spec"]["selector"] =
                    json!({ "matchExpressions": [{ "key": "a", "operator": "In", "values": ["b"] }] })
            }),
            &[],
        ),
        (
            "empty selectors select too much",
            "apps/v1",
            "StatefulSet",
            edited(|d| d["spec"]["selector"] = json!({})),
            &["spec.selector: Invalid value: {}: empty selector is invalid for statefulset"],
        ),
        (
            "no negative replicas",
            "apps/v1",
            "Deployment",
            edited(|d| d["spec"]["replicas"] = json!(-1)),
            &["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            "pods of deployments restart",
            "apps/v1",
            "Deployment",
            edited(|d| d["spec"]["template"]["spec"]["restartPolicy"] = json!("Never")),
            &["spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\""],
        ),
        (
            "recreating does not roll",
            "apps/v1",
            "Deployment",
            edited(|d| d["spec"]["strategy"] = json!({ "type": "Recreate", "rollingUpdate": {} })),
            &[
                "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
            ],
        ),
        ("containers are needed", "v1", "Pod", json!({ "spec": {} }), &["spec.containers: Required value"]),
        (
            "images are needed and names unique",
            "v1",
            "Pod",
            json!({ "spec": { "containers": [{ "name": "a" }, { "name": "a", "image": "i" }] } }),
            &["spec.containers[0].image: Required value", "spec.containers[1].name: Duplicate value: \"a\""],
        ),
        (
            "names are labels",
            "v1",
            "Pod",
            json!({ "spec": { "containers": [{ "name": "A", "image": "i" }] } }),
            &[
                "spec.containers[0].name: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case \
               alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or \
               '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            ],
        ),
        (
            "mounts need volumes",
            "v1",
            "Pod",
            json!({ "spec": { "containers": [{ "name": "a", "image": "i", "volumeMounts": [{ "name": "v", "mountPath": "/" }] }] } }),
            &["spec.containers[0].volumeMounts[0].name: Not found: \"v\""],
        ),
        (
            "schemas say what is required",
            "v1",
            "Pod",
            json!({ "spec": { "containers": [{ "name": "a", "image": "i", "env": [{ "value": "v" }] }] } }),
            &["spec.containers[0].env[0].name: Required value"],
        ),
        (
            "requests stay below limits",
            "v1",
            "Pod",
            json!({ "spec": { "containers": [{ "name": "a", "image": "i", "resources": { "limits": { "cpu": "1" }, "requests": { "cpu": "2" } } }] } }),
            &[
                "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1",
            ],
        ),
        (
            "jobs end",
            "batch/v1",
            "Job",
            json!({ "spec": { "selector": { "matchLabels": { "a": "b" } }, "template": good["spec"]["template"] } }),
            &["spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""],
        ),
        (
            "schedules have five words",
            "batch/v1",
            "CronJob",
            json!({ "spec": { "schedule": "* * *", "jobTemplate": { "spec": { "template": { "spec": {
                "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } } } } } }),
            &["spec.schedule: Invalid value: \"* * *\": expected exactly 5 fields, found 3: [* * *]"],
        ),
        ("services need ports", "v1", "Service", json!({ "spec": {} }), &["spec.ports: Required value"]),
        (
            "ports need names when there are two",
            "v1",
            "Service",
            json!({ "spec": { "ports": [{ "port": 80, "name": "a" }, { "port": 70000 }] } }),
            &[
                "spec.ports[1].name: Required value",
                "spec.ports[1].port: Invalid value: 70000: must be between 1 and 65535, inclusive",
                "spec.ports[1].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
            ],
        ),
        (
            "keys have letters",
            "v1",
            "ConfigMap",
            json!({ "data": { "a b": "c" } }),
            &[
                "data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or \
               '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
            ],
        ),
        (
            "one key in one bag",
            "v1",
            "ConfigMap",
            json!({ "data": { "a": "c" }, "binaryData": { "a": "eA==" } }),
            &["data[a]: Invalid value: \"a\": duplicate of key present in binaryData"],
        ),
        (
            "tls secrets have both halves",
            "v1",
            "Secret",
            json!({ "type": "kubernetes.io/tls", "data": { "tls.crt": "" } }),
            &["data[tls.key]: Required value"],
        ),
        (
            "a mebibyte is enough",
            "v1",
            "Secret",
            json!({ "stringData": { "a": "x".repeat(1_048_577) } }),
            &["data: Too long: may not be more than 1048576 bytes"],
        ),
        (
            "claims need modes and sizes",
            "v1",
            "PersistentVolumeClaim",
            json!({ "spec": {} }),
            &[
                "spec.accessModes: Required value: at least 1 access mode is required",
                "spec.resources[storage]: Required value",
            ],
        ),
        (
            "rules need verbs",
            RBAC,
            "Role",
            json!({ "rules": [{ "apiGroups": [""], "resources": ["pods"] }] }),
            &["rules[0].verbs: Required value: verbs must contain at least one value"],
        ),
        (
            "bindings bind",
            RBAC,
            "ClusterRoleBinding",
            json!({ "subjects": [{ "kind": "ServiceAccount", "name": "s" }] }),
            &[
                "roleRef.kind: Unsupported value: \"\": supported values: \"ClusterRole\"",
                "roleRef.name: Required value",
                "subjects[0].namespace: Required value",
            ],
        ),
        (
            "leases last",
            "coordination.k8s.io/v1",
            "Lease",
            json!({ "spec": { "leaseDurationSeconds": 0 } }),
            &["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
        ),
        (
            "ingresses lead somewhere",
            "networking.k8s.io/v1",
            "Ingress",
            json!({ "spec": {} }),
            &["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"],
        ),
        (
            "paths say how they match",
            "networking.k8s.io/v1",
            "Ingress",
            json!({ "spec": { "rules": [{ "http": { "paths": [{ "path": "/", "backend": {} }] } }] } }),
            &["spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified"],
        ),
        (
            "namespaces are labels",
            "v1",
            "Namespace",
            json!({ "metadata": { "name": "a.b" } }),
            &[
                "metadata.name: Invalid value: \"a.b\": a lowercase RFC 1123 label must consist of lower case alphanumeric \
               characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex \
               used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            ],
        ),
        (
            "events stay home",
            "v1",
            "Event",
            json!({ "metadata": { "namespace": "a" }, "involvedObject": { "namespace": "b" } }),
            &["involvedObject.namespace: Invalid value: \"b\": does not match event.namespace"],
        ),
        (
            "one bound is enough",
            "policy/v1",
            "PodDisruptionBudget",
            json!({ "spec": { "minAvailable": 1, "maxUnavailable": 1 } }),
            &[
                "spec: Invalid value: {\"minAvailable\":1,\"maxUnavailable\":1}: minAvailable and maxUnavailable cannot be both set",
            ],
        ),
    ];
    for (rule, api_version, kind, object, want) in table {
        assert_eq!(told(api_version, kind, object, None), want, "{rule}");
    }
}

#[test]
fn what_may_not_change_does_not_change() {
    let deployment = workload(json!({ "a": "b" }), json!({ "matchLabels": { "a": "b" } }));
    let edited = |object: &Value, edit: fn(&mut Value)| {
        let mut object = object.clone();
        edit(&mut object);
        object
    };
    let mut job = deployment.clone();
    job["spec"]["template"]["spec"]["restartPolicy"] = json!("Never");
    let pod = json!({ "spec": { "nodeName": "n", "containers": [{ "name": "c", "image": "i" }] } });
    let sealed = json!({ "immutable": true, "data": { "a": "eA==" } });
    let claim = json!({ "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } });
    let binding = json!({ "roleRef": { "kind": "Role", "name": "r" } });
    const RBAC: &str = "rbac.authorization.k8s.io/v1";
    /// The rule, the kind, the object before and after, and what is said.
    type Row<'a> = (&'a str, &'a str, &'a str, Value, Value, &'a [&'a str]);
    let table: Vec<Row> = vec![
        (
            "selectors",
            "apps/v1",
            "Deployment",
            deployment.clone(),
            workload(json!({ "a": "c" }), json!({ "matchLabels": { "a": "c" } })),
            &["spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"c\"}}: field is immutable"],
        ),
        (
            "replicas may",
            "apps/v1",
            "Deployment",
            deployment.clone(),
            edited(&deployment, |d| d["spec"]["replicas"] = json!(3)),
            &[],
        ),
        (
            "a set's service name",
            "apps/v1",
            "StatefulSet",
            deployment.clone(),
            edited(&deployment, |d| d["spec"]["serviceName"] = json!("s")),
            &[
                "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
               'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
            ],
        ),
        (
            "a job's completions",
            "batch/v1",
            "Job",
            job.clone(),
            edited(&job, |j| j["spec"]["completions"] = json!(2)),
            &["spec.completions: Invalid value: 2: field is immutable"],
        ),
        (
            "pod images may",
            "v1",
            "Pod",
            pod.clone(),
            edited(&pod, |p| p["spec"]["containers"][0]["image"] = json!("j")),
            &[],
        ),
        (
            "pod commands",
            "v1",
            "Pod",
            pod.clone(),
            edited(&pod, |p| p["spec"]["containers"][0]["command"] = json!(["x"])),
            &["spec: Forbidden: pod updates may not change fields other than \
               `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` \
               (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it \
               was previously negative)"],
        ),
        (
            "secret types",
            "v1",
            "Secret",
            json!({ "type": "a" }),
            json!({ "type": "b" }),
            &["type: Invalid value: \"b\": field is immutable"],
        ),
        (
            "sealed secrets",
            "v1",
            "Secret",
            sealed.clone(),
            json!({ "data": { "a": "eQ==" } }),
            &[
                "immutable: Forbidden: field is immutable when `immutable` is set",
                "data: Forbidden: field is immutable when `immutable` is set",
            ],
        ),
        (
            "sealed maps",
            "v1",
            "ConfigMap",
            sealed.clone(),
            json!({ "immutable": true, "data": { "a": "b" } }),
            &["data: Forbidden: field is immutable when `immutable` is set"],
        ),
        (
            "claims",
            "v1",
            "PersistentVolumeClaim",
            claim.clone(),
            edited(&claim, |c| c["spec"]["accessModes"] = json!(["ReadWriteMany"])),
            &[
                "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for \
               bound claims",
            ],
        ),
        (
            "role references",
            RBAC,
            "RoleBinding",
            binding.clone(),
            edited(&binding, |b| b["roleRef"]["name"] = json!("s")),
            &[
                "roleRef: Invalid value: {\"kind\":\"Role\",\"name\":\"s\",\"apiGroup\":\"rbac.authorization.k8s.io\"}: cannot change roleRef",
            ],
        ),
        (
            "service addresses",
            "v1",
            "Service",
            json!({ "spec": { "clusterIP": "10.0.0.1", "ports": [{ "port": 1 }] } }),
            json!({ "spec": { "clusterIP": "10.0.0.2", "ports": [{ "port": 1 }] } }),
            &["spec.clusterIPs[0]: Invalid value: [\"10.0.0.2\"]: may not change once set"],
        ),
        (
            "priorities",
            "scheduling.k8s.io/v1",
            "PriorityClass",
            json!({ "value": 1 }),
            json!({ "value": 2 }),
            &["value: Forbidden: may not be changed in an update."],
        ),
    ];
    for (rule, api_version, kind, old, new, want) in table {
        assert_eq!(told(api_version, kind, new, Some(old)), want, "{rule}");
    }
}

#[test]
fn creating_gives_the_status_and_the_generation_of_a_new_object() {
    let metadata = || json!({ "name": "x", "uid": "u", "generation": 9 });
    let given = || json!({ "metadata": metadata(), "spec": {}, "status": { "forged": true } });
    let table = [
        ("deployments", named("apps/v1", "Deployment"), json!({}), Some(1)),
        ("replica sets", named("apps/v1", "ReplicaSet"), json!({ "replicas": 0 }), Some(1)),
        ("pods", named("v1", "Pod"), json!({ "phase": "Pending", "qosClass": "BestEffort" }), Some(1)),
        ("services", named("v1", "Service"), json!({ "loadBalancer": {} }), None),
        ("nodes bring their status", named("v1", "Node"), json!({ "forged": true }), None),
        ("namespaces", named("v1", "Namespace"), json!({ "phase": "Active" }), None),
        ("custom resources", custom(true), Value::Null, Some(1)),
        ("custom resources without status", custom(false), json!({ "forged": true }), Some(1)),
    ];
    for (rule, kind, status, generation) in table {
        let mut object = given();
        prepare_create(&kind, &mut object);
        assert_eq!(object.get("status").cloned().unwrap_or_default(), status, "{rule}");
        assert_eq!(object["metadata"].get("generation").and_then(Value::as_i64), generation, "{rule}");
    }
    let mut namespace = given();
    prepare_create(&named("v1", "Namespace"), &mut namespace);
    assert_eq!(namespace["spec"], json!({ "finalizers": ["kubernetes"] }));
    let mut job = given();
    prepare_create(&named("batch/v1", "Job"), &mut job);
    assert_eq!(
        job["spec"]["selector"],
        json!({ "matchLabels": { "batch.kubernetes.io/controller-uid": "u" } })
    );
    assert_eq!(job["spec"]["template"]["metadata"]["labels"]["job-name"], "x");
}

#[test]
fn a_pod_is_treated_as_well_as_it_says_what_it_needs() {
    let both = |cpu: &str, memory: &str| json!({ "cpu": cpu, "memory": memory });
    let table = [
        ("says nothing", json!({}), "BestEffort"),
        ("asks without limit", json!({ "requests": both("1", "1Gi") }), "Burstable"),
        (
            "asks for its limit",
            json!({ "limits": both("1", "1Gi"), "requests": both("1000m", "1024Mi") }),
            "Guaranteed",
        ),
        ("asks for less", json!({ "limits": both("1", "1Gi"), "requests": both("1", "1Mi") }), "Burstable"),
    ];
    for (rule, resources, want) in table {
        let mut pod = json!({ "metadata": {}, "spec": { "containers": [{ "resources": resources }] } });
        prepare_create(&named("v1", "Pod"), &mut pod);
        assert_eq!(pod["status"]["qosClass"], want, "{rule}");
    }
}

#[test]
fn each_endpoint_writes_its_own_part() {
    let old = json!({ "metadata": { "name": "x", "generation": 4, "labels": { "a": "b" } }, "spec": { "n": 1 }, "status": { "s": 1 } });
    let new = |spec: i64, status: i64| json!({ "metadata": { "name": "x", "annotations": { "k": "v" } }, "spec": { "n": spec }, "status": { "s": status } });
    let told = |object: &Value| {
        format!(
            "spec {} status {} generation {} labels {} annotations {}",
            object["spec"]["n"],
            object["status"]["s"],
            object["metadata"]["generation"],
            object["metadata"]["labels"],
            object["metadata"]["annotations"]
        )
    };
    let (deployment, ingress) = (named("apps/v1", "Deployment"), named("networking.k8s.io/v1", "Ingress"));
    let table = [
        (
            "a wish counts",
            false,
            &ingress,
            new(2, 2),
            "spec 2 status 1 generation 5 labels null annotations {\"k\":\"v\"}",
        ),
        (
            "metadata does not",
            false,
            &ingress,
            new(1, 2),
            "spec 1 status 1 generation 4 labels null annotations {\"k\":\"v\"}",
        ),
        (
            "a deployment's annotations do",
            false,
            &deployment,
            new(1, 2),
            "spec 1 status 1 generation 5 labels null annotations {\"k\":\"v\"}",
        ),
        (
            "custom wishes count",
            false,
            &custom(true),
            new(2, 2),
            "spec 2 status 1 generation 5 labels null annotations {\"k\":\"v\"}",
        ),
        (
            "without /status all counts",
            false,
            &custom(false),
            new(1, 2),
            "spec 1 status 2 generation 5 labels null annotations {\"k\":\"v\"}",
        ),
        (
            "status of a built-in kind",
            true,
            &deployment,
            new(2, 2),
            "spec 1 status 2 generation 4 labels {\"a\":\"b\"} annotations {\"k\":\"v\"}",
        ),
        (
            "status of a custom kind",
            true,
            &custom(true),
            new(2, 2),
            "spec 1 status 2 generation 4 labels {\"a\":\"b\"} annotations null",
        ),
    ];
    for (rule, status, kind, mut object, want) in table {
        if status {
            prepare_status(kind, &mut object, &old)
        } else {
            prepare_update(kind, &mut object, &old)
        }
        assert_eq!(told(&object), want, "{rule}");
    }
    let mut secret = json!({ "metadata": { "generation": 7 }, "data": {} });
    prepare_update(&named("v1", "Secret"), &mut secret, &json!({ "metadata": {} }));
    assert_eq!(secret["metadata"].get("generation"), None, "secrets count nothing");
}

#[test]
fn a_replaced_service_keeps_what_it_was_given() {
    let old = json!({ "metadata": {}, "spec": { "type": "NodePort", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"],
        "ports": [{ "port": 80, "protocol": "TCP", "nodePort": 30080 }] } });
    let ports = json!([{ "port": 81, "protocol": "TCP" }, { "port": 80, "protocol": "TCP" }]);
    let mut new = json!({ "metadata": {}, "spec": { "type": "NodePort", "ports": ports } });
    prepare_update(&named("v1", "Service"), &mut new, &old);
    assert_eq!(new["spec"]["clusterIPs"], json!(["10.0.0.1"]));
    assert_eq!(new["spec"]["ports"][0].get("nodePort"), None);
    assert_eq!(new["spec"]["ports"][1]["nodePort"], 30080);
    let mut closed = json!({ "metadata": {}, "spec": { "type": "ExternalName" } });
    prepare_update(&named("v1", "Service"), &mut closed, &old);
    assert_eq!(closed["spec"], json!({ "type": "ExternalName" }));
}

#[test]
fn finalizing_a_namespace_writes_its_finalizers_alone() {
    let old = json!({ "metadata": { "name": "n", "resourceVersion": "2" }, "spec": { "finalizers": ["kubernetes"] },
        "status": { "phase": "Terminating" } });
    let mut new = json!({ "metadata": { "name": "n", "resourceVersion": "1", "labels": { "a": "b" } }, "spec": { "finalizers": [] } });
    prepare_finalize(&mut new, &old);
    assert_eq!(
        new,
        json!({ "metadata": { "name": "n", "resourceVersion": "1" }, "spec": { "finalizers": [] },
        "status": { "phase": "Terminating" } })
    );
}

#[test]
fn events_have_two_shapes_and_lose_nothing_between_them() {
    let core = json!({
        "kind": "Event", "apiVersion": "v1", "metadata": { "name": "e" },
        "involvedObject": { "kind": "Pod" }, "reason": "Started", "message": "it runs", "type": "Normal", "count": 3,
        "source": { "component": "kubelet" }, "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:01Z", "reportingComponent": "kubelet", "reportingInstance": "n1",
        "series": { "count": 2 }, "eventTime": null,
    });
    let mut event = core.clone();
    convert_event(&mut event, "events.k8s.io/v1");
    assert_eq!(
        event,
        json!({
            "kind": "Event", "apiVersion": "events.k8s.io/v1", "metadata": { "name": "e" },
            "regarding": { "kind": "Pod" }, "reason": "Started", "note": "it runs", "type": "Normal", "deprecatedCount": 3,
            "deprecatedSource": { "component": "kubelet" }, "deprecatedFirstTimestamp": "2026-01-01T00:00:00Z",
            "deprecatedLastTimestamp": "2026-01-01T00:00:01Z", "reportingController": "kubelet", "reportingInstance": "n1",
            "series": { "count": 2 }, "eventTime": null,
        })
    );
    convert_event(&mut event, "events.k8s.io/v1");
    convert_event(&mut event, "v1");
    assert_eq!(event, core);
}

#[test]
fn amounts_have_one_form() {
    let table = [
        (json!("1"), "1"),
        (json!(1), "1"),
        (json!(0.5), "500m"),
        (json!("0"), "0"),
        (json!("1000m"), "1"),
        (json!("1.5Gi"), "1536Mi"),
        (json!("1024Mi"), "1Gi"),
        (json!("100Ki"), "100Ki"),
        (json!("1Ki"), "1Ki"),
        (json!("0.5Ki"), "512"),
        (json!("1000"), "1k"),
        (json!("1500"), "1500"),
        (json!("2e3"), "2e3"),
        (json!("12e6"), "12e6"),
        (json!("0.0001"), "1m"),
        (json!("-5"), "-5"),
        (json!("+5G"), "5G"),
        (json!(".5"), "500m"),
    ];
    for (given, want) in table {
        assert_eq!(quantity::canonical(&given).as_deref(), Some(want), "{given}");
    }
    for wrong in [json!("x"), json!(""), json!("1.2.3"), json!("1Kb"), json!(true)] {
        assert_eq!(quantity::nanos(&wrong), None, "{wrong}");
    }
}
