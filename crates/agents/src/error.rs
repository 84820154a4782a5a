//! What can be wrong with what was asked.

use api::services::ManagedServicePhase;

/// Why a tool did not do what was asked. Nothing was written then, unless it says so.
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
    /// The caller's token does not own such a session, whether there is one or not.
    #[error("there is no session {session:?} of this token; `register` begins one, and answers with its id")]
    NoSession {
        /// What was asked for.
        session: String,
    },
    /// The caller's rights do not reach so far.
    #[error("forbidden: this identity may not {what}")]
    Denied {
        /// What was asked for.
        what: String,
    },
    /// The caller asks more often than it may.
    #[error("too many calls with this token; try again in {seconds} s")]
    TooOften {
        /// When there is room again.
        seconds: u64,
    },
    /// A person has to agree, and the client cannot ask one.
    #[error(
        "{what} Only a person can do this, and this client cannot ask one (no elicitation). Let them run: {command}"
    )]
    NeedsPerson {
        /// What was asked for.
        what: String,
        /// What the person can type.
        command: String,
    },
    /// A person was asked, and did not agree.
    #[error("nothing was changed: the person who was asked did not agree")]
    NotAgreed,
    /// What came back from the client is not what was sent to it.
    #[error(
        "nothing was changed: the confirmation is not valid ({why}); call the tool again without it to ask anew"
    )]
    BadConfirmation {
        /// What is wrong with it.
        why: &'static str,
    },
    /// There is no plan, or it was not carried out as a whole.
    #[error(transparent)]
    Plan(#[from] crate::plans::Fault),
    /// A mistake of the platform's own.
    #[error("the platform failed: {0}")]
    Internal(String),
    /// The platform refused, in its own words.
    #[error("{0}")]
    Refused(String),
    /// The platform did not answer.
    #[error("the platform did not answer")]
    Unreachable(#[source] Box<kube::Error>),
}

impl Error {
    /// There is no service of that name.
    pub(crate) fn no_service(namespace: &str, name: &str) -> Self {
        Self::NotFound { what: "managed service", name: name.into(), namespace: namespace.into() }
    }

    pub(crate) fn invalid(what: &'static str, why: impl Into<String>) -> Self {
        Self::Invalid { what, why: why.into() }
    }
}

impl Error {
    /// Whether the caller may not, rather than cannot.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::NoSession { .. }
                | Self::Denied { .. }
                | Self::TooOften { .. }
                | Self::NeedsPerson { .. }
                | Self::NotAgreed
                | Self::BadConfirmation { .. }
        )
    }

    /// What it is, in one word: for records that must not hold what was asked.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "Invalid",
            Self::NotFound { .. } => "NotFound",
            Self::Exists { .. } => "Exists",
            Self::NotReady { .. } => "NotReady",
            Self::EnvClash { .. } => "EnvClash",
            Self::StillBound { .. } => "StillBound",
            Self::NotAvailable => "NotAvailable",
            Self::NoBackup { .. } => "NoBackup",
            Self::Busy { .. } => "Busy",
            Self::NoSession { .. } => "NoSession",
            Self::Denied { .. } => "Denied",
            Self::TooOften { .. } => "TooOften",
            Self::NeedsPerson { .. } => "NeedsPerson",
            Self::NotAgreed => "NotAgreed",
            Self::BadConfirmation { .. } => "BadConfirmation",
            Self::Plan(fault) => fault.word(),
            Self::Internal(_) => "Internal",
            Self::Refused(_) => "Refused",
            Self::Unreachable(_) => "Unreachable",
        }
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 403 && status.reason == "Forbidden" => {
                Self::Denied { what: wanted(&status.message) }
            }
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

/// What was forbidden, without the name of whom: `… User "x" cannot list resource "pods" …`.
fn wanted(message: &str) -> String {
    match message.split_once("\" cannot ") {
        Some((_, wanted)) => wanted.to_owned(),
        None => message.to_owned(),
    }
}
