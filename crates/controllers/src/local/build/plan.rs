use std::fmt;
use std::time::Duration;

use api::conditions::{Reason, Standing};
use api::foreign::kpack::{Image, ImageStatus};
use kit::{Do, Name, Next, Plan, Refusal};
use ports::build::{Login, Progress, Stage};
use sha2::{Digest as _, Sha256};

/// Whoever changes this annotation asks for a build of the same source.
const AGAIN: &str = "image.kpack.io/additionalBuildNeeded";
/// How often a build under way is looked at where no change was told: only the safety net.
const LOOK: Duration = Duration::from_secs(5);
/// How often a branch is looked at.
const POLL: Duration = Duration::from_secs(60);
/// Stands between the image's name and the build's number in the name of a build, as kpack writes it.
const BUILD: &str = "-build-";
/// Digits of a digest that stand in a name.
const DIGITS: usize = 10;
/// Stands for a commit that nobody knows.
const UNKNOWN: &str = "unknown";

/// What is known of an image's builds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct World {
    /// How the build that the status names stands.
    pub build: Option<Progress>,
    /// Commit that the branch points to, if it said so.
    pub head: Option<String>,
    /// What the repository wants to see, if the namespace has something for it.
    pub login: Option<Login>,
}

/// A step on the machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Starts a build.
    Start {
        /// Its name.
        reference: String,
        /// Its number.
        number: u64,
        /// The commit that is built, where one is known.
        commit: Option<String>,
        /// What the repository wants to see.
        login: Option<Login>,
    },
    /// Forgets a build, and ends it if it is under way.
    Forget {
        /// Its name.
        reference: String,
    },
    /// Forgets what builds kept for the next one.
    Clear,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start { reference, .. } => write!(f, "start build {reference}"),
            Self::Forget { reference } => write!(f, "forget build {reference}"),
            Self::Clear => f.write_str("forget what builds kept"),
        }
    }
}

/// The plan for one pass over one image.
pub(super) fn plan(image: &Image, world: &World) -> Result<Plan<Step, ImageStatus>, Refusal> {
    let mut status = image.status.clone().unwrap_or_default();
    let last = last_build(image);
    if image.metadata.deletion_timestamp.is_some() {
        let forget = last.map(|reference| Do::Outside(Step::Forget { reference }));
        return Ok(Plan::release(forget.into_iter().chain([Do::Outside(Step::Clear)]).collect(), status));
    }
    source(image)?;
    status.observed_generation = image.metadata.generation;
    status.say("BuilderReady", Some(true), Reason::Available, "this machine builds");
    let why = match &last {
        None => Some("CONFIG"),
        Some(last) => stale(image, last, world),
    };
    if let Some(why) = why {
        return Ok(begin(image, status, why, world));
    }
    let reference = last.unwrap_or_default();
    match &world.build {
        Some(progress) => Ok(report(image, status, &reference, progress)),
        // The machine has lost it, or a pass ended before it was started.
        None => {
            let step = start(&reference, number(&status), world);
            status.say("Ready", None, Reason::Building, format!("{reference} begins"));
            Ok(Plan::part(vec![step], status, Next::After(LOOK)))
        }
    }
}

/// Exactly one source can be built.
fn source(image: &Image) -> Result<(), Refusal> {
    let source = &image.spec.source;
    match (&source.git, &source.blob) {
        (Some(_), None) | (None, Some(_)) => Ok(()),
        (None, None) => {
            Err(Refusal::new(Reason::InvalidSpec, "spec.source names neither git nor blob; name one"))
        }
        (Some(_), Some(_)) => {
            Err(Refusal::new(Reason::InvalidSpec, "spec.source names both git and blob; name one"))
        }
    }
}

/// Why the last build is not the one that is wanted now, in kpack's words.
fn stale(image: &Image, last: &str, world: &World) -> Option<&'static str> {
    let mut parts = last.rsplit_once(BUILD).map(|(_, rest)| rest.split('-').skip(1)).into_iter().flatten();
    if parts.next() != Some(wish(image).as_str()) {
        return Some("CONFIG");
    }
    let head = world.head.as_deref()?;
    let built = match &world.build {
        Some(Progress::Done { commit: Some(commit), .. }) => commit.as_str(),
        _ => parts.next().unwrap_or(UNKNOWN),
    };
    // A build of an unknown commit that is under way will say which it was.
    let open = built == UNKNOWN && matches!(world.build, Some(Progress::Running { .. }));
    (!open && !head.starts_with(built)).then_some("COMMIT")
}

fn begin(image: &Image, mut status: ImageStatus, why: &str, world: &World) -> Plan<Step, ImageStatus> {
    let number = number(&status) + 1;
    let reference = reference(image, number, world);
    let mut steps = vec![start(&reference, number, world)];
    // The new one first: there is always one that the status can speak of.
    let before = status.latest_build_ref.replace(reference.clone());
    steps.extend(before.map(|reference| Do::Outside(Step::Forget { reference })));
    status.build_counter = i64::try_from(number).ok();
    status.latest_build_reason = Some(why.to_owned());
    status.say("Ready", None, Reason::Building, format!("{reference} begins"));
    Plan::part(steps, status, Next::After(LOOK))
}

fn start(reference: &str, number: u64, world: &World) -> Do<Step> {
    let reference = reference.to_owned();
    Do::Outside(Step::Start { reference, number, commit: world.head.clone(), login: world.login.clone() })
}

fn report(
    image: &Image,
    mut status: ImageStatus,
    reference: &str,
    progress: &Progress,
) -> Plan<Step, ImageStatus> {
    let polls = image.spec.source.git.is_some();
    let rest = if polls { Next::After(POLL) } else { Next::OnChange };
    let next = match progress {
        Progress::Running { stage, .. } => {
            let message = format!("{reference} is {}", doing(*stage));
            status.say("Ready", None, Reason::Building, message);
            Next::After(LOOK)
        }
        Progress::Done { image, language, commit } => {
            let from = commit.as_ref().map(|commit| format!(" from commit {commit}")).unwrap_or_default();
            status.latest_image = Some(image.clone());
            status.say("Ready", Some(true), Reason::Available, format!("built as {language}{from}"));
            rest
        }
        Progress::Failed { message, .. } => {
            status.say("Ready", Some(false), Reason::BuildFailed, message.clone());
            rest
        }
    };
    Plan::part(Vec::new(), status, next)
}

fn doing(stage: Stage) -> &'static str {
    match stage {
        Stage::Fetching => "fetching the source",
        Stage::Detecting => "finding out the language",
        Stage::Installing => "installing dependencies",
        Stage::Building => "compiling",
        Stage::Packing => "packing the image",
    }
}

fn number(status: &ImageStatus) -> u64 {
    status.build_counter.and_then(|count| u64::try_from(count).ok()).unwrap_or_default()
}

/// `<image>-build-<number>-<wish>`, and the commit where there is one: what the build is made for.
fn reference(image: &Image, number: u64, world: &World) -> String {
    let name = image.metadata.name.as_deref().unwrap_or_default();
    let base = format!("{name}{BUILD}{number}-{}", wish(image));
    if image.spec.source.git.is_none() {
        return base;
    }
    let commit = world.head.as_deref().map_or(UNKNOWN, |head| head.get(..DIGITS).unwrap_or(head));
    format!("{base}-{commit}")
}

/// A name for everything that a build follows from, but for the commit.
fn wish(image: &Image) -> String {
    let annotation = image.metadata.annotations.as_ref().and_then(|all| all.get(AGAIN));
    let spec = &image.spec;
    let text = format!("{:?} {:?} {:?} {annotation:?}", spec.tag, spec.source, spec.build);
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
}

/// The build that the status names.
pub(super) fn last_build(image: &Image) -> Option<String> {
    image.status.as_ref().and_then(|status| status.latest_build_ref.clone())
}

/// `<namespace>.<uid>.<reference>`: the name of a build among all builds of the machine. An image that is made again
/// under the same name has builds of its own.
pub(super) fn id(image: &Image, reference: &str) -> String {
    let meta = &image.metadata;
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    format!("{}.{}.{reference}", part(&meta.namespace), part(&meta.uid))
}

/// The image that a build was started for.
pub(super) fn image_of(id: &str) -> Option<Name> {
    let (namespace, rest) = id.split_once('.')?;
    let (_, reference) = rest.split_once('.')?;
    let (name, _) = reference.rsplit_once(BUILD)?;
    Some(Name::new(namespace, name))
}
