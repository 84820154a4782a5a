//! The gateway with real sockets: real clients before it, and backends behind it that behave well or badly.

mod answers;
mod files;
mod forward;
mod hostile;
mod retries;
mod rollout;
mod secure;
mod stage;
mod stopping;
mod streams;
