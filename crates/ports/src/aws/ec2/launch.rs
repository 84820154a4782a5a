//! How a machine is asked for.

use api::secret::Sealed;
use aws_smithy_types::base64;

use super::form::Form;
use super::{Volume, named};
use crate::aws::Tags;

/// What a machine is made from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launch {
    /// Who asks with the same token twice gets the same machine.
    pub token: String,
    /// The image.
    pub image_id: String,
    /// The size.
    pub instance_type: String,
    /// The key pair.
    pub key_name: Option<String>,
    /// The subnet.
    pub subnet_id: Option<String>,
    /// Security groups.
    pub groups: Vec<String>,
    /// The instance profile, by name or ARN.
    pub profile: Option<String>,
    /// The script for the first start.
    pub user_data: Option<Sealed<String>>,
    /// Disks.
    pub disks: Vec<NewDisk>,
    /// Whether CloudWatch looks every minute.
    pub monitoring: bool,
    /// Whether AWS refuses to terminate it.
    pub protected: bool,
    /// Whether its disks have a line of their own.
    pub ebs_optimized: bool,
    /// Tags of the machine and of its disks.
    pub tags: Tags,
}

/// A disk that is made with a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewDisk {
    /// The name that the machine knows it by.
    pub device: String,
    /// What it is, unless the image says.
    pub volume: Option<Volume>,
    /// Whether it goes with the machine.
    pub delete_on_termination: bool,
}

/// The request for a machine.
pub(super) fn run(launch: &Launch) -> Form {
    let script = launch.user_data.as_ref().map(|script| base64::encode(script.open()));
    let mut form = Form::new("RunInstances")
        .field("MinCount", 1)
        .field("MaxCount", 1)
        .field("ClientToken", &launch.token)
        .field("ImageId", &launch.image_id)
        .field("InstanceType", &launch.instance_type)
        .maybe("KeyName", launch.key_name.as_ref())
        .maybe("SubnetId", launch.subnet_id.as_ref())
        .list("SecurityGroupId", &launch.groups)
        .maybe("UserData", script)
        .field("Monitoring.Enabled", launch.monitoring)
        .field("DisableApiTermination", launch.protected)
        .field("EbsOptimized", launch.ebs_optimized);
    if let Some(profile) = &launch.profile {
        form = named(form, profile);
    }
    for (disk, index) in launch.disks.iter().zip(1..) {
        form = with_disk(form, &format!("BlockDeviceMapping.{index}"), disk);
    }
    for (resource, index) in ["instance", "volume"].iter().zip(1..) {
        let name = format!("TagSpecification.{index}");
        form =
            form.field(format!("{name}.ResourceType"), resource).tags(&format!("{name}.Tag"), &launch.tags);
    }
    form
}

fn with_disk(form: Form, name: &str, disk: &NewDisk) -> Form {
    let form = form.field(format!("{name}.DeviceName"), &disk.device);
    let Some(volume) = &disk.volume else { return form };
    form.field(format!("{name}.Ebs.VolumeSize"), volume.size_gib)
        .field(format!("{name}.Ebs.VolumeType"), &volume.volume_type)
        .maybe(&format!("{name}.Ebs.Iops"), volume.iops)
        .field(format!("{name}.Ebs.DeleteOnTermination"), disk.delete_on_termination)
        .field(format!("{name}.Ebs.Encrypted"), volume.encrypted)
        .maybe(&format!("{name}.Ebs.KmsKeyId"), volume.kms_key_id.as_ref())
}
