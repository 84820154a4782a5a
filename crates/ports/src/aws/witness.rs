//! Who notes every call and how it ended: for the metrics, and for the list of rights that the calls need.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeSerializationInterceptorContextRef, FinalizerInterceptorContextRef,
};
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::orchestrator::{HttpResponse, Metadata};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;
use parking_lot::Mutex;

/// What AWS says of credentials that it takes no longer, or not yet.
const REJECTED: [&str; 5] =
    ["ExpiredToken", "InvalidClientTokenId", "UnrecognizedClient", "InvalidAccessKeyId", "AuthFailure"];

/// An operation of a service, in AWS's words: `S3` and `CreateBucket`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    /// The service.
    pub service: String,
    /// The operation.
    pub operation: String,
}

/// How a call ended, when all its tries were over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ending {
    /// AWS did it.
    Done,
    /// AWS said no.
    Refused,
    /// AWS failed: its answer has a code of 500 or more.
    Broken,
    /// Nobody answered.
    Silent,
}

/// Notes which operations are called, how often, and how they end. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Witness {
    book: Arc<Mutex<Book>>,
    rejected: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct Book {
    calls: BTreeMap<Call, u64>,
    endings: BTreeMap<(Call, Ending), u64>,
}

impl Witness {
    /// What was called, and how often.
    pub fn calls(&self) -> BTreeMap<Call, u64> {
        self.book.lock().calls.clone()
    }

    /// How calls ended, and how often.
    pub fn endings(&self) -> BTreeMap<(Call, Ending), u64> {
        self.book.lock().endings.clone()
    }

    pub(super) fn note(&self, service: &str, operation: &str) {
        let call = Call { service: service.to_owned(), operation: operation.to_owned() };
        *self.book.lock().calls.entry(call).or_default() += 1;
    }

    pub(super) fn note_ending(&self, service: &str, operation: &str, ending: Ending) {
        let call = Call { service: service.to_owned(), operation: operation.to_owned() };
        *self.book.lock().endings.entry((call, ending)).or_default() += 1;
    }

    /// The same witness, for an account whose credentials nobody has rejected yet.
    pub(super) fn of_account(&self) -> Self {
        Self { book: self.book.clone(), rejected: Arc::default() }
    }

    /// Whether AWS has rejected the account's credentials.
    pub(super) fn rejected(&self) -> bool {
        self.rejected.load(Ordering::Relaxed)
    }
}

#[dyn_dispatch_hint]
impl Intercept for Witness {
    fn name(&self) -> &'static str {
        "witness"
    }

    fn read_before_serialization(
        &self,
        _: &BeforeSerializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(metadata) = config.load::<Metadata>() {
            self.note(metadata.service(), metadata.name());
        }
        Ok(())
    }

    fn read_after_execution(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let ending = match (context.output_or_error(), context.response()) {
            (Some(Ok(_)), _) => Ending::Done,
            (_, Some(answer)) if answer.status().is_server_error() => Ending::Broken,
            (_, Some(answer)) if answer.status().is_client_error() => Ending::Refused,
            _ => Ending::Silent,
        };
        if let Some(metadata) = config.load::<Metadata>() {
            self.note_ending(metadata.service(), metadata.name(), ending);
        }
        if ending == Ending::Refused && context.response().is_some_and(rejects) {
            self.rejected.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Whether an answer says that the credentials are not taken.
fn rejects(answer: &HttpResponse) -> bool {
    let body = answer.body().bytes().map(String::from_utf8_lossy).unwrap_or_default();
    REJECTED.iter().any(|word| body.contains(word))
}
