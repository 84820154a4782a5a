//! How many calls were made to AWS, and how they ended.

use std::fmt;
use std::sync::Arc;

use ports::aws::{Aws, Ending};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, NoLabelSet};
use prometheus_client::metrics::MetricType;

/// What was called, asked of the clients whenever somebody wants to know.
pub(super) struct Calls(pub(super) Arc<Aws>);

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Of {
    service: String,
    operation: String,
    outcome: &'static str,
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Calls")
    }
}

impl Collector for Calls {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let help = "Calls to AWS that ended, by how; tries of one call count once";
        let mut metric = encoder.encode_descriptor("aws_calls", help, None, MetricType::Counter)?;
        for ((call, ending), count) in self.0.witness().endings() {
            let of = Of { service: call.service, operation: call.operation, outcome: word(ending) };
            metric.encode_family(&of)?.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
        }
        Ok(())
    }
}

fn word(ending: Ending) -> &'static str {
    match ending {
        Ending::Done => "ok",
        Ending::Refused => "refused",
        Ending::Broken => "broken",
        Ending::Silent => "silent",
    }
}
