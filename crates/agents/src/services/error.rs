//! What can be wrong with what was asked.

use api::services::ManagedServicePhase;

/// Why a tool did not do what was asked. Nothing was written then.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An argument cannot be what it says.
    #[error("invalid {what}: {why}")]
    Invalid {
        /// Which argument.
        what: &'static str,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// There is none of that name.
    #[error("there is no {what} {name} in namespace {namespace}")]
    NotFound {
        /// What was looked for.
        what: &'static str,
        /// Its name.
        name: String,
        /// Where.
        namespace: String,
    },
    /// There is one of that name already.
    #[error("there is a {what} {name} in namespace {namespace} already; choose another name")]
    Exists {
        /// What.
        what: &'static str,
        /// Its name.
        name: String,
        /// Where.
        namespace: String,
    },
    /// The service cannot be used yet, or any more.
    #[error("service {name} is not ready: {}", told(*phase, message))]
    NotReady {
        /// Its name.
        name: String,
        /// How far it is.
        phase: ManagedServicePhase,
        /// What it says of itself.
        message: String,
    },
    /// The application has variables of these names already.
    #[error("application {app} has variables of these names already: {}; nothing was changed", names.join(", "))]
    EnvClash {
        /// The application.
        app: String,
        /// The names, in the order of a binding.
        names: Vec<String>,
    },
    /// Applications still use the service.
    #[error("cannot delete: apps still bound: [{}]", apps.join(", "))]
    StillBound {
        /// Their names, sorted.
        apps: Vec<String>,
    },
    /// Nobody runs databases here.
    #[error("managed services are not available on this platform instance")]
    NotAvailable,
    /// There is nothing to go back to.
    #[error("{why}")]
    NoBackup {
        /// What was looked for, and what there is.
        why: String,
    },
    /// Others wrote the same object again and again.
    #[error("{what} is being changed by others; try again")]
    Busy {
        /// Which object.
        what: String,
    },
    /// The platform refused, in its own words.
    #[error("{0}")]
    Refused(String),
    /// The platform did not answer.
    #[error("the platform did not answer")]
    Unreachable(#[source] Box<kube::Error>),
}

impl Error {
    /// There is no service of that name.
    pub(super) fn no_service(namespace: &str, name: &str) -> Self {
        Self::NotFound { what: "managed service", name: name.into(), namespace: namespace.into() }
    }

    pub(super) fn invalid(what: &'static str, why: impl Into<String>) -> Self {
        Self::Invalid { what, why: why.into() }
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Refused(status.message),
            other => Self::Unreachable(Box::new(other)),
        }
    }
}

fn told(phase: ManagedServicePhase, message: &str) -> String {
    match message {
        "" => format!("{phase:?}"),
        message => format!("{phase:?}: {message}"),
    }
}
