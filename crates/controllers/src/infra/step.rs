//! One call that changes something in AWS, where, and what of.

use std::fmt;
use std::sync::Arc;

use api::drift::Drift;
use kit::{Change, Changes};
use ports::aws::Account;

/// One call that changes something.
#[derive(Clone, Debug, PartialEq)]
pub struct Step<C> {
    /// Where.
    pub(super) account: Arc<Account>,
    /// What is asked.
    pub(super) call: C,
    /// The fields that become otherwise.
    pub(super) fields: Vec<Drift>,
}

impl<C: fmt::Display> fmt::Display for Step<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt(f)
    }
}

impl<C> Step<C> {
    /// The fields, as a plan that is only looked at shows them.
    pub(super) fn changes(&self) -> Changes {
        let value = |text: &str| (!text.is_empty()).then(|| text.to_owned().into());
        let change = |drift: &Drift| Change {
            path: drift.field.clone(),
            from: value(&drift.actual),
            to: value(&drift.expected),
        };
        self.fields.iter().map(change).collect()
    }
}
