//! EC2: machines. There is no client of the SDK behind it: that of EC2 is larger than all others together, and we ask for a
//! dozen actions.

mod form;
#[cfg(test)]
mod tests;
mod wire;
mod xml;

use std::collections::BTreeSet;

use api::secret::Sealed;
use aws_smithy_types::base64;
use jiff::Timestamp;

use super::{Account, Aws, Error, Tags};
use form::Form;
pub(super) use wire::Ec2;

/// What EC2 says of a machine that is not there.
const ABSENT: [&str; 2] = ["InvalidInstanceID.NotFound", "InvalidInstanceID.Malformed"];
/// States of an association that counts.
const ASSOCIATED: [&str; 2] = ["associated", "associating"];
/// How many machines a page has, at most.
const PAGE: usize = 1000;

/// A machine that is there, or was a while ago.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Its id.
    pub id: String,
    /// Whether it runs.
    pub power: Power,
    /// Why it does not, in AWS's words.
    pub state_reason: Option<String>,
    /// The image that it was started from.
    pub image_id: String,
    /// Its size.
    pub instance_type: String,
    /// Its key pair.
    pub key_name: Option<String>,
    /// Its subnet.
    pub subnet_id: Option<String>,
    /// The ids of its security groups.
    pub groups: BTreeSet<String>,
    /// ARN of its instance profile.
    pub profile: Option<String>,
    /// Whether CloudWatch looks every minute.
    pub monitoring: bool,
    /// Whether its disks have a line of their own.
    pub ebs_optimized: bool,
    /// Its disks.
    pub disks: Vec<Disk>,
    /// Its tags.
    pub tags: Tags,
    /// The token that it was asked for with.
    pub client_token: Option<String>,
    /// When it was last started.
    pub launch_time: Option<Timestamp>,
    /// The zone that it is in.
    pub zone: Option<String>,
    /// Its address inside.
    pub private_ip: Option<String>,
    /// Its address outside.
    pub public_ip: Option<String>,
    /// Its name inside.
    pub private_dns: Option<String>,
    /// Its name outside.
    pub public_dns: Option<String>,
}

/// Whether a machine runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Power {
    /// It is being started.
    #[default]
    Pending,
    /// It runs.
    Running,
    /// It is being stopped.
    Stopping,
    /// It does not run.
    Stopped,
    /// It is going for good.
    ShuttingDown,
    /// It is gone for good.
    Terminated,
    /// AWS has a new word.
    Other(String),
}

impl Power {
    /// AWS's word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::ShuttingDown => "shutting-down",
            Self::Terminated => "terminated",
            Self::Other(word) => word,
        }
    }
}

impl From<&str> for Power {
    fn from(word: &str) -> Self {
        let known =
            [Self::Pending, Self::Running, Self::Stopping, Self::Stopped, Self::ShuttingDown, Self::Terminated];
        known.into_iter().find(|power| power.as_str() == word).unwrap_or_else(|| Self::Other(word.to_owned()))
    }
}

/// A disk of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// The name that the machine knows it by.
    pub device: String,
    /// Its id.
    pub volume: String,
    /// Whether it goes with the machine.
    pub delete_on_termination: bool,
}

/// A disk by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Its id.
    pub id: String,
    /// Its size in GiB.
    pub size_gib: i32,
    /// Its kind, in AWS's words.
    pub volume_type: String,
    /// Its operations a second.
    pub iops: Option<i32>,
    /// Whether it is encrypted.
    pub encrypted: bool,
    /// With which key.
    pub kms_key_id: Option<String>,
}

/// An instance profile of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Its ARN.
    pub arn: String,
    /// What holds it to the machine.
    pub association: String,
    state: String,
}

/// What a machine wrote on its console.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Console {
    /// The last 64 KiB.
    pub text: Vec<u8>,
    /// When AWS read it.
    pub at: Option<Timestamp>,
}

/// By what machines are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search<'a> {
    /// By their id.
    Id(&'a str),
    /// By a tag and its value.
    Tag(&'a str, &'a str),
    /// All of them.
    All,
}

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

/// A setting that is changed by itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// Its size; it must be stopped.
    InstanceType(String),
    /// The script for its first start; it must be stopped.
    UserData(Sealed<String>),
    /// Whether its disks have a line of their own; it must be stopped.
    EbsOptimized(bool),
    /// Its security groups.
    Groups(Vec<String>),
    /// Whether AWS refuses to terminate it.
    Protected(bool),
    /// Whether a disk goes with it.
    DeleteOnTermination {
        /// The disk, as the machine knows it.
        device: String,
        /// Whether it does.
        value: bool,
    },
}

impl Aws {
    /// The machines that are found, those among them that ended lately.
    pub async fn machines(&self, account: &Account, by: Search<'_>) -> Result<Vec<Machine>, Error> {
        const ASKED: &str = "DescribeInstances";
        let clients = self.clients(account);
        let (mut found, mut next) = (Vec::new(), None::<String>);
        loop {
            let form = Form::new(ASKED).field("MaxResults", PAGE).maybe("NextToken", next.as_ref());
            let form = match by {
                Search::Id(id) => form.filter(1, "instance-id", &[id]),
                Search::Tag(key, value) => form.filter(1, &format!("tag:{key}"), &[value]),
                Search::All => form,
            };
            let page = clients.ec2().call(ASKED, form, xml::machines).await?;
            found.extend(page.items);
            next = page.next;
            if next.is_none() {
                return Ok(found);
            }
        }
    }

    /// Whether AWS refuses to terminate a machine.
    pub async fn machine_protected(&self, account: &Account, id: &str) -> Result<bool, Error> {
        const ASKED: &str = "DescribeInstanceAttribute";
        let form = Form::new(ASKED).field("InstanceId", id).field("Attribute", "disableApiTermination");
        self.clients(account).ec2().call(ASKED, form, xml::protected).await
    }

    /// The script for the first start of a machine.
    pub async fn machine_user_data(
        &self,
        account: &Account,
        id: &str,
    ) -> Result<Option<Sealed<Vec<u8>>>, Error> {
        const ASKED: &str = "DescribeInstanceAttribute";
        let form = Form::new(ASKED).field("InstanceId", id).field("Attribute", "userData");
        self.clients(account).ec2().call(ASKED, form, xml::user_data).await
    }

    /// The instance profile of a machine.
    pub async fn machine_profile(&self, account: &Account, id: &str) -> Result<Option<Profile>, Error> {
        const ASKED: &str = "DescribeIamInstanceProfileAssociations";
        let form = Form::new(ASKED).filter(1, "instance-id", &[id]);
        let all = self.clients(account).ec2().call(ASKED, form, xml::profiles).await?;
        Ok(all.into_iter().find(|profile| ASSOCIATED.contains(&profile.state.as_str())))
    }

    /// What a machine wrote on its console.
    pub async fn machine_console(&self, account: &Account, id: &str) -> Result<Console, Error> {
        const ASKED: &str = "GetConsoleOutput";
        let form = Form::new(ASKED).field("InstanceId", id);
        self.clients(account).ec2().call(ASKED, form, xml::console).await
    }

    /// Disks that hang on a machine.
    pub async fn machine_volumes(&self, account: &Account, id: &str) -> Result<Vec<Volume>, Error> {
        const ASKED: &str = "DescribeVolumes";
        let form = Form::new(ASKED).filter(1, "attachment.instance-id", &[id]);
        self.clients(account).ec2().call(ASKED, form, xml::volumes).await
    }

    /// Makes a machine. Who asks with the same token gets the same one.
    pub async fn launch_machine(&self, account: &Account, launch: &Launch) -> Result<(), Error> {
        self.clients(account).ec2().tell("RunInstances", run(launch)).await
    }

    /// Changes one setting of a machine.
    pub async fn set_machine(&self, account: &Account, id: &str, setting: &Setting) -> Result<(), Error> {
        const ASKED: &str = "ModifyInstanceAttribute";
        let form = Form::new(ASKED).field("InstanceId", id);
        let form = match setting {
            Setting::InstanceType(value) => form.field("InstanceType.Value", value),
            Setting::UserData(value) => form.field("UserData.Value", base64::encode(value.open())),
            Setting::EbsOptimized(value) => form.field("EbsOptimized.Value", value),
            Setting::Groups(ids) => form.list("GroupId", ids),
            Setting::Protected(value) => form.field("DisableApiTermination.Value", value),
            Setting::DeleteOnTermination { device, value } => form
                .field("BlockDeviceMapping.1.DeviceName", device)
                .field("BlockDeviceMapping.1.Ebs.DeleteOnTermination", value),
        };
        self.clients(account).ec2().tell(ASKED, form).await
    }

    /// Has CloudWatch look every minute, or not.
    pub async fn monitor_machine(&self, account: &Account, id: &str, on: bool) -> Result<(), Error> {
        let asked = if on { "MonitorInstances" } else { "UnmonitorInstances" };
        self.clients(account).ec2().tell(asked, Form::new(asked).list("InstanceId", [id])).await
    }

    /// Gives a machine that has none an instance profile, by name or ARN.
    pub async fn give_profile(&self, account: &Account, id: &str, profile: &str) -> Result<(), Error> {
        const ASKED: &str = "AssociateIamInstanceProfile";
        let form = named(Form::new(ASKED).field("InstanceId", id), profile);
        self.clients(account).ec2().tell(ASKED, form).await
    }

    /// Gives a machine another instance profile, by name or ARN.
    pub async fn swap_profile(
        &self,
        account: &Account,
        association: &str,
        profile: &str,
    ) -> Result<(), Error> {
        const ASKED: &str = "ReplaceIamInstanceProfileAssociation";
        let form = named(Form::new(ASKED).field("AssociationId", association), profile);
        self.clients(account).ec2().tell(ASKED, form).await
    }

    /// Takes an instance profile off a machine.
    pub async fn take_profile(&self, account: &Account, association: &str) -> Result<(), Error> {
        const ASKED: &str = "DisassociateIamInstanceProfile";
        let form = Form::new(ASKED).field("AssociationId", association);
        self.clients(account).ec2().tell(ASKED, form).await
    }

    /// Sets tags of a machine; others stay.
    pub async fn tag_machine(&self, account: &Account, id: &str, tags: &Tags) -> Result<(), Error> {
        const ASKED: &str = "CreateTags";
        let form = Form::new(ASKED).list("ResourceId", [id]).tags("Tag", tags);
        self.clients(account).ec2().tell(ASKED, form).await
    }

    /// Takes tags off a machine.
    pub async fn untag_machine(&self, account: &Account, id: &str, keys: &[String]) -> Result<(), Error> {
        const ASKED: &str = "DeleteTags";
        let form = Form::new(ASKED).list("ResourceId", [id]);
        let named = keys.iter().zip(1..);
        let form = named.fold(form, |form, (key, index)| form.field(format!("Tag.{index}.Key"), key));
        self.clients(account).ec2().tell(ASKED, form).await
    }

    /// Starts a machine.
    pub async fn start_machine(&self, account: &Account, id: &str) -> Result<(), Error> {
        const ASKED: &str = "StartInstances";
        self.clients(account).ec2().tell(ASKED, Form::new(ASKED).list("InstanceId", [id])).await
    }

    /// Stops a machine.
    pub async fn stop_machine(&self, account: &Account, id: &str) -> Result<(), Error> {
        const ASKED: &str = "StopInstances";
        self.clients(account).ec2().tell(ASKED, Form::new(ASKED).list("InstanceId", [id])).await
    }

    /// Ends a machine for good. One that is not there has ended.
    pub async fn terminate_machine(&self, account: &Account, id: &str) -> Result<(), Error> {
        const ASKED: &str = "TerminateInstances";
        let asked = self.clients(account).ec2().tell(ASKED, Form::new(ASKED).list("InstanceId", [id])).await;
        match asked {
            Err(error) if !error.is(&ABSENT) => Err(error),
            _ => Ok(()),
        }
    }
}

/// An instance profile, by whichever of the two it is.
fn named(form: Form, profile: &str) -> Form {
    let field = if profile.starts_with("arn:") { "Arn" } else { "Name" };
    form.field(format!("IamInstanceProfile.{field}"), profile)
}

fn run(launch: &Launch) -> Form {
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
        form = form.field(format!("{name}.ResourceType"), resource).tags(&format!("{name}.Tag"), &launch.tags);
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
