//! What is printed: answers on standard output, complaints on standard error, colour only on terminals.

use std::io::{BufRead, Write};
use std::process::ExitCode;

use crate::paint::Paint;

/// What a command ends with that was asked in the wrong words, as clap does.
const USAGE: u8 = 2;

/// Prints text as it is. A reader that went away early is no failure.
pub(crate) fn text(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Prints one line.
pub(crate) fn line(line: &str) -> anyhow::Result<()> {
    text(&format!("{line}\n"))
}

/// Prints what went wrong, from the outside in.
pub(crate) fn error(error: &anyhow::Error) {
    let chain: Vec<String> = error.chain().map(ToString::to_string).collect();
    note(&format!("{} {}", Paint::stderr().red("error:"), chain.join(": ")));
}

/// Prints what is wrong with how a command was asked, and returns what it then ends with.
pub(crate) fn usage(message: &str) -> ExitCode {
    error(&anyhow::Error::msg(message.to_owned()));
    ExitCode::from(USAGE)
}

/// Prints a line beside the answer. Nobody is left to be told when even this fails.
pub(crate) fn note(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Prints a question beside the answer, without an end of line.
pub(crate) fn ask(question: &str) {
    let mut err = std::io::stderr().lock();
    let _ = write!(err, "{question}").and_then(|()| err.flush());
}

/// Asks a person at the terminal. Whatever is not a clear yes is a no.
pub(crate) fn agreed(question: &str) -> bool {
    ask(&format!("{question} [y/N] "));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// The start-up as it happens: for people, or one JSON object per line for programs.
pub(crate) struct Progress {
    json: bool,
    paint: Paint,
}

impl Progress {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, paint: Paint::stdout() }
    }

    /// One part is up.
    pub(crate) fn part(&self, name: &str, what: &str, address: Option<&str>) -> anyhow::Result<()> {
        if self.json {
            let mut object = serde_json::json!({ "part": name, "message": what });
            if let Some(address) = address {
                object["address"] = address.into();
            }
            return line(&object.to_string());
        }
        let tick = self.paint.green("✓");
        let address = address.map(|address| format!("  {address}")).unwrap_or_default();
        line(&format!("{tick} {name:<14} {what}{address}"))
    }

    /// Everything is up.
    pub(crate) fn ready(&self, api: &str, gateway: Option<&str>, kubeconfig: &str) -> anyhow::Result<()> {
        if self.json {
            let object = serde_json::json!({ "ready": true, "api": api, "gateway": gateway, "kubeconfig": kubeconfig });
            return line(&object.to_string());
        }
        let word = self.paint.green("Terrace is ready");
        let gateway = gateway.map(|gateway| format!(", gateway {gateway}")).unwrap_or_default();
        line(&format!("{word}: API {api}{gateway}"))?;
        line(&format!("\n  export KUBECONFIG={kubeconfig}\n  kubectl get namespaces\n\nCtrl-C stops it."))
    }

    /// It has stopped.
    pub(crate) fn stopped(&self) -> anyhow::Result<()> {
        line(if self.json { r#"{"stopped":true}"# } else { "Terrace has stopped; its data is kept" })
    }
}
