//! Terrace: applications, databases, cloud resources and projects as Kubernetes objects, from one binary.

mod adopt;
mod apps;
mod audit;
mod cli;
mod completions;
mod connect;
mod crds;
mod credential;
mod db;
mod files;
mod install;
mod kubeconfig;
mod machine;
mod mcp;
mod modes;
mod paint;
mod place;
mod postgres;
mod preview;
mod say;
mod services;
mod session;
mod token;
mod unused;
mod up;
mod uploads;

use std::process::ExitCode;

use clap::Parser;

/// The stack of a worker, in bytes: four times what it has otherwise, since the calls of AWS's SDK lie deep in each other.
const STACK: usize = 8 * 1024 * 1024;

fn main() -> ExitCode {
    // One for each program that runs: it is not to wait for anything that only the other commands need.
    if std::env::args_os().nth(1).is_some_and(|word| word == modes::SHIM) {
        return shim::run();
    }
    let cli = cli::Cli::parse();
    let runtime =
        match tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK).build() {
            Ok(runtime) => runtime,
            Err(error) => {
                say::error(&anyhow::Error::new(error).context("cannot start"));
                return ExitCode::FAILURE;
            }
        };
    match runtime.block_on(cli::run(cli)) {
        Ok(code) => code,
        Err(error) => {
            say::error(&error);
            ExitCode::FAILURE
        }
    }
}
