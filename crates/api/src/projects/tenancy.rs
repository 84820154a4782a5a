//! Names that tie what was made for a project to it.

use kube::{Resource, ResourceExt};

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

#[cfg(test)]
mod tests {
    use super::*;

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
