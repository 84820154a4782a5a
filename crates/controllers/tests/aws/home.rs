//! The rooms of AWS as they run in the platform: in a house, on a control plane in memory, with the SDK's own HTTP client.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use api::conditions::{READY, SYNCED, find};
use api::infra::{AWSProvider, SQSQueue};
use controllers::infra::{AWSProviders, Desk, SQSQueues};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kit::testing::Bench;
use kit::{House, Metrics};
use ports::aws::Settings;
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::ground::{REGION, desk};

/// How long something may take that has to come; far more than it does.
const LONG: Duration = Duration::from_secs(60);

/// A house with the rooms of providers and queues.
pub struct Home {
    pub bench: Bench,
    pub metrics: Arc<Metrics>,
    _stop: DropGuard,
}

impl Home {
    /// Opens it.
    pub async fn open(settings: Settings) -> Self {
        Self::over(desk(settings)).await
    }

    /// Opens it, with a desk of the caller's own.
    pub async fn over(desk: Desk) -> Self {
        let (bench, stop) = (Bench::start().await, CancellationToken::new());
        let house = House::new(bench.client().clone(), stop.clone());
        let house = house.room(AWSProviders::new(desk.clone())).room(SQSQueues::new(desk));
        let metrics = house.metrics().clone();
        tokio::spawn(house.run());
        Self { bench, metrics, _stop: stop.drop_guard() }
    }

    /// A provider with keys of its own, which is called like them.
    pub async fn provider(&self, name: &str, endpoint: &str) {
        self.bench.create(secret(name, &format!("AKIA{}", name.to_uppercase()), "not-a-secret")).await;
        self.bench.create(provider(name, endpoint, json!({ "credentialsSecret": { "name": name } }))).await;
        self.until(&format!("provider {name}"), async || self.provider_says(name).await.starts_with("True"))
            .await;
    }

    /// A queue at a provider, both called so.
    pub async fn queue(&self, name: &str, provider: &str, spec: Value) {
        let mut manifest = json!({
            "apiVersion": "aws-infra-operator.runner.codes/v1alpha1", "kind": "SQSQueue",
            "metadata": { "name": name, "namespace": "default" },
            "spec": { "providerRef": { "name": provider }, "queueName": name },
        });
        for (field, value) in spec.as_object().expect("an object") {
            manifest["spec"][field] = value.clone();
        }
        self.bench.create(manifest).await;
    }

    /// What a provider says of itself: `True/Available: …`.
    pub async fn provider_says(&self, name: &str) -> String {
        let found = self.bench.get::<AWSProvider>("default", name).await;
        let conditions = found.and_then(|found| found.status).map(|status| status.conditions);
        told(find(&conditions.unwrap_or_default(), READY))
    }

    /// What a queue says of itself: `Ready` and `Synced`.
    pub async fn queue_says(&self, name: &str) -> (String, String) {
        let found = self.bench.get::<SQSQueue>("default", name).await;
        let conditions =
            found.and_then(|found| found.status).map(|status| status.conditions).unwrap_or_default();
        (told(find(&conditions, READY)), told(find(&conditions, SYNCED)))
    }

    /// Waits until a queue is as its spec asks.
    pub async fn until_met(&self, name: &str) {
        let met = async || {
            let (ready, synced) = self.queue_says(name).await;
            ready.starts_with("True") && synced.starts_with("True")
        };
        self.until(&format!("queue {name} is as asked"), met).await;
    }

    /// Waits until something can be seen.
    pub async fn until<F: Future<Output = bool>>(&self, what: &str, seen: impl Fn() -> F) {
        self.until_within(LONG, what, seen).await;
    }

    /// Waits until something can be seen, but not longer than this.
    pub async fn until_within<F: Future<Output = bool>>(
        &self,
        limit: Duration,
        what: &str,
        seen: impl Fn() -> F,
    ) {
        let looked = tokio::time::timeout(limit, async {
            let mut looks = tokio::time::interval(Duration::from_millis(20));
            while !seen().await {
                looks.tick().await;
            }
        });
        if looked.await.is_err() {
            panic!("never seen: {what}\n{}", self.everything().await);
        }
    }

    /// What everybody says, for whoever waits in vain.
    async fn everything(&self) -> String {
        let client = self.bench.client();
        let providers: kube::Api<AWSProvider> = kube::Api::all(client.clone());
        let queues: kube::Api<SQSQueue> = kube::Api::all(client.clone());
        let mut lines = Vec::new();
        for provider in providers.list(&Default::default()).await.expect("a list") {
            lines.push(serde_json::to_string(&(provider.metadata.name, provider.status)).expect("JSON"));
        }
        for queue in queues.list(&Default::default()).await.expect("a list") {
            lines.push(serde_json::to_string(&(queue.metadata.name, queue.status)).expect("JSON"));
        }
        lines.join("\n")
    }
}

fn told(condition: Option<&Condition>) -> String {
    condition.map_or_else(String::new, |it| format!("{}/{}: {}", it.status, it.reason, it.message))
}

/// A Secret with a key in the words of the spec.
pub fn secret(name: &str, id: &str, key: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": "default" },
        "stringData": { "accessKeyID": id, "secretAccessKey": key },
    })
}

/// A provider with these fields.
pub fn provider(name: &str, endpoint: &str, spec: Value) -> Value {
    let mut manifest = json!({
        "apiVersion": "aws-infra-operator.runner.codes/v1alpha1", "kind": "AWSProvider",
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "region": REGION, "endpoint": endpoint },
    });
    for (field, value) in spec.as_object().expect("an object") {
        manifest["spec"][field] = value.clone();
    }
    manifest
}
