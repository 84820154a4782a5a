//! Every request that the server was sent, as it wrote them down itself.

use std::path::PathBuf;

use serde_json::Value;

use crate::Outcome;

/// A file that the server writes every request into.
pub struct Recording {
    directory: tempfile::TempDir,
    file: String,
}

/// Calls of a while.
#[derive(Default)]
pub struct Counts {
    pub s3: Calls,
    pub sqs: Calls,
}

/// Calls of a service.
#[derive(Default)]
pub struct Calls {
    pub reads: u64,
    pub writes: u64,
}

impl Recording {
    pub fn new() -> Outcome<Self> {
        let directory = tempfile::tempdir()?;
        let file = directory.path().join("requests").display().to_string();
        std::fs::write(&file, "")?;
        Ok(Self { directory, file })
    }

    /// What tells the server to write.
    pub fn environment(&self) -> [(&str, &str); 2] {
        [("MOTO_ENABLE_RECORDING", "1"), ("MOTO_RECORDER_FILEPATH", &self.file)]
    }

    /// Counts what was written since the last time.
    pub fn take(&self) -> Outcome<Counts> {
        let taken: PathBuf = self.directory.path().join("taken");
        let text = std::fs::read_to_string(&self.file)?;
        let before = std::fs::read_to_string(&taken).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        std::fs::write(&taken, text.len().to_string())?;
        let mut counts = Counts::default();
        // The last line may still be on its way.
        for line in text[before..].lines() {
            if let Ok(request) = serde_json::from_str::<Value>(line) {
                count(&request, &mut counts);
            }
        }
        Ok(counts)
    }
}

fn count(request: &Value, counts: &mut Counts) {
    let header = |wanted: &str| {
        let all = request["headers"].as_object()?;
        all.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).and_then(|(_, value)| value.as_str())
    };
    let scope = header("authorization").unwrap_or_default();
    let (service, reads) = match header("x-amz-target").and_then(|target| target.rsplit('.').next()) {
        Some(action) => (&mut counts.sqs, action.starts_with("Get") || action.starts_with("List")),
        None if scope.contains("/s3/") => {
            (&mut counts.s3, matches!(request["method"].as_str(), Some("GET" | "HEAD")))
        }
        None => return,
    };
    let calls = if reads { &mut service.reads } else { &mut service.writes };
    *calls += 1;
}
