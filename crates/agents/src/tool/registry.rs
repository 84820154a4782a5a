//! All tools, in the order in which they are listed. The order is part of the interface: it never depends on anything.

use super::Erased;
use crate::plans::{apply_plan::ApplyPlan, planning::Plan};
use crate::sessions::register::Register;

/// All tools.
pub fn all() -> Vec<Erased> {
    vec![Erased::of::<Register>(), Erased::of::<Plan>(), Erased::of::<ApplyPlan>()]
}
