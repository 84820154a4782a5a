use super::*;

fn range(item: Value) -> Value {
    json!({"spec": {"limits": [item]}})
}

fn pod(resources: Value) -> Value {
    json!({"spec": {"containers": [{"name": "a", "resources": resources}]}})
}

#[test]
fn defaults_reach_containers_and_leave_a_note() {
    let range = range(json!({
        "type": "Container", "default": {"memory": "512Mi", "cpu": "1"}, "defaultRequest": {"cpu": "100m"},
    }));
    let mut pod = json!({"spec": {
        "containers": [{"name": "a"}, {"name": "b", "resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}}],
        "initContainers": [{"name": "i"}],
    }});
    fill(&range, &mut pod);
    let full = json!({"requests": {"cpu": "100m"}, "limits": {"cpu": "1", "memory": "512Mi"}});
    assert_eq!(pod["spec"]["containers"][0]["resources"], full);
    assert_eq!(pod["spec"]["initContainers"][0]["resources"], full);
    let kept = json!({"limits": {"cpu": "2", "memory": "512Mi"}, "requests": {"cpu": "1"}});
    assert_eq!(pod["spec"]["containers"][1]["resources"], kept);
    assert_eq!(
        pod["metadata"]["annotations"]["kubernetes.io/limit-ranger"],
        "LimitRanger plugin set: cpu request for container a; cpu, memory limit for container a; memory limit for \
         container b; cpu request for init container i; cpu, memory limit for init container i"
    );
    let mut other = json!({"spec": {"containers": [{"name": "a"}]}});
    let before = other.clone();
    fill(&json!({"spec": {"limits": [{"type": "Pod", "default": {"cpu": "1"}}]}}), &mut other);
    assert_eq!(other, before, "defaults are for containers");
    let mut odd =
        json!({"metadata": 1, "spec": {"containers": ["x", {"name": "a", "resources": 2}, {"name": "b"}]}});
    fill(&range, &mut odd);
    assert_eq!(odd["spec"]["containers"][1]["resources"], 2, "what is no map is left to validation");
}

#[test]
fn a_limit_range_fills_its_own_gaps() {
    let mut item =
        range(json!({"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1", "memory": "1Mi"}}));
    complete(&mut item);
    let limits = &item["spec"]["limits"][0];
    assert_eq!(limits["default"], json!({"cpu": "2"}));
    assert_eq!(limits["defaultRequest"], json!({"cpu": "2", "memory": "1Mi"}));
    let mut item = range(json!({"type": "Pod", "max": {"cpu": "2"}}));
    complete(&mut item);
    assert_eq!(item["spec"]["limits"][0]["default"], Value::Null);
}

#[test]
fn bounds_are_told_in_the_originals_words() {
    let container = |field: &str, amount: &str| range(json!({"type": "Container", field: {"cpu": amount}}));
    let asks =
        |request: &str, limit: &str| pod(json!({"requests": {"cpu": request}, "limits": {"cpu": limit}}));
    let table = [
        ("inside", container("max", "2"), asks("1", "2"), ""),
        (
            "below",
            container("min", "1"),
            asks("500m", "2"),
            "minimum cpu usage per Container is 1, but request is 500m",
        ),
        (
            "limit below",
            container("min", "1"),
            asks("1", "500m"),
            "minimum cpu usage per Container is 1, but limit is 500m",
        ),
        (
            "no request",
            container("min", "1"),
            pod(json!({})),
            "minimum cpu usage per Container is 1.  No request is specified",
        ),
        (
            "above",
            container("max", "1"),
            asks("1", "2"),
            "maximum cpu usage per Container is 1, but limit is 2",
        ),
        (
            "request above",
            container("max", "1"),
            asks("2", "1"),
            "maximum cpu usage per Container is 1, but request is 2",
        ),
        (
            "no limit",
            container("max", "1"),
            pod(json!({})),
            "maximum cpu usage per Container is 1.  No limit is specified",
        ),
        ("ratio", container("maxLimitRequestRatio", "2"), asks("1", "2"), ""),
        (
            "ratio above",
            container("maxLimitRequestRatio", "2"),
            asks("400m", "1"),
            "cpu max limit to request ratio per Container is 2, but provided ratio is 2.500000",
        ),
        (
            "ratio without request",
            container("maxLimitRequestRatio", "2"),
            pod(json!({})),
            "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0",
        ),
        (
            "pod above",
            range(json!({"type": "Pod", "max": {"cpu": "1"}})),
            asks("1", "1500m"),
            "maximum cpu usage per Pod is 1, but limit is 1500m",
        ),
    ];
    for (rule, range, pod, want) in table {
        assert_eq!(check(&range, "pods", &pod).err().unwrap_or_default(), want, "{rule}");
    }
    let both = range(json!({"type": "Container", "min": {"cpu": "1"}, "max": {"memory": "1Gi"}}));
    assert_eq!(
        check(&both, "pods", &pod(json!({}))).err().as_deref(),
        Some(
            "[minimum cpu usage per Container is 1.  No request is specified, maximum memory usage per Container \
             is 1Gi.  No limit is specified]"
        )
    );
}

#[test]
fn claims_have_bounds_on_storage() {
    let range =
        range(json!({"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}}));
    let asks = |size: &str| json!({"spec": {"resources": {"requests": {"storage": size}}}});
    let told = |size: &str| check(&range, "persistentvolumeclaims", &asks(size)).err().unwrap_or_default();
    assert_eq!(told("1536Mi"), "");
    assert_eq!(told("512Mi"), "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 512Mi");
    assert_eq!(told("3Gi"), "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi");
    assert_eq!(check(&range, "secrets", &asks("3Gi")), Ok(()));
}

#[test]
fn a_pod_asks_for_its_greediest_moment() {
    let asks = |name: &str, cpu: &str| json!({"name": name, "resources": {"requests": {"cpu": cpu}}});
    let mut sidecar = asks("s", "300m");
    sidecar["restartPolicy"] = json!("Always");
    let mut pod = json!({"spec": {
        "containers": [asks("a", "100m"), asks("b", "200m")],
        "initContainers": [asks("first", "400m"), sidecar, asks("second", "700m")],
    }});
    let total = |pod: &Value| pod_total(pod, "requests")["cpu"].to_string();
    assert_eq!(total(&pod), "1", "the second init container runs beside the sidecar");
    pod["spec"]["initContainers"] = json!([]);
    assert_eq!(total(&pod), "300m");
    pod["spec"]["resources"] = json!({"requests": {"cpu": "50m"}});
    assert_eq!(total(&pod), "50m", "the pod's own word goes first");
}
