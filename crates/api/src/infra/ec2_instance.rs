//! `EC2Instance`: a virtual machine.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ProviderRef, Tags};
use crate::{
    conditions,
    drift::Drift,
    rules::{frozen, unchanging},
};

/// Keeps a machine's object until its policy has been carried out.
pub const EC2_INSTANCE_FINALIZER: &str = "aws-infra-operator.runner.codes/ec2instance-finalizer";

/// Which machine, and how it is set up.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "aws-infra-operator.runner.codes", version = "v1alpha1", kind = "EC2Instance", namespaced)]
#[kube(status = "EC2InstanceStatus", shortname = "ec2", category = "terrace", derive = "PartialEq")]
#[kube(doc = "A virtual machine in EC2.")]
#[kube(printcolumn = r#"{"name":"Instance","type":"string","jsonPath":".spec.instanceName"}"#)]
#[kube(printcolumn = r#"{"name":"Type","type":"string","jsonPath":".spec.instanceType"}"#)]
#[kube(printcolumn = r#"{"name":"State","type":"string","jsonPath":".status.instanceState"}"#)]
#[kube(printcolumn = r#"{"name":"InstanceID","type":"string","jsonPath":".status.instanceID"}"#)]
#[kube(printcolumn = r#"{"name":"PrivateIP","type":"string","jsonPath":".status.privateIP"}"#)]
#[kube(printcolumn = r#"{"name":"Ready","type":"boolean","jsonPath":".status.ready"}"#)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
#[x_kube(validation = frozen("keyName"))]
#[x_kube(validation = frozen("subnetID"))]
#[x_kube(validation = frozen("blockDeviceMappings"))]
pub struct EC2InstanceSpec {
    /// Account and region.
    #[x_kube(validation = unchanging("providerRef is immutable: the machine would stay behind in its account"))]
    pub provider_ref: ProviderRef,
    /// Name for people; it becomes the tag `Name`.
    #[schemars(length(min = 1, max = 256))]
    pub instance_name: String,
    /// Size of the machine, such as `t3.micro`. A change stops and starts it.
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z0-9-]+\.[a-z0-9-]+$"))]
    pub instance_type: String,
    /// Image (AMI) that it starts from.
    #[serde(rename = "imageID")]
    #[schemars(length(min = 1, max = 255))]
    #[x_kube(validation = unchanging("imageID is immutable: make a new machine"))]
    pub image_id: String,
    /// Key pair for logging in by ssh.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub key_name: Option<String>,
    /// Subnet that it is in. Default: the default network's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "subnetID")]
    #[schemars(length(min = 1, max = 63))]
    pub subnet_id: Option<String>,
    /// Security groups that guard it.
    #[serde(rename = "securityGroupIDs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    #[schemars(length(max = 16), inner(length(min = 1, max = 63)))]
    pub security_group_ids: Vec<String>,
    /// Instance profile, by name or ARN, that gives it rights.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub iam_instance_profile: Option<String>,
    /// Script for its first start, in plain text. No secrets: everyone on the machine can read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16_384))]
    pub user_data: Option<String>,
    /// Its disks, beside or instead of the image's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["deviceName"]))]
    #[schemars(length(max = 32))]
    pub block_device_mappings: Vec<BlockDeviceMapping>,
    /// Whether CloudWatch looks every minute.
    #[serde(default)]
    pub monitoring: bool,
    /// Whether AWS refuses to terminate it.
    #[serde(default)]
    pub disable_api_termination: bool,
    /// Whether its disks have a line of their own.
    #[serde(default)]
    pub ebs_optimized: bool,
    /// Its tags, beside the provider's.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    #[schemars(schema_with = "super::reference::tags")]
    pub tags: Tags,
    /// What happens to the machine when this object is deleted.
    #[serde(default)]
    pub deletion_policy: InstanceDeletionPolicy,
    /// Whether the status shows the end of its console.
    #[serde(default)]
    pub enable_console_output: bool,
}

/// What happens to a machine when its object is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum InstanceDeletionPolicy {
    /// It is terminated.
    #[default]
    Delete,
    /// It goes on running.
    Retain,
    /// It is stopped and kept.
    Stop,
}

/// A disk, and the name the machine knows it by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlockDeviceMapping {
    /// Name, such as `/dev/xvdf`.
    #[schemars(length(min = 1, max = 63))]
    pub device_name: String,
    /// The disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ebs: Option<EbsBlockDevice>,
}

/// A disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.kmsKeyID) || self.encrypted").message("kmsKeyID is used with encrypted disks only"))]
pub struct EbsBlockDevice {
    /// Size in GiB.
    #[schemars(range(min = 1, max = 65_536))]
    pub volume_size: i32,
    /// Kind of disk.
    #[serde(default)]
    pub volume_type: VolumeType,
    /// Operations a second, for `io1`, `io2` and `gp3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 256_000))]
    pub iops: Option<i32>,
    /// Whether it goes with the machine.
    #[serde(default = "goes_with_the_machine")]
    pub delete_on_termination: bool,
    /// Whether it is encrypted.
    #[serde(default)]
    pub encrypted: bool,
    /// Key of KMS. Default: the account's own for EBS.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "kmsKeyID")]
    #[schemars(length(min = 1, max = 2048))]
    pub kms_key_id: Option<String>,
}

fn goes_with_the_machine() -> bool {
    true
}

/// Kinds of disk, as AWS names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VolumeType {
    /// General purpose, second generation.
    Gp2,
    /// General purpose, third generation.
    #[default]
    Gp3,
    /// Provisioned operations, first generation.
    Io1,
    /// Provisioned operations, second generation.
    Io2,
    /// Throughput.
    St1,
    /// Cold.
    Sc1,
    /// Magnetic.
    Standard,
}

/// How the machine stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EC2InstanceStatus {
    /// Whether it runs and is set up.
    #[serde(default)]
    pub ready: bool,
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "instanceID")]
    pub instance_id: Option<String>,
    /// How it stands, in AWS's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_state: Option<String>,
    /// Its address inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "privateIP")]
    pub private_ip: Option<String>,
    /// Its address outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "publicIP")]
    pub public_ip: Option<String>,
    /// Its name inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "privateDNS")]
    pub private_dns: Option<String>,
    /// Its name outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "publicDNS")]
    pub public_dns: Option<String>,
    /// Zone that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub availability_zone: Option<String>,
    /// When it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch_time: Option<Time>,
    /// The end of its console, where the spec asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65_536))]
    pub console_output: Option<String>,
    /// When the console was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub console_output_timestamp: Option<Time>,
    /// When it was last compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_sync_time: Option<Time>,
    /// What differed from the spec when it was last compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub drift: Vec<Drift>,
    /// The keys of the tags that were set from the spec and the provider. Kept here because AWS does not say who set a tag:
    /// what others set is left alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    #[schemars(length(max = 50), inner(length(max = 128)))]
    pub tag_keys: Vec<String>,
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What it says of itself: `Ready`, `Reconciling`, `Stalled`, and what its kind adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
}
