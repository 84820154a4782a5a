//! What can be wrong with a plan.

/// Why there is no plan, or why it was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Nobody plans here.
    #[error("plans are not available on this platform instance")]
    NoPlanner,
    /// It took too long.
    #[error("nothing was written: the plan takes too long; plan fewer objects at a time")]
    TooSlow,
    /// The caller has no such plan in this session, whether another has or not.
    #[error(
        "this token has no plan {hash:?} in this session; plans are kept for 30 minutes and until the platform restarts. \
         Call plan again, and apply_plan with the hash that it answers with"
    )]
    Unknown {
        /// What was asked for.
        hash: String,
    },
    /// It was carried out, and things have changed since.
    #[error(
        "nothing was written: this plan was carried out before, and there would be something to do again ({what}). Call \
         plan again with the same manifests to see it"
    )]
    Spent {
        /// Which objects, and what would be done.
        what: String,
    },
    /// Things have changed since it was made.
    #[error(
        "nothing was written: since the plan was made, this has changed: {what}. Call plan again with the same manifests, \
         and apply_plan with its new hash"
    )]
    Changed {
        /// Which objects, and what would be done now.
        what: String,
    },
    /// Some of it cannot be.
    #[error("nothing was written: {what}. Mend the manifests and call plan again")]
    Impossible {
        /// Which objects, and why.
        what: String,
    },
    /// Some of it was done.
    #[error(
        "the plan was carried out in part. Done: {done}. {left}. Call plan again with the same manifests: it tells what is \
         left to do"
    )]
    Partly {
        /// What was done.
        done: String,
        /// What was not, and why; and what was not tried after that.
        left: String,
    },
}

impl Fault {
    /// What it is, in one word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NoPlanner => "NotAvailable",
            Self::TooSlow => "PlanTooSlow",
            Self::Unknown { .. } => "PlanUnknown",
            Self::Spent { .. } => "PlanSpent",
            Self::Changed { .. } => "PlanChanged",
            Self::Impossible { .. } => "PlanImpossible",
            Self::Partly { .. } => "PlanPartly",
        }
    }
}
