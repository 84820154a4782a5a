//! What is asked of EC2.

use std::fmt;

use api::infra::Tags;
use ports::aws::{Launch, MachineSetting};

/// What is asked of EC2.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// Makes the machine with its settings.
    Launch(Box<Launch>),
    /// Changes a setting.
    Set { id: String, setting: MachineSetting },
    /// Has CloudWatch look every minute, or not.
    Monitor { id: String, on: bool },
    /// Gives it an instance profile.
    GiveProfile { id: String, profile: String },
    /// Gives it another one.
    SwapProfile { association: String, profile: String },
    /// Takes it off.
    TakeProfile { association: String },
    /// Sets tags.
    Tag { id: String, tags: Tags },
    /// Takes tags off.
    Untag { id: String, keys: Vec<String> },
    /// Starts it.
    Start { id: String },
    /// Stops it.
    Stop { id: String },
    /// Ends it for good.
    Terminate { id: String },
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Launch(launch) => {
                write!(f, "launch a machine {} from {}", launch.instance_type, launch.image_id)
            }
            Self::Set { id, setting } => write!(f, "set {} of machine {id}", named(setting)),
            Self::Monitor { id, on: true } => write!(f, "monitor machine {id}"),
            Self::Monitor { id, on: false } => write!(f, "monitor machine {id} no more"),
            Self::GiveProfile { id, profile } => write!(f, "give machine {id} the profile {profile}"),
            Self::SwapProfile { association, profile } => {
                write!(f, "give {association} the profile {profile}")
            }
            Self::TakeProfile { association } => write!(f, "take the profile of {association} off"),
            Self::Tag { id, tags } => {
                let keys: Vec<&str> = tags.keys().map(String::as_str).collect();
                write!(f, "tag machine {id} with {}", keys.join(", "))
            }
            Self::Untag { id, keys } => write!(f, "take tags {} off machine {id}", keys.join(", ")),
            Self::Start { id } => write!(f, "start machine {id}"),
            Self::Stop { id } => write!(f, "stop machine {id}"),
            Self::Terminate { id } => write!(f, "terminate machine {id}"),
        }
    }
}

/// The field of a setting in the spec. What it holds may be a script.
fn named(setting: &MachineSetting) -> &'static str {
    match setting {
        MachineSetting::InstanceType(_) => "instanceType",
        MachineSetting::UserData(_) => "userData",
        MachineSetting::EbsOptimized(_) => "ebsOptimized",
        MachineSetting::Groups(_) => "securityGroupIDs",
        MachineSetting::Protected(_) => "disableApiTermination",
        MachineSetting::DeleteOnTermination { .. } => "blockDeviceMappings",
    }
}
