//! The two tests that every kind is run through, and the bench they stand on.
//!
//! [`converge`]: create an object, let it settle, and a further pass writes nothing. [`sweep`]: break each call that
//! its passes make, in each way a call can break, and the end is the same. A [`Scenario`] says what to create and who
//! plays the rest of the world; a [`Bench`] is for tests that run their passes by hand.
//!
//! ```text
//! fn one_app(gate: &Gate) -> Scenario<Applications> {
//!     Scenario::new(Applications::new(settings()), json!({ "kind": "Application", … }))
//!         .given(json!({ "kind": "Secret", … }))
//!         .world(|client| async move { make_deployments_available(client).await })
//! }
//!
//! #[tokio::test]
//! async fn an_application_converges() {
//!     let bench = testing::converge(one_app).await;
//!     assert!(bench.get::<Deployment>("default", "web").await.is_some());
//! }
//!
//! #[tokio::test]
//! async fn an_application_survives_any_broken_call() {
//!     testing::sweep(one_app).await;
//! }
//! ```

mod bench;
mod gate;
mod scenario;
mod shelves;
mod state;
mod sweep;
#[cfg(test)]
mod tests;

pub use bench::{Bench, Hand};
pub use gate::{Broken, Call, Gate, Trouble};
pub use scenario::Scenario;
pub use state::State;
pub use sweep::{converge, sweep};
