//! The rooms of AWS on a server that answers as AWS does, on a control plane in memory whose clock is moved by hand.
//! What they made is looked at with AWS's own client.
#![expect(clippy::print_stdout, reason = "it is its own test runner")]
#![recursion_limit = "256"]

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

const ROWS: &[(&str, Row)] = rows![queues::a_queue_converges, queues::a_queue_survives_any_broken_call,];
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
