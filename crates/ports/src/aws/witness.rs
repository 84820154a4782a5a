//! Who notes every call and how it ended: for the metrics, for the list of rights that the calls need, and for whoever has to
//! know what AWS said last.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeSerializationInterceptorContextRef, BeforeTransmitInterceptorContextRef,
    FinalizerInterceptorContextMut, FinalizerInterceptorContextRef,
};
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::orchestrator::{HttpResponse, Metadata, OrchestratorError};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;
use aws_smithy_types::timeout::TimeoutConfig;
use parking_lot::Mutex;

use super::patience;
use super::word::{Course, Heard, Stage, Word};

/// What AWS says of credentials that it takes no longer, or not yet.
const REJECTED: [&str; 5] =
    ["ExpiredToken", "InvalidClientTokenId", "UnrecognizedClient", "InvalidAccessKeyId", "AuthFailure"];

/// The service that hands out credentials.
const STS: &str = "STS";

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
    provider: Arc<str>,
    rejected: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct Book {
    calls: BTreeMap<Call, u64>,
    endings: BTreeMap<(Call, Ending), u64>,
    /// What a provider's service said when it last asked us to slow down. The SDK heeds it for as long as we run, so it is
    /// never forgotten.
    words: BTreeMap<(Arc<str>, String), Heard>,
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

    /// The same witness, for a provider's account whose credentials nobody has rejected yet.
    pub(super) fn of_account(&self, provider: &str) -> Self {
        Self { book: self.book.clone(), provider: provider.into(), rejected: Arc::default() }
    }

    /// Whether AWS has rejected the account's credentials.
    pub(super) fn rejected(&self) -> bool {
        self.rejected.load(Ordering::Relaxed)
    }

    fn hear(&self, service: &str, word: Word) {
        let place = (self.provider.clone(), service.to_owned());
        self.book.lock().words.insert(place, Heard::now(word));
    }

    fn heard(&self, service: &str) -> Option<Heard> {
        self.book.lock().words.get(&(self.provider.clone(), service.to_owned())).cloned()
    }

    /// Why a call ended before AWS answered, in AWS's words.
    fn reason(&self, course: &Course, service: &str) -> Option<Word> {
        course.word.clone().or_else(|| match course.stage {
            Stage::Late => self.heard(service)?.fresh(),
            Stage::Waiting => Some(self.heard(service)?.word()),
            Stage::Entering => self.heard(STS)?.fresh(),
            Stage::Sent | Stage::Told => None,
        })
    }
}

#[dyn_dispatch_hint]
impl Intercept for Witness {
    fn name(&self) -> &'static str {
        "witness"
    }

    fn read_before_execution(
        &self,
        _: &BeforeSerializationInterceptorContextRef<'_>,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let Some(rest) = patience::rest() else { return Ok(()) };
        if rest.is_zero() {
            note(config, |course| course.stage = Stage::Late);
            return Err("the calls before it took all the time that there was".into());
        }
        let own = config.load::<TimeoutConfig>().and_then(TimeoutConfig::operation_timeout);
        let limit = TimeoutConfig::builder().operation_timeout(own.map_or(rest, |own| own.min(rest)));
        config.interceptor_state().store_put(limit.build());
        Ok(())
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

    fn read_before_attempt(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        note(config, |course| course.stage = Stage::Entering);
        Ok(())
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        note(config, |course| *course = Course { stage: Stage::Sent, word: None });
        Ok(())
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let Some(word) = context.response().and_then(Word::of) else { return Ok(()) };
        if word.slows_down()
            && let Some(metadata) = config.load::<Metadata>()
        {
            self.hear(metadata.service(), word.clone());
        }
        note(config, |course| course.word = Some(word));
        Ok(())
    }

    fn modify_before_completion(
        &self,
        context: &mut FinalizerInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let course = config.load::<Course>().cloned().unwrap_or_default();
        let Some(Err(error)) = context.output_or_error() else { return Ok(()) };
        if !error.is_timeout_error() && course.stage != Stage::Late {
            return Ok(());
        }
        let service = config.load::<Metadata>().map(Metadata::service);
        if let Some(word) = service.and_then(|service| self.reason(&course, service)) {
            context.inner_mut().set_output_or_error(Err(OrchestratorError::other(word)));
            note(config, |course| course.stage = Stage::Told);
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
            _ if config.load::<Course>().is_some_and(|course| course.stage == Stage::Told) => Ending::Refused,
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

/// Notes how far a call is.
fn note(config: &mut ConfigBag, change: impl FnOnce(&mut Course)) {
    let mut course = config.load::<Course>().cloned().unwrap_or_default();
    change(&mut course);
    config.interceptor_state().store_put(course);
}

/// Whether an answer says that the credentials are not taken.
fn rejects(answer: &HttpResponse) -> bool {
    let body = answer.body().bytes().map(String::from_utf8_lossy).unwrap_or_default();
    REJECTED.iter().any(|word| body.contains(word))
}
