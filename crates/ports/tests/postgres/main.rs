//! PostgreSQL for real: what the port promises, on servers that run.
#![expect(clippy::print_stdout, reason = "it is its own test runner")]

mod contract;
mod machine;
mod servers;
mod superusers;

use std::future::Future;
use std::pin::Pin;
use std::process::ExitCode;

use machine::Machine;

type Row = for<'a> fn(&'a Machine) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

macro_rules! rows {
    ($($module:ident :: $name:ident,)*) => {
        &[$((stringify!($name), |machine| Box::pin($module::$name(machine)))),*]
    };
}

const ROWS: &[(&str, Row)] = rows![
    contract::the_fake_keeps_the_contract,
    contract::real_servers_keep_the_contract,
    servers::an_owner_logs_in_over_tls_and_nobody_without_the_password,
    superusers::a_superuser_logs_in_over_tls_with_the_password_that_it_was_given_last,
    superusers::a_further_role_has_its_rights_and_the_password_that_it_was_given_last,
    superusers::a_cluster_of_an_earlier_release_gets_a_role_for_the_machinery,
    servers::a_restart_keeps_data_and_tells_what_needs_one,
    servers::a_killed_primary_is_replaced_by_the_standby_that_has_most,
    servers::a_primary_that_cannot_be_rewound_is_copied_anew,
    servers::a_frozen_server_does_not_answer,
    servers::a_backup_goes_back_to_a_moment,
    servers::a_retired_cluster_comes_back,
    servers::data_of_another_version_is_told_and_left_alone,
    servers::secrets_are_in_no_argument_no_log_and_no_open_file,
    servers::servers_outlive_the_platform_and_are_adopted,
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == "shim") {
        return shim::run();
    }
    let filters: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let wanted = |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(*filter));
    let mut failed = 0;
    for (name, row) in ROWS.iter().filter(|(name, _)| wanted(name)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
        let good = runtime.block_on(kept(*row));
        println!("{} {}", if good { "ok    " } else { "FAILED" }, name.replace('_', " "));
        failed += usize::from(!good);
        runtime.shutdown_background();
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs one row on a machine of its own, of which nothing is left whatever happens.
async fn kept(row: Row) -> bool {
    let machine = std::sync::Arc::new(Machine::new().await);
    let of_row = machine.clone();
    let outcome = tokio::spawn(async move { row(&of_row).await }).await;
    let last = machine::open(machine.dir.path()).await;
    last.stop_all(std::time::Duration::from_secs(30)).await.expect("all servers end");
    outcome.is_ok()
}
