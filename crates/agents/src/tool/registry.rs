//! All tools, in the order in which they are listed. The order is part of the interface: it never depends on anything.

use super::Erased;
use crate::git::{add::AddGitCredential, delete::DeleteGitCredential, list::ListGitCredentials};
use crate::sessions::{register::Register, unregister::Unregister};

/// All tools.
pub fn all() -> Vec<Erased> {
    vec![
        Erased::of::<Register>(),
        Erased::of::<Unregister>(),
        Erased::of::<AddGitCredential>(),
        Erased::of::<ListGitCredentials>(),
        Erased::of::<DeleteGitCredential>(),
    ]
}
