//! All tools, in the order in which they are listed. The order is part of the interface: it never depends on anything.

use super::Erased;
use crate::apps::{delete::DeleteApp, deploy::DeployApp, list::ListApps, logs::AppLogs};
use crate::apps::{push::PushCode, rollback::RollbackApp, status::AppStatus};
use crate::data_sources::{attach::AttachDataSource, get::GetDataSource, list::ListDataSources};
use crate::git::{add::AddGitCredential, delete::DeleteGitCredential, list::ListGitCredentials};
use crate::plans::{apply_plan::ApplyPlan, planning::Plan};
use crate::services::{bind::BindService, deprovision::DeprovisionService, list::ListServices};
use crate::services::{provision::ProvisionService, status::ServiceStatus, unbind::UnbindService};
use crate::sessions::{register::Register, unregister::Unregister};

/// All tools.
pub fn all() -> Vec<Erased> {
    vec![
        Erased::of::<Register>(),
        Erased::of::<Unregister>(),
        Erased::of::<PushCode>(),
        Erased::of::<DeployApp>(),
        Erased::of::<AppStatus>(),
        Erased::of::<AppLogs>(),
        Erased::of::<ListApps>(),
        Erased::of::<RollbackApp>(),
        Erased::of::<DeleteApp>(),
        Erased::of::<AddGitCredential>(),
        Erased::of::<ListGitCredentials>(),
        Erased::of::<DeleteGitCredential>(),
        Erased::of::<ProvisionService>(),
        Erased::of::<ServiceStatus>(),
        Erased::of::<BindService>(),
        Erased::of::<UnbindService>(),
        Erased::of::<DeprovisionService>(),
        Erased::of::<ListServices>(),
        Erased::of::<ListDataSources>(),
        Erased::of::<GetDataSource>(),
        Erased::of::<AttachDataSource>(),
        Erased::of::<Plan>(),
        Erased::of::<ApplyPlan>(),
    ]
}
