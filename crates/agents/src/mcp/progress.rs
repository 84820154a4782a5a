//! How far a call is, for clients that asked to be told.

use std::future::Future;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use tokio::sync::mpsc;

use crate::tool::Progress;

/// Steps that may wait for a slow client; what is beyond is not told, because the next step says more.
const WAITING: usize = 64;

type Step = (f64, Option<f64>, String);

/// Passes on what a call tells of itself.
pub(super) struct Told {
    token: Option<ProgressToken>,
    steps: mpsc::Receiver<Step>,
    last: f64,
}

/// Where a call tells how far it is, and who passes it on.
pub(super) fn listen(context: &RequestContext<RoleServer>) -> (Progress, Told) {
    let (sender, steps) = mpsc::channel(WAITING);
    let token = context.meta.get_progress_token();
    let progress = match token {
        Some(_) => Progress::to(move |done, all, message| {
            let _ = sender.try_send((done, all, message));
        }),
        None => Progress::default(),
    };
    (progress, Told { token, steps, last: f64::NEG_INFINITY })
}

impl Told {
    /// Does the work, and passes on what it tells meanwhile. All of it has been sent when this returns, so nothing comes
    /// after the answer.
    pub(super) async fn during<F: Future>(
        mut self,
        context: &RequestContext<RoleServer>,
        work: F,
    ) -> F::Output {
        tokio::pin!(work);
        let outcome = loop {
            tokio::select! {
                biased;
                Some(step) = self.steps.recv() => self.pass(context, step).await,
                outcome = &mut work => break outcome,
            }
        };
        while let Ok(step) = self.steps.try_recv() {
            self.pass(context, step).await;
        }
        outcome
    }

    /// Progress that does not grow is none (the protocol forbids to send it).
    async fn pass(&mut self, context: &RequestContext<RoleServer>, (done, all, message): Step) {
        let Some(token) = self.token.clone().filter(|_| done > self.last) else { return };
        self.last = done;
        let mut told = ProgressNotificationParam::new(token, done);
        told.total = all;
        told.message = Some(message);
        // A client that is gone need not be told.
        let _ = context.peer.notify_progress(told).await;
    }
}
