//! Resources in AWS (`aws-infra-operator.runner.codes`).

mod aws_provider;
mod ec2_instance;
mod rds_instance;
mod reference;
mod s3_bucket;
mod sqs_queue;

pub use aws_provider::*;
pub use ec2_instance::*;
pub use rds_instance::*;
pub use reference::*;
pub use s3_bucket::*;
pub use sqs_queue::*;
