//! Claims on a real PostgreSQL server: the room and the port that speaks to servers, on a control plane in memory whose
//! clock is moved by hand.
#![expect(clippy::print_stdout, reason = "it is its own test runner")]
#![recursion_limit = "256"]

mod calls;
mod cuts;
mod cutter;
#[path = "../../src/claims/gated.rs"]
mod gated;
#[path = "../../../ports/tests/admin/ground.rs"]
#[allow(dead_code, reason = "the tests of the port use the rest of it")]
mod ground;
mod hostile;
mod load;
mod shared;
mod source;
mod stage;
mod terms;

use std::future::Future;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use ground::Ground;

type Row = for<'a> fn(&'a Ground) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

macro_rules! rows {
    ($($module:ident :: $name:ident,)*) => {
        &[$((stringify!($name), |ground| Box::pin($module::$name(ground)))),*]
    };
}

const ROWS: &[(&str, Row)] = rows![
    terms::an_administrator_without_all_power_serves_a_whole_life,
    terms::certificates_are_checked_as_the_configuration_says,
    shared::two_claims_share_a_server_and_see_nothing_of_each_other,
    shared::a_name_that_is_taken_is_left_alone,
    source::a_database_made_by_hand_is_used_and_left,
    hostile::names_that_would_be_statements_are_names,
    hostile::names_that_no_server_could_keep_are_refused,
    hostile::masters_may_have_any_password,
    cuts::a_life_goes_on_after_any_statement_that_was_cut,
    cuts::a_held_database_comes_back_after_any_statement_that_was_cut,
    calls::a_life_goes_on_after_any_call_that_broke,
    calls::a_held_database_comes_back_after_any_call_that_broke,
    load::a_thousand_rotations_fail_no_query,
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
    let ground = Arc::new(runtime.block_on(Ground::new()));
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
