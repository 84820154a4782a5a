//! What runs: the Deployment and its Service.

use std::collections::BTreeMap;

use api::annotations::{APPLICATION, MANAGED_BY, SOURCE};
use api::apps::Application;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment};
use k8s_openapi::api::core::v1::{
    Capabilities, Container, ContainerPort, EnvVar, PodSecurityContext, PodSpec, PodTemplateSpec, Probe,
    SeccompProfile, SecurityContext, Service, ServicePort, ServiceSpec, TCPSocketAction,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::World;
use super::source::Source;

/// The label by which most tools know the name of a program.
const NAME_LABEL: &str = "app.kubernetes.io/name";
/// The name of the one container.
pub(super) const CONTAINER: &str = "app";
/// The name of the one port, in pods and in the Service.
pub(super) const PORT_NAME: &str = "http";
/// The port of the Service.
pub(super) const SERVICE_PORT: i32 = 80;
/// How many versions before this one `rollback` can choose from; the default of Kubernetes.
const HISTORY: i32 = 10;
/// How long a program may take to end its requests, in seconds; the default of Kubernetes.
const GRACE: i64 = 30;

/// The name of an application and of its children.
pub(super) fn name(app: &Application) -> &str {
    app.metadata.name.as_deref().unwrap_or_default()
}

/// Its namespace.
pub(super) fn namespace(app: &Application) -> &str {
    app.metadata.namespace.as_deref().unwrap_or_default()
}

/// What every child carries.
pub(super) fn metadata(app: &Application) -> ObjectMeta {
    ObjectMeta {
        name: Some(name(app).to_owned()),
        namespace: app.metadata.namespace.clone(),
        labels: Some(labels(app)),
        ..ObjectMeta::default()
    }
}

/// Copies that take requests.
pub(super) fn available(world: &World) -> i32 {
    let status = world.deployment.as_ref().and_then(|deployment| deployment.status.as_ref());
    status.and_then(|status| status.available_replicas).unwrap_or_default()
}

/// The image that runs, or is rolled out.
pub(super) fn running(world: &World) -> Option<String> {
    let pod = world.deployment.as_ref()?.spec.as_ref()?.template.spec.as_ref()?;
    pod.containers.iter().find(|container| container.name == CONTAINER)?.image.clone()
}

/// What runs the image.
pub(super) fn deployment(
    app: &Application,
    image: &str,
    source: &Source<'_>,
    env: Vec<EnvVar>,
) -> Deployment {
    let mut metadata = metadata(app);
    metadata.annotations = Some(BTreeMap::from([(SOURCE.to_owned(), source.json())]));
    // A new copy takes requests before an old one goes.
    let rolling = RollingUpdateDeployment {
        max_surge: Some(IntOrString::String("25%".into())),
        max_unavailable: Some(IntOrString::Int(0)),
    };
    let strategy = DeploymentStrategy { type_: Some("RollingUpdate".into()), rolling_update: Some(rolling) };
    let template = PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: Some(labels(app)), ..ObjectMeta::default() }),
        spec: Some(pod(app, image, env)),
    };
    let spec = DeploymentSpec {
        replicas: Some(app.spec.replicas),
        revision_history_limit: Some(HISTORY),
        selector: LabelSelector { match_labels: Some(selector(app)), ..LabelSelector::default() },
        strategy: Some(strategy),
        template,
        ..DeploymentSpec::default()
    };
    Deployment { metadata, spec: Some(spec), status: None }
}

/// What finds its pods.
pub(super) fn service(app: &Application) -> Service {
    let port = ServicePort {
        name: Some(PORT_NAME.into()),
        port: SERVICE_PORT,
        protocol: Some("TCP".into()),
        // By its name, so that pods of two versions with two ports are both found.
        target_port: Some(IntOrString::String(PORT_NAME.into())),
        ..ServicePort::default()
    };
    let spec =
        ServiceSpec { selector: Some(selector(app)), ports: Some(vec![port]), ..ServiceSpec::default() };
    Service { metadata: metadata(app), spec: Some(spec), status: None }
}

fn labels(app: &Application) -> BTreeMap<String, String> {
    let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    BTreeMap::from([
        label(APPLICATION, name(app)),
        label(NAME_LABEL, name(app)),
        label(MANAGED_BY, kit::MANAGER),
    ])
}

fn selector(app: &Application) -> BTreeMap<String, String> {
    BTreeMap::from([(APPLICATION.to_owned(), name(app).to_owned())])
}

fn pod(app: &Application, image: &str, env: Vec<EnvVar>) -> PodSpec {
    let seccomp = SeccompProfile { type_: "RuntimeDefault".into(), ..SeccompProfile::default() };
    let security = PodSecurityContext {
        run_as_non_root: Some(true),
        seccomp_profile: Some(seccomp.clone()),
        ..PodSecurityContext::default()
    };
    PodSpec {
        containers: vec![container(app, image, env, seccomp)],
        security_context: Some(security),
        termination_grace_period_seconds: Some(GRACE),
        ..PodSpec::default()
    }
}

fn container(app: &Application, image: &str, env: Vec<EnvVar>, seccomp: SeccompProfile) -> Container {
    let security = SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".into()]), ..Capabilities::default() }),
        run_as_non_root: Some(true),
        seccomp_profile: Some(seccomp),
        ..SecurityContext::default()
    };
    let port = ContainerPort {
        name: Some(PORT_NAME.into()),
        container_port: app.spec.port,
        protocol: Some("TCP".into()),
        ..ContainerPort::default()
    };
    Container {
        name: CONTAINER.into(),
        image: Some(image.to_owned()),
        env: Some(env),
        ports: Some(vec![port]),
        security_context: Some(security),
        // Ten minutes to begin: the first look at a database that is being filled may take long.
        startup_probe: Some(probe(1, 600)),
        readiness_probe: Some(probe(5, 3)),
        // Five minutes without a single connection: whoever is merely slow is left alone.
        liveness_probe: Some(probe(30, 10)),
        ..Container::default()
    }
}

/// Whether somebody listens. Nothing more is known of a program: which paths it answers is its own matter.
fn probe(period_seconds: i32, failures: i32) -> Probe {
    let socket = TCPSocketAction { port: IntOrString::String(PORT_NAME.into()), host: None };
    Probe {
        tcp_socket: Some(socket),
        period_seconds: Some(period_seconds),
        failure_threshold: Some(failures),
        timeout_seconds: Some(5),
        ..Probe::default()
    }
}
