//! What is known of machines.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::aws::Tags;

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
        let known = [
            Self::Pending,
            Self::Running,
            Self::Stopping,
            Self::Stopped,
            Self::ShuttingDown,
            Self::Terminated,
        ];
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
    /// How firmly, in AWS's words.
    pub(super) state: String,
}

/// What a machine wrote on its console.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Console {
    /// The last 64 KiB.
    pub text: Vec<u8>,
    /// When AWS read it.
    pub at: Option<Timestamp>,
}
