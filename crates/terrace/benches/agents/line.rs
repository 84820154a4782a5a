//! A server on standard input and output, asked in the words of 2025-06-18, which both know.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::Outcome;

/// A server that was started.
pub struct Line {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Line {
    pub fn open(mut command: Command) -> Outcome<Self> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn()?;
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().ok_or("stdout is piped")?);
        Ok(Self { process, input, output })
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Greets, and lists the tools: the answer as it came.
    pub fn tools(&mut self) -> Outcome<String> {
        let client = json!({ "name": "bench", "version": "1" });
        let greeting = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        self.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting }))?;
        self.answer(1)?;
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        self.say(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} }))?;
        self.answer(2)
    }

    fn say(&mut self, message: &Value) -> Outcome<()> {
        let input = self.input.as_mut().ok_or("the line is closed")?;
        input.write_all(format!("{message}\n").as_bytes())?;
        Ok(input.flush()?)
    }

    fn answer(&mut self, id: u64) -> Outcome<String> {
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                return Err("the server on the line ended before it answered".into());
            }
            let message: Value = serde_json::from_str(&line)?;
            if message["id"] == id {
                return match message.get("result") {
                    Some(_) => Ok(line),
                    None => Err(format!("the server on the line refused: {line}").into()),
                };
            }
        }
    }

    /// Ends the line, and so the server.
    pub fn close(mut self) -> Outcome<()> {
        self.input = None;
        self.process.wait()?;
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // Only after a failure: a line that was closed has ended.
        if let Ok(None) = self.process.try_wait() {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}
