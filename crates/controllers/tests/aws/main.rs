//! The rooms of AWS on a server that answers as AWS does, on a control plane in memory whose clock is moved by hand.
//! What they made is looked at with AWS's own client.
#![expect(clippy::print_stdout, reason = "it is its own test runner")]
#![recursion_limit = "256"]

mod ground;
mod machine_rules;
mod machines;
mod queues;

use std::future::Future;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use ground::Ground;

type Row = for<'a> fn(&'a Arc<Ground>) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

macro_rules! rows {
    ($($module:ident :: $name:ident,)*) => {
        &[$((stringify!($name), |ground| Box::pin($module::$name(ground)))),*]
    };
}

const ROWS: &[(&str, Row)] = rows![
    queues::a_queue_converges,
    queues::a_queue_survives_any_broken_call,
    machines::a_machine_converges_with_every_field,
    machines::a_machine_survives_any_broken_call,
    machines::every_setting_of_a_machine_can_be_changed,
    machines::what_was_changed_outside_is_put_back,
    machines::a_machine_that_is_only_watched_is_not_changed,
    machines::a_machine_is_adopted_only_when_it_is_agreed,
    machines::a_machine_that_was_terminated_is_made_again_once,
    machines::a_machine_that_was_stopped_stays_so,
    machines::two_machines_with_one_mark_are_left_alone,
    machines::every_policy_is_carried_out,
    machines::a_protected_machine_is_not_terminated,
    machines::what_an_account_holds_can_be_adopted_as_it_is,
    machines::any_machine_comes_to_rest_as_asked,
];
/// Four times what a worker has otherwise, in bytes.
const STACK: usize = 8 * 1024 * 1024;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Whoever asks what there is wants no server.
    if arguments.iter().any(|word| word == "--list") {
        ROWS.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let filters: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let wanted = |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(*filter));
    let rows: Vec<_> = ROWS.iter().filter(|(name, _)| wanted(name)).collect();
    if rows.is_empty() {
        return ExitCode::SUCCESS;
    }
    // The sweep's future is larger than the stack that a worker has in a build for tests.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK).build();
    let runtime = runtime.expect("a runtime");
    let ground = Arc::new(Ground::new());
    let mut failed = 0;
    for (name, row) in rows {
        let (of_row, begun) = (ground.clone(), Instant::now());
        let good =
            runtime.block_on(async move { tokio::spawn(async move { row(&of_row).await }).await.is_ok() });
        let word = if good { "ok    " } else { "FAILED" };
        println!("{word} {} ({:.1} s)", name.replace('_', " "), begun.elapsed().as_secs_f64());
        failed += usize::from(!good);
    }
    drop(runtime);
    drop(ground);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
