use api::infra::SQSQueue;
use kit::{Fault, Name, Reader, Room};
use ports::aws::Queue;

use super::SQSQueues;
use crate::infra::desk::{Visitor, World};

/// Looks for the queue in the account of its provider.
pub(super) async fn observe(
    room: &SQSQueues,
    queue: &SQSQueue,
    reader: &Reader,
) -> Result<World<Queue>, Fault> {
    let visitor = Visitor {
        room: SQSQueues::NAME,
        name: Name::of(queue),
        going: queue.metadata.deletion_timestamp.is_some(),
        bell: &room.bell,
        provider: &queue.spec.provider_ref,
    };
    let (aws, name) = (&room.desk.aws, &queue.spec.queue_name);
    room.desk.look(reader, visitor, async |account| aws.queue(&account, name).await).await
}
