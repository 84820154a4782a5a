use std::collections::BTreeSet;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{all, example};
use crate::{apps, claims, foreign, infra, projects, services};

/// Reads the example as its type and writes it again.
fn through<K: DeserializeOwned + Serialize>(example: Value) -> Value {
    let object: K = serde_json::from_value(example).expect("the example is an object of its type");
    serde_json::to_value(object).expect("an object is JSON")
}

fn round_trip(kind: &str, example: Value) -> Value {
    match kind {
        "Application" => through::<apps::Application>(example),
        "DataSource" => through::<apps::DataSource>(example),
        "ManagedService" => through::<services::ManagedService>(example),
        "DatabaseClaim" => through::<claims::DatabaseClaim>(example),
        "DbRoleClaim" => through::<claims::DbRoleClaim>(example),
        "AWSProvider" => through::<infra::AWSProvider>(example),
        "S3Bucket" => through::<infra::S3Bucket>(example),
        "RDSInstance" => through::<infra::RDSInstance>(example),
        "EC2Instance" => through::<infra::EC2Instance>(example),
        "SQSQueue" => through::<infra::SQSQueue>(example),
        "Project" => through::<projects::Project>(example),
        "Repository" => through::<projects::Repository>(example),
        "OCIRegistry" => through::<projects::OCIRegistry>(example),
        "ProjectSubscriptionBinding" => through::<projects::ProjectSubscriptionBinding>(example),
        "ProjectTargetBinding" => through::<projects::ProjectTargetBinding>(example),
        "Target" => through::<projects::Target>(example),
        "ProductDeployment" => through::<projects::ProductDeployment>(example),
        "ProductValidator" => through::<projects::ProductValidator>(example),
        "Cluster" => through::<foreign::cnpg::Cluster>(example),
        "Backup" => through::<foreign::cnpg::Backup>(example),
        "Image" => through::<foreign::kpack::Image>(example),
        "IngressRoute" => through::<foreign::traefik::IngressRoute>(example),
        "Certificate" => through::<foreign::certmanager::Certificate>(example),
        "GitRepository" => through::<foreign::flux::GitRepository>(example),
        "Kustomization" => through::<foreign::flux::Kustomization>(example),
        "CloudDatabaseClaim" => through::<foreign::cloud_database::CloudDatabaseClaim>(example),
        "ComponentSubscription" => through::<foreign::ocm::ComponentSubscription>(example),
        other => panic!("{other} has no row here"),
    }
}

/// Values of the first that the second does not have. Defaults may be added, nothing may be lost.
fn lost(before: &Value, after: &Value, path: &str) -> Vec<String> {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => before
            .iter()
            .flat_map(|(key, value)| {
                lost(value, after.get(key).unwrap_or(&Value::Null), &format!("{path}.{key}"))
            })
            .collect(),
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            before.iter().zip(after).flat_map(|(one, other)| lost(one, other, &format!("{path}[]"))).collect()
        }
        (before, after) if before == after => Vec::new(),
        (before, after) => vec![format!("{path}: {before} became {after}")],
    }
}

#[test]
fn every_example_is_read_and_written_without_loss() {
    for crd in all() {
        let kind = &crd.spec.names.kind;
        let before = example(kind);
        assert_eq!(before["kind"], **kind);
        assert_eq!(
            before["apiVersion"],
            format!("{}/{}", crd.spec.group, crd.spec.versions[0].name),
            "{kind}"
        );
        let after = round_trip(kind, before.clone());
        assert_eq!(lost(&before, &after, kind), Vec::<String>::new());
        assert_eq!(round_trip(kind, after.clone()), after, "{kind}: a second pass changes nothing");
    }
}

#[test]
fn every_example_belongs_to_a_kind() {
    let folder = format!("{}/../../examples", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(folder).expect("there is a folder of examples");
    let files: BTreeSet<String> = files
        .map(|file| file.expect("the folder can be read").file_name().to_string_lossy().into_owned())
        .collect();
    let mut kinds: BTreeSet<String> =
        all().iter().map(|crd| format!("{}.yaml", crd.spec.names.kind.to_lowercase())).collect();
    // What they live in, and programs to run.
    kinds.extend(["00-namespaces.yaml", "apps"].map(str::to_owned));
    assert_eq!(files, kinds);
}
