//! What the account of a project may do. Whole lists and no wildcard: a kind that comes later is not given away by itself.

use api::projects::tenancy::CONTENTS;
use k8s_openapi::api::rbac::v1::PolicyRule;

/// Deliver: what a Kustomization needs to apply, to see and to prune.
const DELIVER: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete"];
/// See how it goes.
const SEE: &[&str] = &["get", "list", "watch"];

/// One line of the rights: the table in `docs/projects.md` is made of these.
pub(in crate::projects::project) struct Right {
    pub(in crate::projects::project) group: &'static str,
    pub(in crate::projects::project) resources: &'static [&'static str],
    pub(in crate::projects::project) verbs: &'static [&'static str],
}

/// The rights inside the project's namespace.
pub(in crate::projects::project) const INSIDE: &[Right] = &[
    Right {
        group: "",
        resources: &["configmaps", "secrets", "services", "persistentvolumeclaims"],
        verbs: DELIVER,
    },
    Right { group: "", resources: &["pods", "pods/log", "events"], verbs: SEE },
    Right { group: "apps", resources: &["deployments", "statefulsets"], verbs: DELIVER },
    Right { group: "apps", resources: &["replicasets"], verbs: SEE },
    Right { group: "batch", resources: &["jobs", "cronjobs"], verbs: DELIVER },
    Right { group: "autoscaling", resources: &["horizontalpodautoscalers"], verbs: DELIVER },
    Right { group: "iaf.io", resources: &["applications", "managedservices"], verbs: DELIVER },
    Right {
        group: "persistance.atlas.infoblox.com",
        resources: &["databaseclaims", "dbroleclaims"],
        verbs: DELIVER,
    },
    Right {
        group: "aws-infra-operator.runner.codes",
        resources: &["awsproviders", "s3buckets", "rdsinstances", "ec2instances", "sqsqueues"],
        verbs: DELIVER,
    },
    Right {
        group: "mpas.ocm.software",
        resources: &[
            "projectsubscriptionbindings",
            "projecttargetbindings",
            "targets",
            "productdeployments",
            "productvalidators",
        ],
        verbs: DELIVER,
    },
    Right { group: "delivery.ocm.software", resources: &["componentsubscriptions"], verbs: DELIVER },
    Right { group: "source.toolkit.fluxcd.io", resources: &["gitrepositories"], verbs: DELIVER },
    Right { group: "kustomize.toolkit.fluxcd.io", resources: &["kustomizations"], verbs: DELIVER },
];

/// The rules of the Role in the project's namespace.
pub(super) fn inside() -> Vec<PolicyRule> {
    INSIDE.iter().map(|right| rule(right.group, right.resources, right.verbs, Vec::new())).collect()
}

/// The rules of the Role beside the project: its own object to read, its own repositories to read and to write.
pub(super) fn beside(project: &str, repositories: Vec<String>) -> Vec<PolicyRule> {
    let contents = format!("repositories/{CONTENTS}");
    vec![
        rule("mpas.ocm.software", &["projects"], &["get"], vec![project.to_owned()]),
        rule("mpas.ocm.software", &[&contents], &["get", "update"], repositories),
    ]
}

fn rule(group: &str, resources: &[&str], verbs: &[&str], names: Vec<String>) -> PolicyRule {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(words(resources)),
        verbs: words(verbs),
        resource_names: (!names.is_empty()).then_some(names),
        non_resource_urls: None,
    }
}
