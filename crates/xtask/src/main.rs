//! Chores of the repository: `cargo run -p xtask -- <chore>`.

use std::process::ExitCode;

mod builtins;
mod generate;
mod protos;
mod tidy;
mod yaml;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.split_first() {
        Some((chore, rest)) if chore == "gen" => {
            generate::run(&rest.iter().map(String::as_str).collect::<Vec<_>>())
        }
        Some((chore, rest)) if chore == "tidy" => tidy::run(rest),
        Some((chore, rest)) if chore == "builtins" => builtins::run(rest),
        Some((chore, rest)) if chore == "protos" => protos::run(rest),
        _ => Err(anyhow::anyhow!("usage: xtask gen [--check] | tidy | builtins SWAGGER.json | protos DIR…")),
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
