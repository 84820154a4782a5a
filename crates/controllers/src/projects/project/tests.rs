use api::conditions::{
    CREDENTIALS_VALID, DELIVERY_READY, NAMESPACE_READY, READY, REGISTRIES_READY, REPOSITORIES_READY, find,
    holds,
};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kit::testing::{self, Bench, Gate, Scenario};
use serde_json::{Value, json};

use super::*;

mod ends;
mod players;
mod table;

/// The smallest project that has all steps.
fn small() -> Value {
    json!({
        "apiVersion": "mpas.ocm.software/v1alpha1", "kind": "Project",
        "metadata": { "name": "shop", "namespace": "mpas-system" },
        "spec": { "git": { "provider": "local", "org": "team" } },
    })
}

/// A project that uses everything.
fn large() -> Value {
    let mut project = small();
    project["spec"] = json!({
        "git": { "provider": "gitea", "org": "team", "domain": "git.example.com", "maintainers": ["@a", "@b"],
                 "repositories": [{ "name": "shop" }, { "name": "Shop_Config", "maintainers": ["@b", "@c"] }],
                 "credentials": { "secretRef": { "name": "git-token" } } },
        "oci": { "registries": [
            { "name": "own", "url": "registry.example.com/team", "credentials": { "secretRef": { "name": "own" } } },
            { "name": "hub", "url": "https://hub.example.com", "credentials": { "secretRef": { "name": "hub" } } },
            { "name": "open", "url": "http://open.example.com" } ] },
        "quota": { "hard": { "requests.cpu": "8000m", "count/secrets": "100" } },
        "limits": [{ "type": "Container", "default": { "memory": "512Mi" } }],
    });
    project
}

fn secret(name: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": "mpas-system" },
            "stringData": data })
}

fn given(scenario: Scenario<Projects>) -> Scenario<Projects> {
    let hub = json!({ "auths": { "hub.example.com": { "auth": "aHViOmh1Yg==" }, "else.example.com": { "auth": "canary" } } });
    scenario
        .given(secret("git-token", json!({ "token": "canary-of-git" })))
        .given(secret("own", json!({ "username": "me", "password": "canary-of-own" })))
        .given(secret("hub", json!({ ".dockerconfigjson": hub.to_string() })))
}

fn scenario(project: Value) -> impl Fn(&Gate) -> Scenario<Projects> {
    // Shorter than the project's interval: a pass that only comes because of it finds nothing to do.
    move |_| {
        let patience = std::time::Duration::from_secs(60);
        Scenario::new(Projects, project.clone()).world(players::play).patience(patience)
    }
}

fn shop() -> Name {
    Name::new("mpas-system", "shop")
}

async fn status(bench: &Bench) -> ProjectStatus {
    let project = bench.get::<Project>("mpas-system", "shop").await.expect("the project is there");
    project.status.unwrap_or_default()
}

#[tokio::test]
async fn the_smallest_project_comes_to_all_that_a_team_needs() {
    let bench = testing::converge(scenario(small())).await;
    let status = status(&bench).await;
    let steps =
        [CREDENTIALS_VALID, NAMESPACE_READY, REPOSITORIES_READY, REGISTRIES_READY, DELIVERY_READY, READY];
    for step in steps {
        assert!(holds(&status.conditions, step), "{step}: {:?}", status.conditions);
    }
    assert_eq!(status.service_account_name.as_deref(), Some("mpas-shop"));
    let first = status.repository_ref.expect("it has a repository");
    assert_eq!((first.namespace.as_str(), first.name.as_str()), ("mpas-system", "shop"));
    let made: Vec<String> =
        status.inventory.unwrap_or_default().entries.into_iter().map(|one| one.id).collect();
    let want = [
        "_mpas-shop__Namespace",
        "mpas-shop_mpas-shop__ServiceAccount",
        "mpas-shop_mpas-shop_rbac.authorization.k8s.io_Role",
        "mpas-shop_mpas-shop_rbac.authorization.k8s.io_RoleBinding",
        "mpas-shop_shop-bindings-subscriptions_kustomize.toolkit.fluxcd.io_Kustomization",
        "mpas-shop_shop-bindings-targets_kustomize.toolkit.fluxcd.io_Kustomization",
        "mpas-shop_shop-products_kustomize.toolkit.fluxcd.io_Kustomization",
        "mpas-shop_shop-subscriptions_kustomize.toolkit.fluxcd.io_Kustomization",
        "mpas-shop_shop-targets_kustomize.toolkit.fluxcd.io_Kustomization",
        "mpas-shop_shop_source.toolkit.fluxcd.io_GitRepository",
        "mpas-system_mpas-shop_rbac.authorization.k8s.io_Role",
        "mpas-system_mpas-shop_rbac.authorization.k8s.io_RoleBinding",
        "mpas-system_shop_mpas.ocm.software_Repository",
    ];
    assert_eq!(made, want);
    let kustomization = "shop-bindings-subscriptions";
    let kustomization =
        bench.get::<Kustomization>("mpas-shop", kustomization).await.expect("it is there").spec;
    assert_eq!(kustomization.service_account_name.as_deref(), Some("mpas-shop"));
    assert_eq!(kustomization.depends_on[0].name, "shop-bindings-targets");
    assert_eq!(kustomization.path.as_deref(), Some("./bindings/subscriptions"));
    assert!(kustomization.prune && kustomization.target_namespace.is_none());
    let source = bench.get::<GitRepository>("mpas-shop", "shop").await.expect("it is there").spec;
    assert_eq!(source.url, "http://git.localhost/git/team/shop.git");
    assert_eq!(source.secret_ref.map(|key| key.name).as_deref(), Some("shop-deploy-key"));
}

#[tokio::test]
async fn a_project_that_uses_everything_settles_and_only_logins_to_registries_enter_it() {
    let bench = testing::converge(move |gate: &Gate| given(scenario(large())(gate))).await;
    assert!(holds(&status(&bench).await.conditions, READY), "{:?}", status(&bench).await.conditions);
    let pull = bench.get::<Secret>("mpas-shop", "mpas-shop-registries").await.expect("there are logins");
    assert_eq!(pull.type_.as_deref(), Some("kubernetes.io/dockerconfigjson"));
    let document = &pull.data.expect("it has data")[".dockerconfigjson"].0;
    let document: Value = serde_json::from_slice(document).expect("JSON");
    let own = json!({ "username": "me", "password": "canary-of-own", "auth": "bWU6Y2FuYXJ5LW9mLW93bg==" });
    let want =
        json!({ "auths": { "registry.example.com": own, "hub.example.com": { "auth": "aHViOmh1Yg==" } } });
    assert_eq!(document, want, "the login to another registry stays outside");
    let account = bench.get::<ServiceAccount>("mpas-shop", "mpas-shop").await.expect("it is there");
    assert_eq!(account.image_pull_secrets.expect("it pulls")[0].name, "mpas-shop-registries");
    let config = bench.get::<Repository>("mpas-system", "shop-shop-config").await.expect("it is there").spec;
    assert_eq!(config.maintainers, ["@b", "@c", "@a"]);
    let role = bench.get::<Role>("mpas-system", "mpas-shop").await.expect("it is there");
    let rules = role.rules.expect("it has rules");
    let names = rules[1].resource_names.clone().unwrap_or_default();
    assert_eq!(names, ["shop", "shop-shop-config"]);
    assert!(
        bench.get::<OCIRegistry>("mpas-system", "shop-open").await.is_some_and(|open| open.spec.insecure)
    );
    assert!(bench.get::<ResourceQuota>("mpas-shop", "mpas-shop").await.is_some());
    // Nothing that is told shows what is secret.
    let project = bench.get::<Project>("mpas-system", "shop").await.expect("it is there");
    assert!(!format!("{project:?}").contains("canary"));
    // What leaves the spec leaves the world: bounds, logins, a repository with its delivery.
    let patch = json!({ "spec": { "quota": null, "limits": null, "oci": null, "git": { "repositories": [{ "name": "shop" }] } } });
    bench.patch::<Project>(&shop(), patch).await;
    players::settle(&bench, &shop()).await;
    assert!(bench.get::<ResourceQuota>("mpas-shop", "mpas-shop").await.is_none());
    assert!(bench.get::<LimitRange>("mpas-shop", "mpas-shop").await.is_none());
    assert!(bench.get::<Secret>("mpas-shop", "mpas-shop-registries").await.is_none());
    assert!(bench.get::<OCIRegistry>("mpas-system", "shop-own").await.is_none());
    assert!(bench.get::<Repository>("mpas-system", "shop-shop-config").await.is_none());
    assert!(bench.get::<GitRepository>("mpas-shop", "shop-shop-config").await.is_none());
    assert!(bench.get::<Kustomization>("mpas-shop", "shop-shop-config-products").await.is_none());
    assert!(bench.get::<Repository>("mpas-system", "shop").await.is_some());
    assert!(holds(&status(&bench).await.conditions, READY));
}

#[tokio::test]
async fn without_pruning_what_leaves_the_spec_stays_and_is_listed() {
    let bench = testing::converge(move |gate: &Gate| given(scenario(large())(gate))).await;
    let patch = json!({ "spec": { "prune": false, "git": { "repositories": [{ "name": "shop" }] } } });
    bench.patch::<Project>(&shop(), patch).await;
    players::settle(&bench, &shop()).await;
    assert!(bench.get::<Repository>("mpas-system", "shop-shop-config").await.is_some());
    let kept = bench.get::<Kustomization>("mpas-shop", "shop-shop-config-products").await;
    assert!(kept.is_some());
    let listed = status(&bench).await.inventory.unwrap_or_default().entries;
    assert!(listed.iter().any(|one| one.id == "mpas-system_shop-shop-config_mpas.ocm.software_Repository"));
}

#[tokio::test]
async fn any_broken_call_comes_to_the_same_end() {
    // In a namespace that is there before: what is left in the end is then nothing.
    let mut project = small();
    project["metadata"]["namespace"] = "default".into();
    testing::sweep(move |gate: &Gate| scenario(project.clone())(gate).looks_once()).await;
}

#[tokio::test]
async fn bindings_from_anywhere_are_listed() {
    let binding = |kind: &str, namespace: &str, name: &str, reference: Value| {
        let other = if kind == "ProjectTargetBinding" { "targetRef" } else { "subscriptionRef" };
        json!({ "apiVersion": "mpas.ocm.software/v1alpha1", "kind": kind,
                "metadata": { "name": name, "namespace": namespace },
                "spec": { "projectRef": reference, other: { "name": "x" } } })
    };
    let far = json!({ "name": "shop", "namespace": "mpas-system" });
    let near = json!({ "name": "shop" });
    let bench = testing::converge(move |gate: &Gate| {
        scenario(small())(gate)
            .given(binding("ProjectSubscriptionBinding", "elsewhere", "b", far.clone()))
            .given(binding("ProjectSubscriptionBinding", "mpas-system", "a", near.clone()))
            .given(binding("ProjectSubscriptionBinding", "elsewhere", "not-ours", near.clone()))
            .given(binding("ProjectTargetBinding", "elsewhere", "t", far.clone()))
    })
    .await;
    let status = status(&bench).await;
    assert_eq!(status.subscriptions, ["elsewhere/b", "mpas-system/a"]);
    assert_eq!(status.targets, ["elsewhere/t"]);
}

#[tokio::test]
async fn a_namespace_that_is_not_the_projects_is_neither_taken_nor_deleted() {
    let labels = |namespace: &str| {
        json!({ "mpas.ocm.software/project": "shop",
        "mpas.ocm.software/project-namespace": namespace, "app.kubernetes.io/managed-by": "terrace" })
    };
    let table = [
        (
            json!({}),
            "namespace mpas-shop exists and was not made for this project: make the project again under another name, or delete the namespace if nobody needs it",
        ),
        (
            labels("other"),
            "namespace mpas-shop belongs to project shop in namespace other: delete one of the two projects and make it again under another name",
        ),
    ];
    for (labels, want) in table {
        let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "mpas-shop", "labels": labels } });
        let theirs = json!({ "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": { "name": "shop-products", "namespace": "mpas-shop" },
            "spec": { "interval": "1m", "prune": true, "sourceRef": { "kind": "GitRepository", "name": "x" } } });
        let bench = testing::converge(move |gate: &Gate| {
            scenario(small())(gate).given(space.clone()).given(theirs.clone())
        })
        .await;
        let status = status(&bench).await;
        let told = find(&status.conditions, NAMESPACE_READY).expect("it is told");
        assert_eq!((told.reason.as_str(), told.message.as_str()), ("NotOurs", want));
        assert!(bench.get::<ServiceAccount>("mpas-shop", "mpas-shop").await.is_none());
        assert!(bench.get::<Repository>("mpas-system", "shop").await.is_none());
        bench.delete::<Project>(&shop()).await;
        players::settle(&bench, &shop()).await;
        assert!(bench.get::<Project>("mpas-system", "shop").await.is_none(), "its deletion ends");
        let space = bench.get::<Namespace>("", "mpas-shop").await.expect("it is still there");
        assert!(space.metadata.deletion_timestamp.is_none());
        let theirs = bench.get::<Kustomization>("mpas-shop", "shop-products").await.expect("still there");
        assert!(theirs.metadata.deletion_timestamp.is_none());
    }
}

/// The rights as RBAC sees them: asked of the server, not of the Role.
#[tokio::test]
async fn the_account_may_deliver_to_its_own_namespace_and_nothing_else() {
    let bench = testing::converge(scenario(small())).await;
    let reviews = kube::Api::<SubjectAccessReview>::all(bench.client().clone());
    let table = [
        ("mpas-shop", "create", "iaf.io", "applications", "", "", true),
        ("mpas-shop", "delete", "", "secrets", "", "", true),
        ("mpas-shop", "patch", "kustomize.toolkit.fluxcd.io", "kustomizations", "", "", true),
        ("mpas-system", "get", "mpas.ocm.software", "projects", "", "shop", true),
        ("mpas-system", "update", "mpas.ocm.software", "repositories", "contents", "shop", true),
        ("default", "create", "", "configmaps", "", "", false),
        ("mpas-system", "get", "", "secrets", "", "", false),
        ("mpas-system", "get", "mpas.ocm.software", "projects", "", "other", false),
        ("mpas-system", "list", "mpas.ocm.software", "projects", "", "", false),
        ("mpas-system", "update", "mpas.ocm.software", "repositories", "", "shop", false),
        ("mpas-system", "update", "mpas.ocm.software", "repositories", "contents", "other", false),
        ("mpas-shop", "create", "rbac.authorization.k8s.io", "rolebindings", "", "", false),
        ("mpas-shop", "create", "", "serviceaccounts", "token", "mpas-shop", false),
        ("mpas-shop", "update", "", "resourcequotas", "", "mpas-shop", false),
        ("", "patch", "", "namespaces", "", "mpas-shop", false),
    ];
    for (namespace, verb, group, resource, subresource, name, want) in table {
        let review = json!({ "metadata": {}, "spec": { "user": "system:serviceaccount:mpas-shop:mpas-shop",
            "groups": ["system:serviceaccounts", "system:serviceaccounts:mpas-shop", "system:authenticated"],
            "resourceAttributes": { "namespace": namespace, "verb": verb, "group": group, "resource": resource,
                                    "subresource": subresource, "name": name } } });
        let review = serde_json::from_value(review).expect("a review");
        let answer = reviews.create(&kube::api::PostParams::default(), &review).await.expect("an answer");
        let may = answer.status.is_some_and(|status| status.allowed);
        assert_eq!(may, want, "{verb} {resource}/{subresource} {name} in {namespace}");
    }
}

/// The rule as the binary mounts it, on the control plane itself.
#[tokio::test]
async fn a_kustomization_of_the_team_runs_as_the_project() {
    let bench = testing::converge(scenario(small())).await;
    bench.plane().rule(control_plane::Rule::new(
        "kustomize.toolkit.fluxcd.io",
        "Kustomization",
        |occasion, object| api::projects::tenancy::confine(occasion.namespace, occasion.old, object),
    ));
    let all = kube::Api::<Kustomization>::namespaced(bench.client().clone(), "mpas-shop");
    let team = |account: Value| {
        let spec = json!({ "interval": "1m", "prune": true, "serviceAccountName": account,
                           "sourceRef": { "kind": "GitRepository", "name": "shop" } });
        serde_json::from_value::<Kustomization>(json!({ "metadata": { "name": "team" }, "spec": spec }))
            .expect("a Kustomization")
    };
    let post = kube::api::PostParams::default();
    let refused = all.create(&post, &team(json!("default"))).await.expect_err("another account is refused");
    let words =
        "spec.serviceAccountName is default, and in project shop everything runs as mpas-shop: leave it out";
    assert!(refused.to_string().contains(words), "{refused}");
    let made = all.create(&post, &team(Value::Null)).await.expect("without an account it is taken");
    assert_eq!(made.spec.service_account_name.as_deref(), Some("mpas-shop"));
    // Our own are as the rule wants them: nothing is to be written.
    bench.gate().take();
    bench.pass(&Projects, &shop()).await.expect("a pass");
    assert!(bench.gate().writes().is_empty(), "{:?}", bench.gate().writes());
}

/// The table of rights in the documentation is the Role.
#[test]
fn the_documented_rights_are_those_of_the_role() {
    let text = include_str!("../../../../../docs/projects.md");
    let table = text.lines().skip_while(|line| !line.starts_with("| group |")).skip(2);
    let told: Vec<String> = table.take_while(|line| line.starts_with('|')).map(str::to_owned).collect();
    let role: Vec<String> = plan::rights::INSIDE
        .iter()
        .map(|right| {
            let group = if right.group.is_empty() { "(core)" } else { right.group };
            format!("| {group} | {} | {} |", right.resources.join(", "), right.verbs.join(", "))
        })
        .collect();
    assert_eq!(told, role, "docs/projects.md lags behind the Role");
}

/// What a tenant must never have is in no rule, and nothing is given by a wildcard.
#[test]
fn no_right_leads_out_of_the_project() {
    let barred = [
        "roles",
        "rolebindings",
        "serviceaccounts",
        "serviceaccounts/token",
        "resourcequotas",
        "limitranges",
        "namespaces",
        "projects",
        "repositories",
        "ociregistries",
        "pods/exec",
        "networkpolicies",
        "ingresses",
    ];
    for right in plan::rights::INSIDE {
        let words = right.resources.iter().chain(right.verbs).chain([&right.group]);
        assert!(words.clone().all(|word| !word.contains('*')), "{}", right.group);
        assert!(right.resources.iter().all(|resource| !barred.contains(resource)), "{:?}", right.resources);
        let strong = ["escalate", "bind", "impersonate", "deletecollection"];
        assert!(right.verbs.iter().all(|verb| !strong.contains(verb)), "{:?}", right.verbs);
    }
}
