//! Names that tie what was made for a project to it.

use std::collections::BTreeMap;

use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

use super::Project;

/// What the namespace of a project and its ServiceAccount begin with.
pub const PREFIX: &str = "mpas";
/// Label of everything that was made for a project: the project's name.
pub const PROJECT_LABEL: &str = "mpas.ocm.software/project";
/// Label of everything that was made for a project: the project's own namespace.
pub const PROJECT_NAMESPACE_LABEL: &str = "mpas.ocm.software/project-namespace";
/// What the rights on the contents of repositories on this machine are on: `get` lets read them, `update` write them.
/// It is a subresource, so that who may push to a repository may not change its object.
pub const CONTENTS: &str = "contents";

/// Name of the namespace of a project.
pub fn namespace_of(project: &str) -> String {
    format!("{PREFIX}-{project}")
}

/// Name of the ServiceAccount of a project, in the project's namespace.
pub fn account_of(project: &str) -> String {
    format!("{PREFIX}-{project}")
}

/// Name of the `Repository` object for a repository of a project. It lies beside the project, where the credentials are.
pub fn repository_of(project: &str, repository: &str) -> String {
    let plain = repository.to_ascii_lowercase().replace('_', "-");
    let plain = plain.trim_matches(['.', '-']);
    if plain == project { project.to_owned() } else { format!("{project}-{plain}") }
}

/// Name of the Secret with the deploy key of a `Repository`. It lies in the project's namespace; for a repository without
/// a project, beside the object.
pub fn deploy_key_of(repository: &str) -> String {
    format!("{repository}-deploy-key")
}

/// The project that an object beside it was made for, by its controller.
pub fn project_of<K: Resource>(object: &K) -> Option<String> {
    let owners = object.owner_references().iter();
    let owner = owners.into_iter().find(|owner| owner.controller == Some(true))?;
    let ours = owner.kind == Project::kind(&()) && owner.api_version == Project::api_version(&());
    ours.then(|| owner.name.clone())
}

/// Name of the Secret with the logins to a project's registries, in the project's namespace.
pub fn pull_secret_of(project: &str) -> String {
    format!("{PREFIX}-{project}-registries")
}

/// The labels of everything that is made for a project.
pub fn labels_of(namespace: &str, project: &str) -> BTreeMap<String, String> {
    let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    BTreeMap::from([label(PROJECT_LABEL, project), label(PROJECT_NAMESPACE_LABEL, namespace)])
}

/// Holds a Kustomization to the project whose namespace it lies in: it runs as the project's ServiceAccount, in this
/// cluster, from a source of the same namespace. An account that is not named is written in; anything else is refused,
/// with the reason. `space` is the Namespace. What a write leaves as it was is not judged, so that a finalizer can always
/// be taken away.
pub fn confine(space: &Value, old: Option<&Value>, kustomization: &mut Value) -> Result<(), String> {
    let labels = &space["metadata"]["labels"];
    let (Some(project), Some(_)) = (labels[PROJECT_LABEL].as_str(), labels[PROJECT_NAMESPACE_LABEL].as_str())
    else {
        return Ok(());
    };
    if old.is_some_and(|old| old["spec"] == kustomization["spec"]) {
        return Ok(());
    }
    let namespace = space["metadata"]["name"].as_str().unwrap_or_default();
    let account = account_of(project);
    let spec = &mut kustomization["spec"];
    if !spec["kubeConfig"].is_null() {
        return Err(format!(
            "spec.kubeConfig leads out of project {project}: leave it out; a Target names places elsewhere"
        ));
    }
    if let Some(other) =
        spec["sourceRef"]["namespace"].as_str().filter(|named| !["", namespace].contains(named))
    {
        return Err(format!(
            "spec.sourceRef.namespace is {other}, which is not project {project}'s: use a source in {namespace}"
        ));
    }
    match spec["serviceAccountName"].as_str().unwrap_or_default() {
        "" => spec["serviceAccountName"] = json!(account),
        named if named == account => {}
        other => {
            return Err(format!(
                "spec.serviceAccountName is {other}, and in project {project} everything runs as {account}: leave it out"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kustomization_cannot_leave_its_project() {
        let space = json!({ "metadata": { "name": "mpas-shop", "labels": {
            PROJECT_LABEL: "shop", PROJECT_NAMESPACE_LABEL: "mpas-system" } } });
        let plain = json!({ "metadata": { "name": "plain" } });
        let git = json!({ "kind": "GitRepository", "name": "shop" });
        let elsewhere =
            |namespace: &str| json!({ "kind": "GitRepository", "name": "x", "namespace": namespace });
        let told = |space: &Value, old: Option<Value>, spec: Value| {
            let old = old.map(|spec| json!({ "spec": spec }));
            let mut object = json!({ "spec": spec });
            match confine(space, old.as_ref(), &mut object) {
                Ok(()) => object["spec"]["serviceAccountName"].as_str().unwrap_or("nobody").to_owned(),
                Err(why) => why,
            }
        };
        let table = [
            (&plain, None, json!({ "sourceRef": git }), "nobody"),
            (&plain, None, json!({ "serviceAccountName": "root" }), "root"),
            (&space, None, json!({ "sourceRef": git }), "mpas-shop"),
            (&space, None, json!({ "serviceAccountName": "" }), "mpas-shop"),
            (&space, None, json!({ "serviceAccountName": null }), "mpas-shop"),
            (&space, None, json!({ "serviceAccountName": "mpas-shop" }), "mpas-shop"),
            (&space, None, json!({ "sourceRef": elsewhere("mpas-shop") }), "mpas-shop"),
            (&space, None, json!({ "sourceRef": elsewhere("") }), "mpas-shop"),
            (
                &space,
                None,
                json!({ "serviceAccountName": "default" }),
                "spec.serviceAccountName is default, and in project shop everything runs as mpas-shop: leave it out",
            ),
            (
                &space,
                None,
                json!({ "sourceRef": elsewhere("flux-system") }),
                "spec.sourceRef.namespace is flux-system, which is not project shop's: use a source in mpas-shop",
            ),
            (
                &space,
                None,
                json!({ "kubeConfig": { "secretRef": { "name": "prod" } } }),
                "spec.kubeConfig leads out of project shop: leave it out; a Target names places elsewhere",
            ),
            // Cleared again.
            (
                &space,
                Some(json!({ "serviceAccountName": "mpas-shop", "path": "a" })),
                json!({ "path": "a" }),
                "mpas-shop",
            ),
            // Only its metadata changes.
            (
                &space,
                Some(json!({ "serviceAccountName": "old" })),
                json!({ "serviceAccountName": "old" }),
                "old",
            ),
        ];
        for (row, (space, old, spec, want)) in table.into_iter().enumerate() {
            assert_eq!(told(space, old, spec), want, "row {row}");
        }
    }

    #[test]
    fn repositories_have_names_that_kubernetes_takes() {
        let table = [
            ("shop", "shop", "shop"),
            ("shop", "config", "shop-config"),
            ("shop", "Shop_Deployments", "shop-shop-deployments"),
            ("shop", ".github", "shop-github"),
        ];
        for (project, repository, want) in table {
            assert_eq!(repository_of(project, repository), want);
        }
    }
}
