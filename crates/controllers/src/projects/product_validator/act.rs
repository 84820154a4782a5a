use kit::{Fault, Receipt};
use ports::git::Git;

use super::plan::Step;

pub(super) async fn act<G: Git>(git: &G, step: &Step) -> Result<Receipt, Fault> {
    let Step::Mark { place, commit, mark } = step;
    git.set_mark(place, commit, mark).await?;
    Ok(Receipt::Done)
}
