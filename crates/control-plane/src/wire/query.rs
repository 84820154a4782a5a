//! Query parameters: every option a request can carry, parsed once and checked with the original's words.

use serde_json::{Value, json};

use crate::status::{Cause, Status};

use super::path::decoded;

/// The options of one request.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Query {
    pub label_selector: String,
    pub field_selector: String,
    pub limit: Option<usize>,
    pub continue_token: String,
    pub resource_version: Option<String>,
    pub version_match: Option<String>,
    pub watch: bool,
    pub bookmarks: bool,
    pub initial_events: Option<bool>,
    pub timeout_seconds: Option<u64>,
    pub dry_run: Vec<String>,
    pub field_manager: String,
    pub field_validation: String,
    pub force: Option<bool>,
    pub include_object: String,
    pub pretty: bool,
    /// Everything else, for the verbs that know more words (`log`, `delete`).
    pub rest: Vec<(String, String)>,
}

impl Query {
    /// Reads a raw query string. Unknown words are kept, not refused.
    pub fn parse(raw: &str) -> Result<Self, Status> {
        let mut query = Self::default();
        for pair in raw.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let read = |text: &str| decoded(&text.replace('+', " ")).map_err(Status::bad_request);
            query.set(&read(key)?, read(value)?)?;
        }
        Ok(query)
    }

    fn set(&mut self, key: &str, value: String) -> Result<(), Status> {
        match key {
            "labelSelector" => self.label_selector = value,
            "fieldSelector" => self.field_selector = value,
            "limit" => self.limit = Some(number(&value)? as usize).filter(|limit| *limit > 0),
            "continue" => self.continue_token = value,
            "resourceVersion" => self.resource_version = Some(value).filter(|v| !v.is_empty()),
            "resourceVersionMatch" => self.version_match = Some(value).filter(|v| !v.is_empty()),
            "watch" => self.watch = truth(&value),
            "allowWatchBookmarks" => self.bookmarks = truth(&value),
            "sendInitialEvents" => self.initial_events = Some(truth(&value)),
            "timeoutSeconds" => self.timeout_seconds = Some(number(&value)?),
            "dryRun" => self.dry_run.push(value),
            "fieldManager" => self.field_manager = value,
            "fieldValidation" => self.field_validation = value,
            "force" => self.force = Some(truth(&value)),
            "includeObject" => self.include_object = value,
            "pretty" => self.pretty = truth(&value),
            _ => self.rest.push((key.to_owned(), value)),
        }
        Ok(())
    }

    /// A word that only one verb knows.
    pub fn word(&self, key: &str) -> Option<&str> {
        self.rest.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Whether nothing may be written.
    pub fn is_dry_run(&self) -> bool {
        !self.dry_run.is_empty()
    }

    /// Checks the options of a write. `options` is `CreateOptions`, `UpdateOptions`, `PatchOptions`.
    pub fn check_write(&self, options: &str, apply: bool) -> Result<(), Status> {
        let mut causes = Vec::new();
        if self.dry_run.iter().any(|word| word != "All") {
            causes.push(Cause::not_supported("dryRun", &json!(self.dry_run), &["All"]));
        }
        if !matches!(self.field_validation.as_str(), "" | "Ignore" | "Strict" | "Warn") {
            let value = Value::from(self.field_validation.as_str());
            causes.push(Cause::not_supported("fieldValidation", &value, &["", "Ignore", "Strict", "Warn"]));
        }
        if self.field_manager.len() > MANAGER_LIMIT {
            causes.push(Cause::too_long("fieldManager", MANAGER_LIMIT));
        } else if self.field_manager.chars().any(char::is_control) {
            let value = Value::from(self.field_manager.as_str());
            causes.push(Cause::invalid("fieldManager", &value, "should only contain printable characters"));
        }
        if options == "PatchOptions" && apply && self.field_manager.is_empty() {
            causes.push(Cause::required("fieldManager", "is required for apply patch"));
        }
        if options == "PatchOptions" && !apply && self.force.is_some() {
            causes.push(Cause::forbidden("force", "may not be specified for non-apply patch"));
        }
        refuse(options, causes)
    }

    /// Checks the options of a list or a watch.
    pub fn check_list(&self) -> Result<(), Status> {
        let mut causes = Vec::new();
        let field = "resourceVersionMatch";
        let matching = self.version_match.as_deref();
        if self.initial_events.is_some() {
            if !self.watch {
                causes.push(Cause::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
            } else if matching != Some("NotOlderThan") {
                let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
                causes.push(Cause::forbidden(field, why));
            }
        } else if let Some(word) = matching {
            if self.watch {
                causes.push(Cause::forbidden(
                    field,
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                ));
            } else if self.resource_version.is_none() {
                causes.push(Cause::forbidden(
                    field,
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                ));
            } else if !self.continue_token.is_empty() {
                causes.push(Cause::forbidden(
                    field,
                    "resourceVersionMatch is forbidden when continue is provided",
                ));
            } else if !matches!(word, "Exact" | "NotOlderThan") {
                causes.push(Cause::not_supported(field, &word.into(), &["Exact", "NotOlderThan", ""]));
            } else if word == "Exact" && self.resource_version.as_deref() == Some("0") {
                let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                causes.push(Cause::forbidden(field, why));
            }
        }
        refuse("ListOptions", causes)
    }
}

/// Longest name of a field manager, as Kubernetes bounds it.
const MANAGER_LIMIT: usize = 128;

fn refuse(options: &str, causes: Vec<Cause>) -> Result<(), Status> {
    if causes.is_empty() { Ok(()) } else { Err(Status::invalid("meta.k8s.io", options, "", causes)) }
}

fn truth(value: &str) -> bool {
    !matches!(value, "false" | "0")
}

/// A count; what is below zero counts as none.
fn number(value: &str) -> Result<u64, Status> {
    let parsed = value.parse::<i64>().map(|count| u64::try_from(count).unwrap_or(0));
    parsed.map_err(|_| Status::bad_request(format!("strconv.ParseInt: parsing {value:?}: invalid syntax")))
}
