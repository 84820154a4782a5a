//! The administrator's view for real: what the port promises, on a server with TLS that runs for these rows only.
#![expect(clippy::print_stdout, reason = "it is its own test runner")]

mod causes;
mod contract;
mod ground;
mod guests;
mod hostile;

use std::future::Future;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;

use ground::Ground;

type Row = for<'a> fn(&'a Ground) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

macro_rules! rows {
    ($($module:ident :: $name:ident,)*) => {
        &[$((stringify!($name), |ground| Box::pin($module::$name(ground)))),*]
    };
}

const ROWS: &[(&str, Row)] = rows![
    contract::the_fake_keeps_the_contract,
    contract::a_real_server_keeps_the_contract,
    hostile::names_that_would_be_statements_are_names,
    hostile::a_database_that_was_cut_off_half_made_is_finished,
    hostile::an_administrator_without_all_power_is_enough,
    hostile::no_log_holds_a_password,
    guests::a_database_with_guests_is_put_aside_taken_back_and_dropped,
    guests::guests_are_shown_out_and_what_they_own_is_the_owner_s,
    guests::an_owner_goes_before_its_guests_where_the_database_stays,
    causes::every_cause_has_its_own_error,
    causes::certificates_are_judged_as_the_mode_says,
    causes::a_silent_server_delays_no_other,
    causes::a_server_has_no_more_connections_than_allowed,
    causes::a_standby_only_reads,
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let filters: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let wanted = |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(*filter));
    let rows: Vec<_> = ROWS.iter().filter(|(name, _)| wanted(name)).collect();
    if rows.is_empty() {
        return ExitCode::SUCCESS;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let ground = Arc::new(runtime.block_on(Ground::new()));
    let mut failed = 0;
    for (name, row) in rows {
        let of_row = ground.clone();
        let good =
            runtime.block_on(async move { tokio::spawn(async move { row(&of_row).await }).await.is_ok() });
        println!("{} {}", if good { "ok    " } else { "FAILED" }, name.replace('_', " "));
        failed += usize::from(!good);
    }
    drop(runtime);
    drop(ground);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
