use ports::traffic::Traffic;

use super::{Routes, Step};

/// Does one step.
pub(super) fn act<T: Traffic>(room: &Routes<T>, step: &Step) {
    match step {
        Step::Follow(table) => room.traffic.follow(table.clone()),
        Step::Say(skipped) => {
            let mut said = room.said.lock();
            skipped.difference(&said).for_each(|message| tracing::warn!("{message}"));
            *said = skipped.clone();
        }
    }
}
