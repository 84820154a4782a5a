//! What every write goes through: shaping by the schema, then judgement by every rule that applies.

use serde_json::{Value, json};

use super::{Call, body};
use crate::gates::names::NameRule;
use crate::gates::{limits, metadata};
use crate::kinds::{builtin, custom, schema};
use crate::server::{DEFINITIONS, NAMESPACES, Server};
use crate::status::{Cause, Reason, Status};

/// Prunes what the schema does not know and fills in defaults. Returns warnings for the client.
pub(crate) fn shape(call: &Call, object: &mut Value, duplicates: &[String]) -> Result<Vec<String>, Status> {
    let kind = &call.entry.kind;
    let mut unknown = Vec::new();
    if let Some(schema) = kind.schema.get() {
        if kind.builtin {
            right_types(call, &schema, object)?;
            if let Some(why) = builtin::unreadable(&schema, object) {
                return Err(Status::bad_request(format!(
                    "{} in version {:?} cannot be handled as a {}: {why}",
                    kind.kind, kind.version, kind.kind
                )));
            }
        }
        unknown = schema::prune(&schema, object);
        unknown.extend(prune_metadata(call, object)?);
        unknown.retain(|path| !path.starts_with("metadata.managedFields"));
        schema::default(&schema, object);
    }
    let warnings = body::field_validation(call, &unknown, duplicates)?;
    if let Some(schema) = kind.schema.get().filter(|_| kind.builtin) {
        builtin::default(kind, object);
        builtin::canonical_times(&schema, object);
    }
    if kind.storage.as_ref() == DEFINITIONS {
        custom::defaulted(object);
    }
    Ok(warnings)
}

/// Metadata has the same shape everywhere, whatever the schema of a custom resource says.
fn prune_metadata(call: &Call, object: &mut Value) -> Result<Vec<String>, Status> {
    let meta = builtin::object_meta();
    let Some(metadata) = object.get_mut("metadata") else { return Ok(Vec::new()) };
    let wrong = schema::validate(&meta, metadata, None);
    let null = |cause: &Cause| metadata.pointer(&body::pointer(&cause.field)).is_none_or(Value::is_null);
    if let Some(cause) = wrong.iter().find(|cause| cause.reason == "FieldValueTypeInvalid" && !null(cause)) {
        return Err(Status::bad_request(format!(
            "{} in version {:?} cannot be handled as a {}: metadata.{}: {}",
            call.entry.kind.kind, call.entry.kind.version, call.entry.kind.kind, cause.field, cause.message
        )));
    }
    Ok(schema::prune(&meta, metadata).into_iter().map(|path| format!("metadata.{path}")).collect())
}

/// A built-in kind with a value of the wrong type cannot even be read.
fn right_types(call: &Call, schema: &schema::Schema, object: &Value) -> Result<(), Status> {
    let kind = &call.entry.kind;
    let wrong = schema::validate(schema, object, None);
    // A null is an absence, whatever the type.
    let got = |cause: &Cause| object.pointer(&body::pointer(&cause.field)).map_or("value", body::go_type);
    let wrong = wrong.iter().find(|cause| cause.reason == "FieldValueTypeInvalid" && got(cause) != "null");
    let Some(cause) = wrong else { return Ok(()) };
    let got = got(cause);
    let want = cause.message.split("must be of type ").nth(1).and_then(|rest| rest.split(':').next());
    Err(Status::bad_request(format!(
        "{} in version {:?} cannot be handled as a {}: json: cannot unmarshal {got} into Go struct field {}.{} of \
         type {}",
        kind.kind,
        kind.version,
        kind.kind,
        kind.kind,
        struct_path(schema, &cause.field),
        want.unwrap_or("another kind")
    )))
}

/// The path of a field as the original names it: without the keys of maps and the places in lists.
fn struct_path(schema: &schema::Schema, field: &str) -> String {
    let mut words = Vec::new();
    let mut at = Some(schema);
    for word in field.split(['.', '[']).filter(|word| !word.ends_with(']')) {
        let declared = at.and_then(|node| node.properties.get(word));
        if declared.is_some() {
            words.push(word);
        }
        let next = declared
            .map(|node| node.as_ref())
            .or(at.and_then(|node| node.field(word)).map(|node| node.as_ref()));
        at = next.map(|node| node.items.as_deref().unwrap_or(node));
    }
    words.join(".")
}

/// Every rule that the finished object must keep.
pub(crate) fn judge(server: &Server, call: &Call, new: &Value, old: Option<&Value>) -> Result<(), Status> {
    let kind = &call.entry.kind;
    let name = new["metadata"]["name"].as_str().unwrap_or_default();
    let mut causes = match old {
        None => metadata::check_new(new, NameRule::of(&kind.group, &kind.plural), kind.namespaced),
        Some(old) => metadata::check_update(new, old),
    };
    if kind.builtin {
        causes.extend(builtin::check(kind, new, old));
    } else if let Some(schema) = kind.schema.get() {
        causes.extend(schema::validate_with_rules(&schema, call.entry.rules(), new, old));
    }
    if kind.storage.as_ref() == DEFINITIONS {
        causes.extend(custom::validate(new, old));
    }
    if !causes.is_empty() {
        return Err(Status::invalid(&kind.group, &kind.kind, name, causes));
    }
    rights_stay(server, call, new, old)
}

/// Nobody may hand out rights they do not hold.
fn rights_stay(server: &Server, call: &Call, new: &Value, old: Option<&Value>) -> Result<(), Status> {
    let kind = &call.entry.kind;
    if kind.group != "rbac.authorization.k8s.io" {
        return Ok(());
    }
    let policy = server.policy();
    match kind.kind.as_str() {
        "Role" | "ClusterRole" => policy.may_write_role(&call.user, new, old),
        _ if old
            .is_some_and(|old| old["subjects"] == new["subjects"] && old["roleRef"] == new["roleRef"]) =>
        {
            Ok(())
        }
        _ => policy.may_bind(&call.user, new),
    }
}

/// A namespaced object needs a namespace that is there and stays.
pub(crate) fn namespace_open(server: &Server, call: &Call, name: &str) -> Result<(), Status> {
    let kind = &call.entry.kind;
    let namespace = call.path.namespace.as_str();
    if !kind.namespaced {
        return Ok(());
    }
    let found = server.store.get(&crate::server::key(NAMESPACES, "", namespace));
    let Some(found) = found else { return Err(Status::not_found("", "namespaces", namespace)) };
    if !found.facts().deleting {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let cause = Cause::of(
        "NamespaceTerminating",
        "metadata.namespace",
        format!("namespace {namespace} is being terminated"),
    );
    Err(Status::forbidden(&kind.group, &kind.plural, name, &why).because(vec![cause]))
}

/// What the built-in admission adds to new objects: service accounts, limits, addresses.
pub(crate) fn admit_new(server: &Server, call: &Call, object: &mut Value) -> Result<(), Status> {
    let kind = &call.entry.kind;
    let namespace = call.path.namespace.as_str();
    refused_kinds(call)?;
    match kind.storage.as_ref() {
        "pods" => {
            service_account(server, namespace, object)?;
            priority(server, object)?;
            tolerations(object);
            limit_ranges(server, call, object)?;
        }
        "persistentvolumeclaims" => limit_ranges(server, call, object)?,
        "limitranges" => limits::complete(object),
        "services" => crate::verbs::service::allocate(server, object)?,
        DEFINITIONS => established(server, call, object),
        _ => {}
    }
    Ok(())
}

/// Kinds that may be listed but are not served yet say so, instead of being accepted and ignored.
fn refused_kinds(call: &Call) -> Result<(), Status> {
    let kind = &call.entry.kind;
    let what = match kind.group.as_str() {
        "admissionregistration.k8s.io" => {
            "admission webhooks and policies are not served by this control plane yet"
        }
        "apiregistration.k8s.io" => "API aggregation is not served by this control plane",
        _ => return Ok(()),
    };
    Err(Status::new(http::StatusCode::METHOD_NOT_ALLOWED, Reason::MethodNotAllowed, what).about(
        &kind.group,
        &kind.plural,
        "",
    ))
}

fn service_account(server: &Server, namespace: &str, pod: &mut Value) -> Result<(), Status> {
    let spec = &mut pod["spec"];
    let given = spec["serviceAccountName"].as_str().or(spec["serviceAccount"].as_str()).unwrap_or("default");
    let account = if given.is_empty() { "default" } else { given }.to_owned();
    if server.object("serviceaccounts", namespace, &account).is_none() {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let why = format!(
            "error looking up service account {namespace}/{account}: serviceaccount {account:?} not found"
        );
        return Err(Status::forbidden("", "pods", name, &why));
    }
    spec["serviceAccountName"] = json!(account);
    spec["serviceAccount"] = json!(account);
    Ok(())
}

/// How important a pod is: what its class says, or the class that is everybody's, or nothing special.
fn priority(server: &Server, pod: &mut Value) -> Result<(), Status> {
    let named = pod["spec"]["priorityClassName"].as_str().unwrap_or_default().to_owned();
    let classes = server.objects("priorityclasses.scheduling.k8s.io", None);
    let class = match named.as_str() {
        "" => classes.iter().find(|class| class["globalDefault"] == true),
        _ => classes.iter().find(|class| class["metadata"]["name"] == named),
    };
    let system = [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];
    let value = match class {
        Some(class) => class["value"].clone(),
        None if named.is_empty() => json!(0),
        None => match system.iter().find(|(name, _)| *name == named) {
            Some((_, value)) => json!(value),
            None => {
                let name = pod["metadata"]["name"].as_str().unwrap_or_default();
                let why = format!("no PriorityClass with name {named} was found");
                return Err(Status::forbidden("", "pods", name, &why));
            }
        },
    };
    let policy = class.and_then(|class| class["preemptionPolicy"].as_str()).unwrap_or("PreemptLowerPriority");
    let spec = &mut pod["spec"];
    if let Some(class) = class.filter(|_| named.is_empty()) {
        spec["priorityClassName"] = class["metadata"]["name"].clone();
    }
    spec["priority"] = value;
    spec["preemptionPolicy"] = json!(policy);
    Ok(())
}

/// A pod stays five minutes on a node that is not heard of, unless it says otherwise.
fn tolerations(pod: &mut Value) {
    let given = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
    let bears = |key: &str| {
        given.iter().any(|one| {
            let says = |field: &str, value: &str| one[field].as_str().unwrap_or_default() == value;
            (says("key", key) || says("key", "")) && (says("effect", "NoExecute") || says("effect", ""))
        })
    };
    let missing = ["not-ready", "unreachable"].map(|word| format!("node.kubernetes.io/{word}"));
    let missing = missing.iter().filter(|key| !bears(key)).map(
        |key| json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 }),
    );
    let all: Vec<Value> = given.iter().cloned().chain(missing).collect();
    pod["spec"]["tolerations"] = json!(all);
}

fn limit_ranges(server: &Server, call: &Call, object: &mut Value) -> Result<(), Status> {
    let kind = &call.entry.kind;
    for range in server.objects("limitranges", Some(&call.path.namespace)) {
        if kind.plural == "pods" {
            limits::fill(&range, object);
        }
        limits::check(&range, &kind.plural, object).map_err(|why| {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            Status::forbidden(&kind.group, &kind.plural, name, &why)
        })?;
    }
    Ok(())
}

/// A definition is served as soon as it is stored, unless its names are another's.
pub(crate) fn established(server: &Server, call: &Call, definition: &mut Value) {
    let own = definition["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let catalog = server.catalog();
    let taken = |group: &str, word: &str| {
        catalog.entries().iter().any(|entry| {
            let kind = &entry.kind;
            kind.group == group
                && kind.storage.as_ref() != own
                && (kind.plural == word
                    || kind.singular == word
                    || kind.kind == word
                    || kind.list_kind == word
                    || kind.short_names.iter().any(|short| short == word))
        })
    };
    definition["status"] = custom::accepted_status(definition, &taken, call.now);
    let finalizer = json!(CLEANUP);
    let finalizers = &mut definition["metadata"]["finalizers"];
    match finalizers.as_array_mut() {
        Some(list) if list.contains(&finalizer) => {}
        Some(list) => list.push(finalizer),
        None => *finalizers = json!([finalizer]),
    }
}

/// Holds a definition until its objects are gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";
