//! EC2: machines. There is no client of the SDK behind it: that of EC2 is larger than all others together, and we ask for a
//! dozen actions.

mod form;
mod launch;
mod machine;
#[cfg(test)]
mod tests;
mod wire;
mod xml;

use api::secret::Sealed;
use aws_smithy_types::base64;

use super::{Account, Aws, Error, Tags};
use form::Form;
pub use launch::{Launch, NewDisk};
pub use machine::{Console, Disk, Machine, Power, Profile, Volume};
pub(super) use wire::Ec2;

/// What EC2 says of a machine that is not there.
const ABSENT: [&str; 2] = ["InvalidInstanceID.NotFound", "InvalidInstanceID.Malformed"];
/// States of an association that counts.
const ASSOCIATED: [&str; 2] = ["associated", "associating"];
/// How many machines a page has, at most.
const PAGE: usize = 1000;

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

/// A setting that is changed by itself.
#[derive(Clone, Debug, PartialEq)]
pub enum MachineSetting {
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
        self.clients(account).ec2().tell("RunInstances", launch::run(launch)).await
    }

    /// Changes one setting of a machine.
    pub async fn set_machine(
        &self,
        account: &Account,
        id: &str,
        setting: &MachineSetting,
    ) -> Result<(), Error> {
        const ASKED: &str = "ModifyInstanceAttribute";
        let form = Form::new(ASKED).field("InstanceId", id);
        let form = match setting {
            MachineSetting::InstanceType(value) => form.field("InstanceType.Value", value),
            MachineSetting::UserData(value) => form.field("UserData.Value", base64::encode(value.open())),
            MachineSetting::EbsOptimized(value) => form.field("EbsOptimized.Value", value),
            MachineSetting::Groups(ids) => form.list("GroupId", ids),
            MachineSetting::Protected(value) => form.field("DisableApiTermination.Value", value),
            MachineSetting::DeleteOnTermination { device, value } => form
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
