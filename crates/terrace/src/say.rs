//! What is printed: answers on standard output, complaints on standard error, colour only on terminals.

use std::io::{IsTerminal, Write};

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
    let mut err = std::io::stderr().lock();
    let word = if std::io::stderr().is_terminal() { "\u{1b}[1;31merror:\u{1b}[0m" } else { "error:" };
    // Nobody is left to be told when even this fails.
    let _ = writeln!(err, "{word} {}", chain.join(": "));
}

/// The start-up as it happens: for people, or one JSON object per line for programs.
pub(crate) struct Progress {
    json: bool,
    colour: bool,
}

impl Progress {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, colour: !json && std::io::stdout().is_terminal() }
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
        let tick = if self.colour { "\u{1b}[32m✓\u{1b}[0m" } else { "✓" };
        let address = address.map(|address| format!("  {address}")).unwrap_or_default();
        line(&format!("{tick} {name:<14} {what}{address}"))
    }

    /// Everything is up.
    pub(crate) fn ready(&self, api: &str, gateway: &str, kubeconfig: &str) -> anyhow::Result<()> {
        if self.json {
            let object = serde_json::json!({ "ready": true, "api": api, "gateway": gateway, "kubeconfig": kubeconfig });
            return line(&object.to_string());
        }
        let word = if self.colour { "\u{1b}[1;32mTerrace is ready\u{1b}[0m" } else { "Terrace is ready" };
        line(&format!("{word}: API {api}, gateway {gateway}"))?;
        line(&format!("\n  export KUBECONFIG={kubeconfig}\n  kubectl get namespaces\n\nCtrl-C stops it."))
    }

    /// It has stopped.
    pub(crate) fn stopped(&self) -> anyhow::Result<()> {
        line(if self.json { r#"{"stopped":true}"# } else { "Terrace has stopped; its data is kept" })
    }
}
