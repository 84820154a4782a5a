//! All tools, in the order in which they are listed. The order is part of the interface: it never depends on anything.

use super::Erased;
use crate::apps::delete::DeleteApp;
use crate::apps::deploy::DeployApp;
use crate::apps::list::ListApps;
use crate::apps::logs::AppLogs;
use crate::apps::push::PushCode;
use crate::apps::rollback::RollbackApp;
use crate::apps::status::AppStatus;
use crate::data_sources::attach::AttachDataSource;
use crate::data_sources::get::GetDataSource;
use crate::data_sources::list::ListDataSources;
use crate::services::bind::BindService;
use crate::services::deprovision::DeprovisionService;
use crate::services::list::ListServices;
use crate::services::provision::ProvisionService;
use crate::services::status::ServiceStatus;
use crate::services::unbind::UnbindService;
use crate::plans::{apply_plan::ApplyPlan, planning::Plan};
use crate::sessions::register::Register;

/// All tools.
pub fn all() -> Vec<Erased> {
    vec![
        Erased::of::<Register>(),
        Erased::of::<PushCode>(),
        Erased::of::<DeployApp>(),
        Erased::of::<AppStatus>(),
        Erased::of::<AppLogs>(),
        Erased::of::<ListApps>(),
        Erased::of::<RollbackApp>(),
        Erased::of::<DeleteApp>(),
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
