//! Chores of the repository: `cargo run -p xtask -- <chore>`.

use std::{env, process::ExitCode};

mod generate;
mod yaml;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["gen", rest @ ..] => generate::run(rest),
        _ => Err(anyhow::anyhow!("usage: cargo run -p xtask -- gen [--check]")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A chore has no log: whoever runs it reads its one line of complaint.
            #[allow(clippy::print_stderr)]
            {
                eprintln!("{error:#}");
            }
            ExitCode::FAILURE
        }
    }
}
