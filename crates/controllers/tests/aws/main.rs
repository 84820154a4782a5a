//! The rooms of AWS on a server that answers as AWS does, on a control plane in memory whose clock is moved by hand.
//! What they made is looked at with AWS's own client.
#![expect(clippy::print_stdout, reason = "it is its own test runner")]
#![recursion_limit = "256"]

mod buckets;
mod databases;
mod faults;
mod ground;
mod home;
mod journal;
mod machine_rules;
mod machines;
mod moto;
mod outage;
mod providers;
mod proxy;
mod queues;
mod rights;

use std::future::Future;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use ground::Ground;
use rights::Rights;

/// A row: the part of the tests that it is of, its name, and itself.
type Row = (&'static str, &'static str, Test);
type Test = for<'a> fn(&'a Arc<Ground>) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

macro_rules! rows {
    ($($module:ident :: $name:ident,)*) => {
        &[$((stringify!($module), stringify!($name), |ground| Box::pin($module::$name(ground)))),*]
    };
}

const ROWS: &[Row] = rows![
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
    queues::every_setting_of_a_queue_can_be_changed_and_taken_out,
    queues::what_is_changed_outside_is_put_back_and_told,
    queues::tags_and_whole_queues_that_go_outside_come_back,
    queues::a_queue_that_is_only_watched_is_never_written,
    queues::a_strange_queue_is_taken_over_only_when_its_differences_are_approved,
    queues::a_strange_queue_without_differences_only_gets_the_mark,
    queues::a_queue_of_another_object_is_left_alone,
    queues::every_deletion_policy_of_a_queue_is_kept,
    queues::a_name_can_be_used_again_after_a_minute,
    queues::an_inventory_of_queues_asks_for_what_is_there,
    queues::any_spec_of_a_queue_is_met_and_a_further_pass_writes_nothing,
    providers::keys_log_in_both_ways_and_bad_ones_are_told_in_the_words_of_aws,
    providers::a_rotated_key_is_used_by_the_next_call,
    providers::a_pod_logs_in_with_its_token_as_it_is_then,
    providers::a_role_is_taken_on_with_its_external_id_and_again_before_it_ends,
    providers::what_a_provider_lacks_is_said_and_enough_when_it_comes,
    providers::a_provider_stays_until_nobody_needs_it,
    providers::a_provider_that_cannot_log_in_says_so_and_its_queues_too,
    providers::nobody_sees_a_key,
    providers::specs_that_cannot_be_met_are_refused_with_words,
    faults::bad_lines_delay_nobody_else_and_are_got_over,
    faults::a_clock_that_is_wrong_is_corrected,
    faults::so_many_calls_of_one_provider_run_at_once_and_another_goes_on,
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
/// Rows that take minutes and little work: they run beside the others, on a server of their own.
const BESIDE: &[Row] = rows![
    outage::an_endpoint_that_is_dead_for_a_minute_is_got_over,
    outage::a_service_that_throttles_for_half_a_minute_is_asked_rarely,
];
/// Four times what a worker has otherwise, in bytes.
const STACK: usize = 8 * 1024 * 1024;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Whoever asks what there is wants no server.
    if arguments.iter().any(|word| word == "--list") {
        ROWS.iter().chain(BESIDE).for_each(|(_, name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let filters: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let wanted = |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(*filter));
    let rows: Vec<_> = ROWS.iter().filter(|(_, name, _)| wanted(name)).collect();
    let beside: Vec<_> = BESIDE.iter().filter(|(_, name, _)| wanted(name)).collect();
    if rows.is_empty() && beside.is_empty() {
        return ExitCode::SUCCESS;
    }
    // The sweep's future is larger than the stack that a worker has in a build for tests.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK).build();
    let runtime = runtime.expect("a runtime");
    let apart = (!beside.is_empty()).then(|| Arc::new(Ground::new()));
    let start = |row: &Row, ground: &Arc<Ground>| {
        let (test, name, ground, begun) = (row.2, row.1, ground.clone(), Instant::now());
        let told = async move { tokio::spawn(async move { test(&ground).await }).await.is_ok() };
        runtime.spawn(async move { tell(name, told.await, begun) })
    };
    let beside: Vec<_> = apart
        .iter()
        .flat_map(|apart| beside.iter().map(|row| start(row, apart)).collect::<Vec<_>>())
        .collect();
    let ground = Arc::new(Ground::new());
    let (mut failed, mut rights) = (0, Rights::default());
    for row in rows {
        failed += runtime.block_on(start(row, &ground)).unwrap_or(1);
        rights.note(row.0, ground::calls());
    }
    for row in beside {
        failed += runtime.block_on(row).unwrap_or(1);
    }
    // Some rows alone call less than all.
    if filters.is_empty()
        && failed == 0
        && let Err(why) = rights.settle()
    {
        println!("FAILED {why}");
        failed += 1;
    }
    drop(runtime);
    drop((ground, apart));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Says how a row ended; one that failed counts.
fn tell(name: &str, good: bool, begun: Instant) -> usize {
    let word = if good { "ok    " } else { "FAILED" };
    println!("{word} {} ({:.1} s)", name.replace('_', " "), begun.elapsed().as_secs_f64());
    usize::from(!good)
}
