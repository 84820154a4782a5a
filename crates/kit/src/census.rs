//! How many objects of each kind stand how, counted when somebody asks: nothing is kept that could differ from them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use api::conditions::READY;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use parking_lot::RwLock;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet};
use prometheus_client::metrics::MetricType;

/// What an object says of itself: the value of its `Ready` condition, and the reason.
pub(crate) type Stand = (String, String);

type Count = Box<dyn Fn() -> Vec<Stand> + Send + Sync>;

/// Everybody who can be counted.
#[derive(Clone, Default)]
pub(crate) struct Census(Arc<RwLock<BTreeMap<&'static str, Count>>>);

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Standing {
    room: &'static str,
    ready: String,
    reason: String,
}

impl Census {
    /// Counts a room's objects from now on.
    pub(crate) fn include(&self, room: &'static str, count: impl Fn() -> Vec<Stand> + Send + Sync + 'static) {
        self.0.write().insert(room, Box::new(count));
    }
}

/// What an object's conditions say. One that nobody has looked at yet says nothing.
pub(crate) fn stand(conditions: &[Condition]) -> Stand {
    let ready = conditions.iter().find(|condition| condition.type_ == READY);
    match ready {
        Some(ready) => (ready.status.clone(), ready.reason.clone()),
        None => ("Unknown".into(), "NotSeenYet".into()),
    }
}

impl fmt::Debug for Census {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Census")
    }
}

impl Collector for Census {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let help = "Objects there are, by what their Ready condition says";
        let mut metric = encoder.encode_descriptor("objects", help, None, MetricType::Gauge)?;
        for (room, count) in &*self.0.read() {
            let mut sums: BTreeMap<Stand, i64> = BTreeMap::new();
            for stand in count() {
                *sums.entry(stand).or_default() += 1;
            }
            for ((ready, reason), sum) in sums {
                metric.encode_family(&Standing { room, ready, reason })?.encode_gauge(&sum)?;
            }
        }
        Ok(())
    }
}
