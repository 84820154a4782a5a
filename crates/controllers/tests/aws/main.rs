//! The rooms of AWS on a server that answers as AWS does, on a control plane in memory whose clock is moved by hand.
//! What they made is looked at with AWS's own client.
#![expect(clippy::print_stdout, reason = "it is its own test runner")]
#![recursion_limit = "256"]

mod buckets;
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
    buckets::a_bucket_with_every_setting_converges,
    buckets::a_bucket_survives_any_broken_call,
    buckets::a_bucket_with_content_survives_any_broken_call,
    buckets::a_bucket_in_the_first_region_needs_no_location,
    buckets::every_setting_of_a_bucket_follows_the_spec,
    buckets::a_bucket_gets_access_lists_only_when_asked_for_one,
    buckets::what_is_changed_on_a_bucket_outside_is_put_back_and_told,
    buckets::rules_of_others_give_way_to_those_of_the_spec,
    buckets::a_bucket_that_is_only_watched_is_never_written_to,
    buckets::a_bucket_is_adopted_only_when_asked_and_approved,
    buckets::a_bucket_goes_as_its_policy_says,
    buckets::a_bucket_with_content_is_not_deleted_unless_the_spec_says_so,
    buckets::the_bucket_of_another_account_is_told_and_let_go,
    buckets::a_name_that_is_taken_while_we_ask_for_it_is_told_and_not_ours_later,
    buckets::a_bucket_in_another_region_is_told_and_left_alone,
    buckets::the_inventory_of_buckets_asks_for_what_is_there,
    buckets::any_spec_of_a_bucket_settles_and_is_met,
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
