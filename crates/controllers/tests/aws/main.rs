//! The rooms of AWS on a server that answers as AWS does, on a control plane in memory whose clock is moved by hand.
//! What they made is looked at with AWS's own client.
#![expect(clippy::print_stdout, reason = "it is its own test runner")]
#![recursion_limit = "256"]

mod databases;
mod ground;
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
    databases::a_database_converges_with_every_field,
    databases::a_database_survives_any_broken_call,
    databases::every_field_of_a_database_that_can_change_is_changed,
    databases::what_was_changed_outside_is_put_back_and_told,
    databases::a_database_that_is_only_watched_is_never_changed,
    databases::a_database_of_others_is_taken_over_only_when_asked_and_approved,
    databases::a_database_goes_as_its_policy_says,
    databases::a_protected_database_stays,
    databases::a_password_changes_with_its_secret_and_is_told_nowhere,
    databases::a_database_without_its_password_is_not_made,
    databases::an_inventory_asks_for_what_is_there,
    databases::any_database_converges_and_is_as_its_spec_says,
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
