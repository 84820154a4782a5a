//! The server: what every call shares, and the one way a tool is run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use kube::{Client, ResourceExt};
use serde_json::{Map, Value};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::Error;
use crate::audit::{self, Outcome, Record, Trail};
use crate::door::{self, Patience};
use crate::git::Entries;
use crate::identity::{Book, Caller, Presented, rights};
use crate::limits::{Floods, Limits};
use crate::mcp::extras::Extras;
use crate::mcp::{Seals, Tasks, Watchers};
use crate::plans;
use crate::sessions::unregister::Unregister;
use crate::sessions::{self, sweep};
use crate::tool::{Answered, Call, Erased, Progress, Stop, Tool as _, registry};

/// What a server is told when it is opened.
#[derive(Clone)]
pub struct Settings {
    /// The file of the audit trail.
    pub audit: PathBuf,
    /// Where the server is reached: `http://127.0.0.1:7070`.
    pub address: String,
    /// How long a session lasts without a call.
    pub session_ttl: Duration,
    /// Calls that a token has for each second, in the long run.
    pub rate: f64,
    /// Calls that it may make at once.
    pub burst: u32,
    /// Largest push: all files together, unpacked.
    pub push_bytes: u64,
    /// Most files in one push.
    pub push_files: usize,
    /// Hosts of git repositories that may lie in private networks or on this machine.
    pub private_git_hosts: Vec<String>,
    /// Whether builds can fetch over ssh.
    pub git_over_ssh: bool,
    /// Domain of applications that name no host.
    pub base_domain: String,
    /// Major versions of PostgreSQL that services can have here.
    pub postgres_versions: Vec<String>,
    /// Who finds out what manifests would do; without one there are no plans.
    pub planner: Option<Arc<dyn plans::Planner>>,
}

impl Settings {
    /// Those of a server that keeps its trail in a file and is reached at an address, with the usual bounds.
    pub fn new(audit: PathBuf, address: String) -> Self {
        Self {
            audit,
            address,
            session_ttl: Duration::from_secs(24 * 3600),
            rate: 20.0,
            burst: 200,
            push_bytes: 10 * 1024 * 1024,
            push_files: 2_000,
            private_git_hosts: Vec::new(),
            git_over_ssh: true,
            base_domain: "localhost".into(),
            postgres_versions: Vec::new(),
            planner: None,
        }
    }
}

/// What a server offers: all tools, and what a test adds.
pub struct Offers {
    /// The tools.
    pub tools: Vec<Erased>,
    /// What a test adds.
    pub extras: Option<Arc<dyn Extras>>,
}

impl Default for Offers {
    fn default() -> Self {
        Self { tools: registry::all(), extras: None }
    }
}

/// The server. Cheap to clone.
#[derive(Clone)]
pub struct Agents(Arc<Inner>);

struct Inner {
    client: Client,
    settings: Settings,
    tokens: Book,
    trail: Trail,
    limits: Limits,
    floods: Arc<Floods<Record>>,
    /// What time is counted from.
    began: Instant,
    seals: Seals,
    plans: plans::Memory,
    tasks: Tasks,
    watchers: Watchers,
    extras: Option<Arc<dyn Extras>>,
    tools: Vec<Erased>,
    /// Wakes whoever looks after sessions.
    bell: Arc<Notify>,
    /// Pages where a secret is waited for.
    entries: Entries,
    stop: CancellationToken,
}

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// What a person has agreed to.
    pub answered: Option<Answered>,
    /// Whether a person has been led to a page.
    pub led: bool,
}

impl Agents {
    /// Opens the server: its rights, its tokens and its trail. `client` may speak for others.
    pub async fn open(client: Client, settings: Settings, stop: CancellationToken) -> Result<Self, Error> {
        Self::open_with(client, settings, stop, Offers::default()).await
    }

    /// Opens a server that offers something else.
    pub async fn open_with(
        client: Client,
        settings: Settings,
        stop: CancellationToken,
        offers: Offers,
    ) -> Result<Self, Error> {
        rights::install(&client).await?;
        let trail = Trail::open(&settings.audit)
            .map_err(|error| Error::Internal(format!("the audit trail cannot be opened: {error}")))?;
        let tokens = Book::follow(client.clone(), stop.clone());
        let bell = Arc::new(Notify::new());
        tokio::spawn(sweep::run(client.clone(), bell.clone(), stop.clone()));
        let Offers { mut tools, extras } = offers;
        tools.extend(extras.iter().flat_map(|extras| extras.registered()));
        let inner = Inner {
            limits: Limits::new(settings.rate, settings.burst),
            floods: Arc::default(),
            began: Instant::now(),
            client,
            settings,
            tokens,
            trail,
            seals: Seals::new(),
            plans: plans::Memory::default(),
            tasks: Tasks::default(),
            watchers: Watchers::default(),
            extras,
            tools,
            bell,
            entries: Entries::default(),
            stop,
        };
        tokio::spawn(tell_floods(inner.trail.clone(), inner.floods.clone(), inner.began, inner.stop.clone()));
        Ok(Self(Arc::new(inner)))
    }

    /// Answers at a door, until the server is stopped.
    pub async fn serve(self, listener: TcpListener) {
        self.serve_with(listener, Patience::default()).await;
    }

    /// Answers at a door, as patiently as is said.
    pub async fn serve_with(self, listener: TcpListener, patience: Patience) {
        door::serve(self, listener, patience).await;
    }

    /// Whether calls can be answered: the tokens have been read, and the trail can be written. What is not is said.
    pub fn ready(&self) -> Result<(), &'static str> {
        match (self.0.tokens.is_read(), self.0.trail.is_sound()) {
            (false, _) => Err("the tokens have not been read yet\n"),
            (_, false) => Err("the audit trail cannot be written\n"),
            (true, true) => Ok(()),
        }
    }

    /// The server's own client: for what no caller may do itself, after it was asked whether they may have it done.
    pub fn client(&self) -> &Client {
        &self.0.client
    }

    /// What the server was told.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// All tools, in their order.
    pub fn tools(&self) -> &[Erased] {
        &self.0.tools
    }

    /// The tokens there are.
    pub fn tokens(&self) -> &Book {
        &self.0.tokens
    }

    /// What confirmations are sealed with.
    pub(crate) fn seals(&self) -> &Seals {
        &self.0.seals
    }

    /// The plans that were made.
    pub(crate) fn plans(&self) -> &plans::Memory {
        &self.0.plans
    }

    /// Has sessions looked after now.
    pub(crate) fn sweep(&self) {
        self.0.bell.notify_one();
    }

    /// Pages where a secret is waited for.
    pub(crate) fn entries(&self) -> &Entries {
        &self.0.entries
    }

    /// Work that outlasts its call.
    pub(crate) fn tasks(&self) -> &Tasks {
        &self.0.tasks
    }

    /// How much each token watches.
    pub(crate) fn watchers(&self) -> &Watchers {
        &self.0.watchers
    }

    /// What a test has added.
    pub(crate) fn extras(&self) -> Option<&dyn Extras> {
        self.0.extras.as_deref()
    }

    /// When the server stops.
    pub fn stop(&self) -> &CancellationToken {
        &self.0.stop
    }

    /// Who presents a token.
    pub fn caller(&self, presented: &Presented) -> Option<Caller> {
        self.0.tokens.caller(presented, Timestamp::now())
    }

    /// Takes one call of those that a caller has.
    pub fn admit(&self, caller: &Caller) -> Result<(), Error> {
        self.admit_as(&caller.fingerprint)
    }

    /// Takes one call of those that whoever it is has: a token's fingerprint, an address, or a user of
    /// the API.
    pub fn admit_as(&self, whose: &str) -> Result<(), Error> {
        let taken = self.0.limits.take(whose, self.0.began.elapsed());
        taken.map_err(|seconds| Error::TooOften { seconds })
    }

    /// Runs a tool as a caller, if it has a call left. Leaves no record: whoever calls this does, when all is said.
    pub async fn run(&self, caller: &Caller, asked: Asked, progress: Progress) -> Result<Value, Stop> {
        // The call that a person has agreed to was taken when they were asked.
        if asked.answered.is_none() {
            self.admit(caller)?;
        }
        self.perform(caller, asked, progress).await
    }

    /// Runs a tool as a caller whose call has been taken.
    pub(crate) async fn perform(
        &self,
        caller: &Caller,
        asked: Asked,
        progress: Progress,
    ) -> Result<Value, Stop> {
        let Asked { tool, mut arguments, answered, led } = asked;
        let Some(tool) = self.0.tools.iter().find(|known| known.name() == tool) else {
            let known: Vec<&str> = self.0.tools.iter().map(Erased::name).collect();
            return Err(Error::invalid(
                "tool",
                format!("there is none of that name; there are: {}", known.join(", ")),
            )
            .into());
        };
        tool.check(&arguments)?;
        let mut call = Call {
            agents: self,
            caller,
            client: caller.client(&self.0.client),
            namespace: String::new(),
            session: String::new(),
            answered,
            led,
            progress,
        };
        if tool.in_session {
            let named = arguments.shift_remove(crate::tool::SESSION);
            let Some(Value::String(session)) = named else {
                return Err(Error::invalid("session_id", "it is missing; `register` answers with one").into());
            };
            call.namespace = match tool.name() {
                // It tells how far one is that has ended.
                Unregister::NAME => sessions::find(&self.0.client, caller, &session).await?.name_any(),
                _ => sessions::resolve(&self.0.client, caller, &session).await?,
            };
            call.session = session;
        }
        tool.run(&call, arguments).await
    }

    /// Writes a record down. A call that cannot be written down has failed, whatever it did.
    pub async fn note(&self, record: Record) -> Result<(), Error> {
        let told =
            |error: std::io::Error| Error::Internal(format!("the audit trail cannot be written: {error}"));
        let flood = Error::TooOften { seconds: 0 }.word();
        if record.reason.as_deref() != Some(flood) {
            return self.0.trail.write(record).await.map_err(told);
        }
        // Known tokens by themselves; whoever brings none, or one that nobody knows, by where they come from.
        let whose = if record.name.is_empty() { &record.subject } else { &record.token }.clone();
        match self.0.floods.note(&whose, record, self.0.began.elapsed()) {
            Some(record) => self.0.trail.write(record).await.map_err(told),
            None => Ok(()),
        }
    }
}

/// Writes down, once a second, how many calls were refused because they came too often.
async fn tell_floods(trail: Trail, floods: Arc<Floods<Record>>, began: Instant, stop: CancellationToken) {
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    loop {
        let stopped = tokio::select! { _ = ticks.tick() => false, () = stop.cancelled() => true };
        // At the end nothing waits for its second.
        let now = if stopped { Duration::MAX } else { began.elapsed() };
        for (mut record, calls) in floods.due(now) {
            record.reason = record.reason.map(|reason| format!("{reason} ({calls} calls)"));
            if let Err(error) = trail.write(record).await {
                tracing::error!(%error, calls, "refusals could not be written down");
            }
        }
        if stopped {
            return;
        }
    }
}

/// The record of a call by a known caller.
pub fn record<T>(caller: &Caller, agent: &str, asked: &Asked, outcome: &Result<T, Stop>) -> Record {
    let subject = asked.arguments.get(crate::tool::SESSION).and_then(Value::as_str).unwrap_or_default();
    let (outcome, reason, plan) = match outcome {
        Ok(_) => (Outcome::Done, None, asked.answered.as_ref().map(|answered| answered.hash.clone())),
        Err(Stop::Ask(question)) => (Outcome::Asked, None, Some(question.hash())),
        Err(Stop::Enter(_)) => (Outcome::Asked, None, None),
        Err(Stop::Wrong(error)) => {
            let refused = error.is_refusal();
            (if refused { Outcome::Refused } else { Outcome::Failed }, Some(error.word().to_owned()), None)
        }
    };
    Record {
        time: Timestamp::now(),
        token: caller.fingerprint.clone(),
        name: caller.name.clone(),
        agent: agent.to_owned(),
        action: asked.tool.clone(),
        subject: subject.chars().take(64).collect(),
        arguments: audit::digest(&asked.arguments),
        plan: plan.or_else(|| plans::apply_plan::named(asked)),
        outcome,
        reason,
    }
}
