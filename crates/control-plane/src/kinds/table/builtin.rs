//! Which built-in kind has which columns and which cells.

use jiff::Timestamp;
use serde_json::Value;

use super::custom::Getter;
use super::{cluster, custom, metrics, network, pods, policy, storage, workloads};
use crate::kinds::{Column, Kind};

/// What is said of the column that holds a name.
pub(super) const NAME_DESCRIPTION: &str = "Name must be unique within a namespace. Is required when creating \
    resources, although some resources may allow a client to request the generation of an appropriate name \
    automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be \
    updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

/// How one built-in kind is shown.
struct Shown {
    group: &'static str,
    plural: &'static str,
    /// Titles joined by `|`; `*` before one makes it wide, `#`, `?` or `@` after it makes it an integer, a
    /// boolean or a date instead of a string.
    columns: &'static str,
    cells: fn(&Value, Timestamp) -> Vec<Value>,
}

const fn shown(
    group: &'static str,
    plural: &'static str,
    columns: &'static str,
    cells: fn(&Value, Timestamp) -> Vec<Value>,
) -> Shown {
    Shown { group, plural, columns, cells }
}

/// How kinds are shown that have no entry of their own.
const PLAIN: Shown = shown("", "", "Name|Created At@", cluster::name_and_creation);

const PODS: &str = "Name|Ready|Status|Restarts|Age|*IP|*Node|*Nominated Node|*Readiness Gates";
const NODES: &str = "Name|Status|Roles|Age|Version|*Internal-IP|*External-IP|*OS-Image|*Kernel-Version|\
    *Container-Runtime";
const EVENTS: &str = "Last Seen|Type|Reason|Object|*Subobject|*Source|Message|*First Seen|*Count|*Name";
const CLAIMS: &str =
    "Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|*VolumeMode";
const VOLUMES: &str = "Name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|\
    VolumeAttributesClass|Reason|Age|*VolumeMode";
const SERVICES: &str = "Name|Type|Cluster-IP|External-IP|Port(s)|Age|*Selector";
const REPLICAS: &str = "Name|Desired#|Current#|Ready#|Age|*Containers|*Images|*Selector";
const DEPLOYMENTS: &str = "Name|Ready|Up-to-date|Available|Age|*Containers|*Images|*Selector";
const DAEMONS: &str = "Name|Desired#|Current#|Ready#|Up-to-date#|Available#|Node Selector|Age|*Containers|*Images|\
    *Selector";
const STATEFUL: &str = "Name|Ready|Age|*Containers|*Images";
const JOBS: &str = "Name|Status|Completions|Duration|Age|*Containers|*Images|*Selector";
const CRON_JOBS: &str =
    "Name|Schedule|Timezone|Suspend?|Active#|Last Schedule|Age|*Containers|*Images|*Selector";
const AUTOSCALERS: &str = "Name|Reference|Targets|MinPods|MaxPods|Replicas|Age";
const SIGNING: &str = "Name|Age|SignerName|Requestor|RequestedDuration|Condition";
const INGRESSES: &str = "Name|Class|Hosts|Address|Ports|Age";
const BUDGETS: &str = "Name|Min Available|Max Unavailable|Allowed Disruptions#|Age";
const BINDINGS: &str = "Name|Role|Age|*Users|*Groups|*ServiceAccounts";
const DRIVERS: &str = "Name|AttachRequired?|PodInfoOnMount?|StorageCapacity?|TokenRequests|RequiresRepublish?|\
    Modes|Age";
const CLASSES: &str = "Name|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age";
const FLOWS: &str = "Name|PriorityLevel|MatchingPrecedence|DistinguisherMethod|Age|MissingPL";
const LEVELS: &str = "Name|Type|NominalConcurrencyShares|Queues|HandSize|QueueLengthLimit|Age";

const ADMISSION: &str = "admissionregistration.k8s.io";
const FLOW_CONTROL: &str = "flowcontrol.apiserver.k8s.io";
const NETWORKING: &str = "networking.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";
const RESOURCE: &str = "resource.k8s.io";
const STORAGE: &str = "storage.k8s.io";

const ALL: &[Shown] = &[
    shown("", "componentstatuses", "Name|Status|Message|Error", cluster::component_status),
    shown("", "configmaps", "Name|Data|Age", cluster::config_map),
    shown("", "endpoints", "Name|Endpoints|Age", network::endpoints),
    shown("", "events", EVENTS, cluster::event),
    shown("", "namespaces", "Name|Status|Age", cluster::namespace),
    shown("", "nodes", NODES, cluster::node),
    shown("", "persistentvolumeclaims", CLAIMS, storage::claim),
    shown("", "persistentvolumes", VOLUMES, storage::volume),
    shown("", "pods", PODS, pods::cells),
    shown("", "podtemplates", "Name|Containers|Images|Pod Labels", workloads::pod_template),
    shown("", "replicationcontrollers", REPLICAS, workloads::replication_controller),
    shown("", "resourcequotas", "Name|Request|Limit|Age", cluster::resource_quota),
    shown("", "secrets", "Name|Type|Data|Age", cluster::secret),
    shown("", "serviceaccounts", "Name|Age", cluster::name_and_age),
    shown("", "services", SERVICES, network::service),
    shown("apiregistration.k8s.io", "apiservices", "Name|Service|Available|Age", policy::api_service),
    shown("apps", "controllerrevisions", "Name|Controller|Revision|Age", workloads::controller_revision),
    shown("apps", "daemonsets", DAEMONS, workloads::daemon_set),
    shown("apps", "deployments", DEPLOYMENTS, workloads::deployment),
    shown("apps", "replicasets", REPLICAS, workloads::replica_set),
    shown("apps", "statefulsets", STATEFUL, workloads::stateful_set),
    shown("events.k8s.io", "events", EVENTS, cluster::event),
    shown("autoscaling", "horizontalpodautoscalers", AUTOSCALERS, metrics::cells),
    shown("batch", "cronjobs", CRON_JOBS, workloads::cron_job),
    shown("batch", "jobs", JOBS, workloads::job),
    shown("certificates.k8s.io", "certificatesigningrequests", SIGNING, policy::signing_request),
    shown(NETWORKING, "ingressclasses", "Name|Controller|Parameters|Age", network::ingress_class),
    shown(NETWORKING, "ingresses", INGRESSES, network::ingress),
    shown(NETWORKING, "ipaddresses", "Name|ParentRef", network::ip_address),
    shown(NETWORKING, "networkpolicies", "Name|Pod-Selector|Age", network::network_policy),
    shown(NETWORKING, "servicecidrs", "Name|CIDRs|Age", network::service_cidr),
    shown("policy", "poddisruptionbudgets", BUDGETS, policy::disruption_budget),
    shown(RBAC, "clusterrolebindings", BINDINGS, cluster::role_binding),
    shown(RBAC, "rolebindings", BINDINGS, cluster::role_binding),
    shown(STORAGE, "csidrivers", DRIVERS, storage::csi_driver),
    shown(STORAGE, "csinodes", "Name|Drivers#|Age", storage::csi_node),
    shown(STORAGE, "storageclasses", CLASSES, storage::storage_class),
    shown(STORAGE, "volumeattachments", "Name|Attacher|PV|Node|Attached?|Age", storage::attachment),
    shown(STORAGE, "volumeattributesclasses", "Name|DriverName|Age", storage::attributes_class),
    shown(ADMISSION, "mutatingadmissionpolicies", "Name|Mutations#|ParamKind|Age", policy::mutating_policy),
    shown(
        ADMISSION,
        "mutatingadmissionpolicybindings",
        "Name|PolicyName|ParamRef|Age",
        policy::policy_binding,
    ),
    shown(ADMISSION, "mutatingwebhookconfigurations", "Name|Webhooks#|Age", policy::webhooks),
    shown(
        ADMISSION,
        "validatingadmissionpolicies",
        "Name|Validations#|ParamKind|Age",
        policy::validating_policy,
    ),
    shown(
        ADMISSION,
        "validatingadmissionpolicybindings",
        "Name|PolicyName|ParamRef|Age",
        policy::policy_binding,
    ),
    shown(ADMISSION, "validatingwebhookconfigurations", "Name|Webhooks#|Age", policy::webhooks),
    shown(
        "scheduling.k8s.io",
        "priorityclasses",
        "Name|Value#|Global-Default?|Age|PreemptionPolicy",
        policy::priority_class,
    ),
    shown("coordination.k8s.io", "leases", "Name|Holder|Age", cluster::lease),
    shown("node.k8s.io", "runtimeclasses", "Name|Handler|Age", policy::runtime_class),
    shown(
        "discovery.k8s.io",
        "endpointslices",
        "Name|AddressType|Ports|Endpoints|Age",
        network::endpoint_slice,
    ),
    shown(RESOURCE, "deviceclasses", "Name|Age", cluster::name_and_age),
    shown(RESOURCE, "resourceclaims", "Name|State|Age", policy::resource_claim),
    shown(RESOURCE, "resourceclaimtemplates", "Name|Age", cluster::name_and_age),
    shown(RESOURCE, "resourceslices", "Name|Node|Driver|Pool|Age", policy::resource_slice),
    shown(FLOW_CONTROL, "flowschemas", FLOWS, policy::flow_schema),
    shown(FLOW_CONTROL, "prioritylevelconfigurations", LEVELS, policy::priority_level),
];

/// What makes a kind's cells, looked up once for all rows.
pub(super) enum Cells {
    /// Code, for a built-in kind.
    Builtin(fn(&Value, Timestamp) -> Vec<Value>),
    /// Paths, for a custom resource.
    Custom(Vec<Getter>),
}

impl Cells {
    /// The cells of this kind.
    pub(super) fn of(kind: &Kind) -> Self {
        if kind.builtin { Self::Builtin(find(kind).cells) } else { Self::Custom(custom::getters(kind)) }
    }
    /// One object's cells.
    pub(super) fn row(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        match self {
            Self::Builtin(cells) => cells(object, now),
            Self::Custom(getters) => custom::row(getters, object, now),
        }
    }
}

/// The columns of a built-in kind.
pub(super) fn columns(kind: &Kind) -> Vec<Column> {
    find(kind).columns.split('|').map(column).collect()
}

/// The column that holds the name.
pub(super) fn name_column() -> Column {
    column("Name")
}

fn find(kind: &Kind) -> &'static Shown {
    let here = |shown: &&Shown| shown.group == kind.group && shown.plural == kind.plural;
    ALL.iter().find(here).unwrap_or(&PLAIN)
}

fn column(written: &str) -> Column {
    let (title, priority) = written.strip_prefix('*').map_or((written, 0), |title| (title, 1));
    let marks = [('#', "integer"), ('?', "boolean"), ('@', "date")];
    let marked = |(mark, kind): (char, &'static str)| title.strip_suffix(mark).map(|title| (title, kind));
    let (title, kind) = marks.into_iter().find_map(marked).unwrap_or((title, "string"));
    let format = if matches!(title, "Name" | "Attacher") { "name" } else { "" };
    Column {
        name: title.into(),
        kind: kind.into(),
        format: format.into(),
        // The original repeats the documentation of the field here; no client shows it.
        description: if title == "Name" { NAME_DESCRIPTION.into() } else { String::new() },
        priority,
        path: String::new(),
    }
}
