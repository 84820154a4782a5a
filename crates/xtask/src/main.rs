//! Generation and tidiness.

mod builtins;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.split_first() {
        Some((word, rest)) if word == "builtins" => builtins::run(rest),
        _ => anyhow::bail!("usage: cargo xtask builtins <path of swagger.json>"),
    }
}
