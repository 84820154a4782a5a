//! Generation and tidiness.
mod tidy;
fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("tidy") => tidy::run(&args[1..]),
        _ => Ok(()),
    }
}
