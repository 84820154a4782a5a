//! A call of EC2: a form goes out, XML comes in. All between is the SDK's own, as in its generated clients: credentials,
//! signing, retries and their quota, timeouts, the clock of the service.

use std::fmt;

use api::secret::Sealed;
use aws_config::SdkConfig;
use aws_runtime::auth::sigv4::{SCHEME_ID, SigV4AuthScheme};
use aws_runtime::auth::{SigV4OperationSigningConfig, SigningOptions};
use aws_runtime::invocation_id::InvocationIdInterceptor;
use aws_runtime::request_info::RequestInfoInterceptor;
use aws_runtime::retries::classifiers::AwsErrorCodeClassifier;
use aws_runtime::service_clock_skew::{ServiceClockSkewClassifier, ServiceClockSkewInterceptor};
use aws_runtime::user_agent::{ApiMetadata, UserAgentInterceptor};
use aws_smithy_runtime::client::defaults::{DefaultPluginParams, default_plugins};
use aws_smithy_runtime::client::http::connection_poisoning::ConnectionPoisoningInterceptor;
use aws_smithy_runtime::client::orchestrator::endpoints::StaticUriEndpointResolver;
use aws_smithy_runtime::client::orchestrator::invoke;
use aws_smithy_runtime::client::retries::RetryPartition;
use aws_smithy_runtime::client::retries::classifiers::{HttpStatusCodeClassifier, TransientErrorClassifier};
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::auth::AuthSchemeOptionResolverParams;
use aws_smithy_runtime_api::client::auth::static_resolver::StaticAuthSchemeOptionResolver;
use aws_smithy_runtime_api::client::endpoint::EndpointResolverParams;
use aws_smithy_runtime_api::client::interceptors::SharedInterceptor;
use aws_smithy_runtime_api::client::interceptors::context::{Error as Erased, Input, Output};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse, Metadata, OrchestratorError};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponentsBuilder;
use aws_smithy_runtime_api::client::runtime_plugin::{RuntimePlugins, StaticRuntimePlugin};
use aws_smithy_runtime_api::client::ser_de::{
    DeserializeResponse, SerializeRequest, SharedRequestSerializer, SharedResponseDeserializer,
};
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::{ConfigBag, Layer};
use aws_smithy_types::error::metadata::{ErrorMetadata, ProvideErrorMetadata};
use aws_smithy_xml::decode::{ScopedDecoder, XmlDecodeError};
use aws_types::SigningName;
use aws_types::region::SigningRegion;

use super::form::{Form, VERSION};
use super::xml;
use crate::aws::error::told;
use crate::aws::{Error, Witness};

/// The service, as metrics and signatures name it.
const SERVICE: &str = "EC2";
const SIGNED_AS: &str = "ec2";
const FORM: &str = "application/x-www-form-urlencoded";

/// How an answer is read.
pub(super) type Reader<T> = fn(ScopedDecoder<'_, '_>) -> Result<T, XmlDecodeError>;

/// The client of EC2 of one account.
pub(in crate::aws) struct Ec2 {
    plugins: RuntimePlugins,
}

impl Ec2 {
    /// A client that shares what the SDK's own clients of the account share.
    pub(in crate::aws) fn new(config: &SdkConfig, partition: RetryPartition, witness: &Witness) -> Self {
        let mut defaults = DefaultPluginParams::new().with_is_aws_sdk(true);
        defaults = defaults.with_retry_partition_name(SERVICE);
        if let Some(version) = config.behavior_version() {
            defaults = defaults.with_behavior_version(version);
        }
        let own = StaticRuntimePlugin::new()
            .with_config(settings(config, partition).freeze())
            .with_runtime_components(components(config, witness));
        let plugins = RuntimePlugins::new().with_client_plugins(default_plugins(defaults));
        Self { plugins: plugins.with_client_plugin(own) }
    }

    /// Asks for an action, and reads the answer.
    pub(super) async fn call<T>(&self, action: &'static str, form: Form, read: Reader<T>) -> Result<T, Error>
    where
        T: fmt::Debug + Send + Sync + 'static,
    {
        let mut layer = Layer::new(action);
        layer.store_put(Metadata::new(action, SERVICE));
        layer.store_put(SharedRequestSerializer::new(Post));
        layer.store_put(SharedResponseDeserializer::new(Answer(read)));
        let operation = StaticRuntimePlugin::new().with_config(layer.freeze());
        let plugins = self.plugins.clone().with_operation_plugin(operation);
        let input = Input::erase(Sealed::new(form.into_body()));
        let answer = invoke(SERVICE, action, input, &plugins).await;
        let answer = answer.map_err(|error| {
            told(action, error.map_service_error(|error| error.downcast().unwrap_or_else(Refusal::unknown)))
        })?;
        answer.downcast().map_err(|_| Error::garbled(action, "it was read as something else"))
    }

    /// Asks for an action whose answer says nothing more.
    pub(super) async fn tell(&self, action: &'static str, form: Form) -> Result<(), Error> {
        self.call(action, form, |_| Ok(())).await
    }
}

/// Where EC2 of a region is.
pub(super) fn endpoint(region: &str) -> String {
    let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    format!("https://ec2.{region}.{suffix}")
}

fn settings(config: &SdkConfig, partition: RetryPartition) -> Layer {
    let mut layer = Layer::new(SERVICE);
    layer.store_put(partition);
    layer.store_put(ApiMetadata::new(SIGNED_AS, VERSION));
    layer.store_put(SigningName::from_static(SIGNED_AS));
    layer.store_put(EndpointResolverParams::new(()));
    layer.store_put(AuthSchemeOptionResolverParams::new(()));
    layer.store_put(SigV4OperationSigningConfig {
        signing_options: SigningOptions::default(),
        ..SigV4OperationSigningConfig::default()
    });
    if let Some(region) = config.region() {
        layer.store_put(region.clone());
        layer.store_put(SigningRegion::from(region.clone()));
    }
    if let Some(retry) = config.retry_config() {
        layer.store_put(retry.clone());
    }
    if let Some(timeout) = config.timeout_config() {
        layer.store_put(timeout.clone());
    }
    layer
}

fn components(config: &SdkConfig, witness: &Witness) -> RuntimeComponentsBuilder {
    let region = config.region().map(|region| region.as_ref()).unwrap_or_default();
    let url = config.endpoint_url().map_or_else(|| endpoint(region), str::to_owned);
    let mut all = RuntimeComponentsBuilder::new(SERVICE)
        .with_http_client(config.http_client())
        .with_sleep_impl(config.sleep_impl())
        .with_time_source(config.time_source())
        .with_identity_cache(config.identity_cache())
        .with_endpoint_resolver(Some(StaticUriEndpointResolver::uri(url)))
        .with_auth_scheme(SigV4AuthScheme::new())
        .with_auth_scheme_option_resolver(Some(StaticAuthSchemeOptionResolver::new(vec![SCHEME_ID])))
        .with_interceptor(SharedInterceptor::permanent(ConnectionPoisoningInterceptor::new()))
        .with_interceptor(ServiceClockSkewInterceptor::new())
        .with_interceptor(RequestInfoInterceptor::new())
        .with_interceptor(UserAgentInterceptor::new())
        .with_interceptor(InvocationIdInterceptor::new())
        .with_interceptor(witness.clone())
        .with_retry_classifier(HttpStatusCodeClassifier::default())
        .with_retry_classifier(TransientErrorClassifier::<Refusal>::new())
        .with_retry_classifier(AwsErrorCodeClassifier::<Refusal>::new())
        .with_retry_classifier(ServiceClockSkewClassifier::<Refusal>::new());
    if let Some(credentials) = config.credentials_provider() {
        all.set_identity_resolver(SCHEME_ID, credentials);
    }
    all
}

/// What EC2 says instead of an answer.
#[derive(Debug)]
pub(super) struct Refusal(ErrorMetadata);

impl Refusal {
    fn unknown(error: Erased) -> Self {
        Self(ErrorMetadata::builder().message(format!("{error:?}")).build())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.code().unwrap_or("refused"))
    }
}

impl std::error::Error for Refusal {}

impl ProvideErrorMetadata for Refusal {
    fn meta(&self) -> &ErrorMetadata {
        &self.0
    }
}

/// Sends a form. What it holds is sealed: scripts for machines are among it.
#[derive(Debug)]
struct Post;

impl SerializeRequest for Post {
    fn serialize_input(&self, input: Input, _: &mut ConfigBag) -> Result<HttpRequest, BoxError> {
        let body: Sealed<String> = input.downcast().map_err(|_| "EC2 is asked in forms")?;
        let mut request = HttpRequest::new(SdkBody::from(body.into_open()));
        request.set_method("POST")?;
        request.set_uri("/")?;
        request.headers_mut().insert("content-type", FORM);
        Ok(request)
    }
}

/// Reads an answer.
struct Answer<T>(Reader<T>);

impl<T> fmt::Debug for Answer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a reader of XML")
    }
}

impl<T: fmt::Debug + Send + Sync + 'static> DeserializeResponse for Answer<T> {
    fn deserialize_nonstreaming(&self, answer: &HttpResponse) -> Result<Output, OrchestratorError<Erased>> {
        let body = answer.body().bytes().unwrap_or_default();
        if answer.status().is_success() {
            let read = xml::read(body, self.0).map_err(OrchestratorError::other)?;
            return Ok(Output::erase(read));
        }
        // A balancer in front of EC2 answers in its own words: then the status is all there is.
        let told = xml::read(body, xml::refusal).unwrap_or_default();
        Err(OrchestratorError::operation(Erased::erase(Refusal(told))))
    }
}
