use super::*;

fn told(amounts: &Amounts) -> String {
    amounts.iter().map(|(name, amount)| format!("{name}={amount}")).collect::<Vec<_>>().join(" ")
}

fn pod() -> Value {
    json!({"spec": {"containers": [
        {"name": "a", "resources": {"requests": {"cpu": "100m", "memory": "1Gi", "gpu.io/x": "2"}, "limits": {"cpu": "1"}}},
        {"name": "b", "resources": {"requests": {"cpu": "200m"}}},
    ]}})
}

#[test]
fn every_kind_counts_for_its_own() {
    let service = |spec: Value| json!({"spec": spec});
    let ports = json!([{"port": 1}, {"port": 2, "nodePort": 30000}]);
    let table = [
        ("custom resource", "demo.io", "widgets", json!({}), "count/widgets.demo.io=1"),
        ("configmap", "", "configmaps", json!({}), "configmaps=1 count/configmaps=1"),
        ("secret", "", "secrets", json!({}), "count/secrets=1 secrets=1"),
        (
            "pod",
            "",
            "pods",
            pod(),
            "count/pods=1 cpu=300m limits.cpu=1 memory=1Gi pods=1 requests.cpu=300m requests.gpu.io/x=2 requests.memory=1Gi",
        ),
        ("finished pod", "", "pods", json!({"status": {"phase": "Succeeded"}}), "count/pods=1"),
        (
            "service",
            "",
            "services",
            service(json!({"ports": ports})),
            "count/services=1 services=1 services.loadbalancers=0 services.nodeports=0",
        ),
        (
            "node ports",
            "",
            "services",
            service(json!({"type": "NodePort", "ports": ports})),
            "count/services=1 services=1 services.loadbalancers=0 services.nodeports=2",
        ),
        (
            "load balancer",
            "",
            "services",
            service(json!({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": ports})),
            "count/services=1 services=1 services.loadbalancers=1 services.nodeports=1",
        ),
        (
            "claim",
            "",
            "persistentvolumeclaims",
            json!({"spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1.5"}}}}),
            "count/persistentvolumeclaims=1 fast.storageclass.storage.k8s.io/persistentvolumeclaims=1 \
             fast.storageclass.storage.k8s.io/requests.storage=2 persistentvolumeclaims=1 requests.storage=2",
        ),
    ];
    for (rule, group, plural, object, want) in table {
        assert_eq!(told(&usage(group, plural, &object)), want, "{rule}");
    }
}

#[test]
fn a_full_quota_refuses_in_the_originals_words() {
    let quota = |used: Value| json!({"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1", "requests.cpu": "1"}}, "status": {"used": used}});
    let empty = quota(json!({"pods": "0", "requests.cpu": "0"}));
    let full = quota(json!({"pods": "1", "requests.cpu": "800m"}));
    let new = pod();
    assert_eq!(admit(&empty, "", "pods", &new, None), Ok(Some(json!({"pods": "1", "requests.cpu": "300m"}))));
    let want = "exceeded quota: q, requested: pods=1,requests.cpu=300m, used: pods=1,requests.cpu=800m, limited: \
                pods=1,requests.cpu=1";
    assert_eq!(admit(&full, "", "pods", &new, None), Err(want.into()));
    assert_eq!(admit(&full, "", "pods", &new, Some(&new)), Ok(None), "an update that adds nothing");
    assert_eq!(admit(&full, "", "configmaps", &json!({}), None), Ok(None), "a kind the quota does not name");
    let silent = json!({"spec": {"containers": [{"name": "c"}, {"name": "b"}]}});
    let want = "failed quota: q: must specify requests.cpu for: b,c";
    assert_eq!(admit(&empty, "", "pods", &silent, None), Err(want.into()));
    let one = Amounts::from([("pods".to_owned(), Quantity::count(1))]);
    assert_eq!(
        exceeded("q", &one, &one, &one).as_deref(),
        Some("exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1")
    );
}

#[test]
fn an_update_counts_for_what_it_adds() {
    let claim = |size: &str| json!({"spec": {"resources": {"requests": {"storage": size}}}});
    let quota = json!({
        "metadata": {"name": "q"}, "spec": {"hard": {"requests.storage": "3Gi"}},
        "status": {"used": {"requests.storage": "2Gi"}},
    });
    let grown = |size: &str| admit(&quota, "", "persistentvolumeclaims", &claim(size), Some(&claim("1Gi")));
    assert_eq!(grown("2Gi"), Ok(Some(json!({"requests.storage": "3Gi"}))));
    assert!(grown("3Gi").is_err());
    assert_eq!(grown("512Mi"), Ok(None));
}

#[test]
fn usage_is_counted_anew_from_all_objects() {
    let quota = json!({"spec": {"hard": {"pods": "5", "count/configmaps": "5", "requests.cpu": "2", "secrets": "1"}}});
    let (one, map) = (pod(), json!({}));
    let objects = [("", "pods", &one), ("", "pods", &one), ("", "configmaps", &map)];
    let want = json!({"count/configmaps": "1", "pods": "2", "requests.cpu": "600m", "secrets": "0"});
    assert_eq!(used(&quota, objects), want);
}

#[test]
fn scopes_choose_among_pods() {
    let idle = json!({"spec": {"containers": [{"name": "a"}]}});
    let mut brief = pod();
    brief["spec"]["activeDeadlineSeconds"] = json!(5);
    brief["spec"]["priorityClassName"] = json!("high");
    let named = |operator: &str, values: Value| json!({"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": operator, "values": values}]}});
    let table = [
        ("terminating", json!({"scopes": ["Terminating"]}), &brief, true),
        ("terminating, endless", json!({"scopes": ["Terminating"]}), &idle, false),
        ("not terminating", json!({"scopes": ["NotTerminating"]}), &idle, true),
        ("best effort", json!({"scopes": ["BestEffort"]}), &idle, true),
        ("best effort, asking", json!({"scopes": ["BestEffort"]}), &brief, false),
        ("both", json!({"scopes": ["NotBestEffort", "Terminating"]}), &brief, true),
        ("class in", named("In", json!(["high"])), &brief, true),
        ("class not in", named("NotIn", json!(["high"])), &brief, false),
        ("class exists", named("Exists", json!([])), &idle, false),
        ("unknown", json!({"scopes": ["CrossNamespacePodAffinity"]}), &idle, false),
    ];
    for (rule, mut spec, pod, want) in table {
        spec["hard"] = json!({"pods": "5"});
        let quota = json!({"spec": spec});
        assert_eq!(admit(&quota, "", "pods", pod, None).is_ok_and(|used| used.is_some()), want, "{rule}");
        assert_eq!(admit(&quota, "", "secrets", &json!({}), None), Ok(None), "{rule}: pods only");
    }
}
