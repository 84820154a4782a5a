//! Resources in AWS (`aws-infra-operator.runner.codes`): what is there is read, compared field by field with the spec, and
//! only what differs is written.

mod aws_provider;
mod course;
mod desk;
mod ec2_instance;
mod farewell;
mod inventory;
mod metrics;
mod provider;
mod rds_instance;
mod report;
mod s3_bucket;
mod sqs_queue;
mod step;
mod tags;
#[cfg(test)]
mod tests;

pub use aws_provider::AWSProviders;
pub use desk::Desk;
pub use ec2_instance::EC2Instances;
pub use inventory::{Found, Kind};
pub use rds_instance::RDSInstances;
pub use s3_bucket::S3Buckets;
pub use sqs_queue::SQSQueues;
