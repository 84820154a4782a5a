//! Terrace: applications, databases, cloud resources and projects as Kubernetes objects, from one binary.

mod cli;
mod completions;
mod crds;
mod gateway;
mod install;
mod kubeconfig;
mod place;
mod say;
mod up;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            say::error(&anyhow::Error::new(error).context("cannot start"));
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(cli::run(cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say::error(&error);
            ExitCode::FAILURE
        }
    }
}
