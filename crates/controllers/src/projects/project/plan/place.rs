//! The namespace, and what is in it from the beginning: the account, its rights, its bounds.

use api::annotations::MANAGED_BY;
use api::projects::Project;
use api::projects::tenancy::{account_of, labels_of, namespace_of, pull_secret_of};
use k8s_openapi::api::core::v1::{LocalObjectReference, Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject};
use kit::{Address, Child, Do, MANAGER};
use kube::ResourceExt;
use kube::api::ObjectMeta;

use super::{Step, World, bounds, hosts, pull, rights};

const RBAC: &str = "rbac.authorization.k8s.io";
/// Keeps a cluster's pods from taking the node they run on (Kubernetes, Pod Security Standards).
const POD_SECURITY: (&str, &str) = ("pod-security.kubernetes.io/enforce", "baseline");

/// Makes the Namespace. It is created and never applied: one that comes in between stays whose it is.
pub(super) fn space(project: &Project) -> Step {
    let mut meta = meta(project, "", namespace_of(&project.name_any()));
    let labels = meta.labels.get_or_insert_default();
    labels.insert(MANAGED_BY.to_owned(), MANAGER.to_owned());
    labels.insert(POD_SECURITY.0.to_owned(), POD_SECURITY.1.to_owned());
    meta.namespace = None;
    let space = Namespace { metadata: meta, ..Namespace::default() };
    Do::Create(Box::new(Child::of(&space).unowned()))
}

/// The account, its rights and its bounds; what the spec no longer asks for goes.
pub(super) fn steps(project: &Project, world: &World) -> Vec<Step> {
    let name = project.name_any();
    let (within, account) = (namespace_of(&name), account_of(&name));
    let own = project.namespace().unwrap_or_default();
    let pull = pull::secret(project, world);
    let pulls = pull.is_some().then(|| vec![LocalObjectReference { name: pull_secret_of(&name) }]);
    let mut wanted: Vec<Child> = Vec::new();
    wanted.extend(pull.map(|secret| Child::of(&secret).unowned()));
    wanted.push(
        Child::of(&ServiceAccount {
            metadata: meta(project, &within, account.clone()),
            image_pull_secrets: pulls,
            ..ServiceAccount::default()
        })
        .unowned(),
    );
    wanted.push(Child::of(&role(project, &within, rights::inside())).unowned());
    wanted.push(Child::of(&binding(project, &within)).unowned());
    let repositories = hosts::repositories(project).iter().map(ResourceExt::name_any).collect();
    wanted.push(Child::of(&role(project, &own, rights::beside(&name, repositories))));
    wanted.push(Child::of(&binding(project, &own)));
    wanted.extend(bounds::quota(project, &within).map(|quota| Child::of(&quota).unowned()));
    wanted.extend(bounds::limits(project, &within).map(|limits| Child::of(&limits).unowned()));
    let dropped: Vec<&Address> =
        world.made.iter().filter(|made| !wanted.iter().any(|child| child.address == **made)).collect();
    let dropped: Vec<Step> = dropped.into_iter().map(|made| Do::Delete(made.clone(), None)).collect();
    wanted.into_iter().map(|child| Do::Apply(Box::new(child))).chain(dropped).collect()
}

/// What every object of the project carries.
pub(super) fn meta(project: &Project, namespace: &str, name: String) -> ObjectMeta {
    let own = project.namespace().unwrap_or_default();
    ObjectMeta {
        name: Some(name),
        namespace: Some(namespace.to_owned()),
        labels: Some(labels_of(&own, &project.name_any())),
        ..ObjectMeta::default()
    }
}

fn role(project: &Project, namespace: &str, rules: Vec<PolicyRule>) -> Role {
    Role { metadata: meta(project, namespace, account_of(&project.name_any())), rules: Some(rules) }
}

/// Gives the project's account the Role of the same name in a namespace.
fn binding(project: &Project, namespace: &str) -> RoleBinding {
    let name = account_of(&project.name_any());
    let subject = Subject {
        kind: "ServiceAccount".into(),
        name: name.clone(),
        namespace: Some(namespace_of(&project.name_any())),
        api_group: None,
    };
    RoleBinding {
        metadata: meta(project, namespace, name.clone()),
        role_ref: RoleRef { api_group: Some(RBAC.into()), kind: "Role".into(), name },
        subjects: Some(vec![subject]),
    }
}
