//! Waiting for what can be seen: the events of a watch, one after the other.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The lines of a program that goes on by itself; ended when it goes.
pub struct Lines {
    process: Child,
    lines: Receiver<String>,
}

impl Lines {
    /// Starts the program and reads its standard output.
    pub fn of(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let stdout = BufReader::new(process.stdout.take().expect("stdout is piped"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            // Ends with the program, or when nobody listens any more.
            stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self { process, lines }
    }

    /// Reads until a line is the one that is waited for.
    #[track_caller]
    pub fn until(&mut self, within: Duration, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + within;
        let mut seen = Vec::new();
        while let Some(line) = self.next(end) {
            if wanted(&line) {
                return line;
            }
            seen.push(line);
        }
        panic!("not seen within {within:?}: {what}; seen: {seen:#?}")
    }

    /// The next line, if it comes before then.
    fn next(&self, end: Instant) -> Option<String> {
        self.lines.recv_timeout(end.saturating_duration_since(Instant::now())).ok()
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The objects of a kind, each time one of them changes.
pub struct Watch {
    events: Lines,
    /// All that were seen so far, in order.
    pub seen: Vec<Value>,
}

impl Watch {
    /// Reads the lines that `kubectl get --raw` prints of a watch.
    pub fn of(events: Lines) -> Self {
        Self { events, seen: Vec::new() }
    }

    /// Reads until an object is as it is waited for.
    #[track_caller]
    pub fn until(&mut self, within: Duration, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let found = self.within(within, wanted);
        found.unwrap_or_else(|| {
            let last: Vec<&Value> = self.seen.iter().rev().take(3).rev().collect();
            panic!("not seen within {within:?}: {what}; the last of {}: {last:#?}", self.seen.len())
        })
    }

    /// Reads until an object is as it is waited for, or there was time enough.
    pub fn within(&mut self, within: Duration, wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        let end = Instant::now() + within;
        while let Some(event) = self.events.next(end) {
            let event: Value = serde_json::from_str(&event).unwrap_or_else(|_| panic!("not JSON: {event}"));
            let object = event["object"].clone();
            self.seen.push(object.clone());
            if wanted(&object) {
                return Some(object);
            }
        }
        None
    }

    /// The phases of an object so far, each once in a row.
    pub fn phases(&self, name: &str) -> Vec<String> {
        let own = self.seen.iter().filter(|object| object["metadata"]["name"] == name);
        let mut phases: Vec<String> =
            own.filter_map(|object| Some(object["status"]["phase"].as_str()?.to_owned())).collect();
        phases.dedup();
        phases
    }
}

/// The message of a condition.
pub fn message<'a>(object: &'a Value, condition: &str) -> &'a str {
    field(object, condition, "message")
}

/// The reason of a condition.
pub fn reason<'a>(object: &'a Value, condition: &str) -> &'a str {
    field(object, condition, "reason")
}

fn field<'a>(object: &'a Value, condition: &str, field: &str) -> &'a str {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let mut found = conditions.filter(|one| one["type"] == condition);
    found.next().and_then(|one| one[field].as_str()).unwrap_or_default()
}
