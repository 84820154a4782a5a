//! `push_code`: builds files and runs what comes of them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::archive::{pack, upload};
use super::files::{Bounds, File, tree};
use super::source::Source;
use super::write::{Wish, write};
use super::{Begun, WRITER, ask_for, check_name, host_for, may_write};
use crate::Error;
use crate::tool::{Call, Hints, Stop, Tool};

/// `push_code`.
pub struct PushCode;

/// What is pushed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Input {
    /// The app; a new name makes a new app
    pub name: String,
    /// All files of the source
    pub files: Vec<File>,
    /// Where it listens; it is told in PORT. Default 8080
    #[serde(default)]
    pub port: Option<u16>,
    /// Variables to set; others stay
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Copies; 0 stops it
    #[serde(default)]
    pub replicas: Option<u16>,
    /// DNS name; default: its name under the platform's domain
    #[serde(default)]
    pub host: Option<String>,
}

/// What was begun.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Output {
    /// What was begun.
    #[serde(flatten)]
    pub begun: Begun,
    /// How many files were pushed.
    pub files: usize,
}

impl Tool for PushCode {
    const NAME: &'static str = "push_code";
    const TITLE: &'static str = "Push source code";
    const DESCRIPTION: &'static str = "Build and run an app from files: Go, Node.js, Python, Java, Ruby, \
        Rust, static pages, or a Procfile. Send the whole source each time; binary files as base64. \
        Next: poll app_status. For databases use provision_service and bind_service, never env.";
    const HINTS: Hints = Hints::WRITES;
    const BEGINS: Option<&'static str> = Some("name");
    type Input = Input;
    type Output = Output;

    async fn run(call: &Call<'_>, input: Input) -> Result<Output, Stop> {
        let Input { name, files, port, env, replicas, host } = input;
        check_name(&name)?;
        may_write(call).await?;
        let settings = call.agents.settings();
        let tree = tree(files, Bounds { files: settings.push_files, bytes: settings.push_bytes })?;
        let files = tree.len();
        // The source is put in when it is known; all else is checked before anything is uploaded.
        let wish = ask_for(Wish::source(Source::Blob(String::new())), port, env, replicas, host)?;
        let packed = tokio::task::spawn_blocking(move || pack(&tree)).await;
        let packed = packed.map_err(|error| Error::Internal(error.to_string()))?;
        let packed =
            packed.map_err(|error| Error::Internal(format!("the files cannot be packed: {error}")))?;
        let url = upload(&call.client, &call.namespace, packed).await?;
        let host = host_for(call, &name, wish.host).await?;
        let wish = Wish { source: Source::Blob(url), host, ..wish };
        let written = write(&call.client, &call.namespace, &name, WRITER, &wish).await?;
        Ok(Output { begun: Begun::of(&name, &written, "pushed; it is built now"), files })
    }
}
