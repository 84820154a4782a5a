//! The shim as a program of its own; the platform calls the same function from a hidden subcommand.

fn main() -> std::process::ExitCode {
    shim::run()
}
