//! Generation and tidiness.

mod builtins;
mod protos;
mod tidy;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.split_first() {
        Some((word, rest)) if word == "builtins" => builtins::run(rest),
        Some((word, rest)) if word == "protos" => protos::run(rest),
        Some((word, rest)) if word == "tidy" => tidy::run(rest),
        _ => anyhow::bail!("usage: xtask gen [--check] | tidy | builtins SWAGGER.json | protos DIR…"),
    }
}
