//! Who notes every call: for the metrics, and for the list of rights that the calls need.

use std::collections::BTreeMap;
use std::sync::Arc;

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::BeforeSerializationInterceptorContextRef;
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;
use parking_lot::Mutex;

/// An operation of a service, in AWS's words: `S3` and `CreateBucket`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    /// The service.
    pub service: String,
    /// The operation.
    pub operation: String,
}

/// Notes which operations are called, and how often. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Witness(Arc<Mutex<BTreeMap<Call, u64>>>);

impl Witness {
    /// What was called, and how often.
    pub fn calls(&self) -> BTreeMap<Call, u64> {
        self.0.lock().clone()
    }

    pub(super) fn note(&self, service: &str, operation: &str) {
        let call = Call { service: service.to_owned(), operation: operation.to_owned() };
        *self.0.lock().entry(call).or_default() += 1;
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
}
