//! What each plan of a managed service comes to.

use super::ServicePlan;

/// What a plan comes to. Quantities are spelled as Kubernetes spells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Servers in all.
    pub instances: i32,
    /// Processors that each asks for.
    pub cpu: &'static str,
    /// Memory that each asks for, and may not exceed.
    pub memory: &'static str,
    /// Disk of each, in GiB.
    pub storage_gib: u32,
}

impl ServicePlan {
    /// All plans, the smallest first.
    pub const ALL: [Self; 3] = [Self::Micro, Self::Small, Self::Ha];

    /// The plan as it is spelled in a spec.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Micro => "micro",
            Self::Small => "small",
            Self::Ha => "ha",
        }
    }

    /// What it comes to.
    pub fn size(self) -> Size {
        match self {
            Self::Micro => Size { instances: 1, cpu: "100m", memory: "256Mi", storage_gib: 1 },
            Self::Small => Size { instances: 1, cpu: "500m", memory: "512Mi", storage_gib: 5 },
            Self::Ha => Size { instances: 3, cpu: "1", memory: "1Gi", storage_gib: 10 },
        }
    }
}
