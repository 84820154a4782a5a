//! Pools against a real server whose logins change. One server for all of it.

#![allow(clippy::print_stdout, reason = "figures are a part of what is tested")]

mod changes;
mod controller;
mod load;
mod server;
mod sqlx_pool;

use std::future::Future;
use std::time::Duration;

use server::Server;

/// How long anything may take on the busiest machine before it counts as never.
const DEADLINE: Duration = Duration::from_secs(60);

/// Waits for what has to come.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, what).await.expect("it takes too long")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pools_follow_the_logins_of_a_real_server() {
    let server = Server::start();
    changes::old_passwords_are_dead_after_two_rotations(&server).await;
    changes::a_file_may_be_rewritten_missing_or_wrong(&server).await;
    changes::a_wrong_password_changes_nothing(&server).await;
    changes::a_login_that_works_later_is_taken_when_it_does(&server).await;
    changes::a_login_that_dies_leads_back_to_the_one_before(&server).await;
    changes::connections_wait_for_a_login_when_all_are_dead(&server).await;
    changes::connections_in_use_end_their_work_and_then_close(&server).await;
    changes::force_kill_cuts_what_outlives_its_grace(&server).await;
    changes::encryption_that_is_asked_for_is_never_left_out(&server).await;
    sqlx_pool::a_sqlx_pool_follows_and_fails_nothing(&server).await;
    sqlx_pool::a_sqlx_pool_outlives_dead_logins(&server).await;
    sqlx_pool::force_kill_cuts_sqlx_connections(&server).await;
    load::a_thousand_rotations_fail_no_query(&server).await;
}
