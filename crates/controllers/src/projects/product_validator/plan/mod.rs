mod verdict;

use std::fmt;
use std::time::Duration;

use api::conditions::{Reason, Standing};
use api::projects::{ProductValidator, ProductValidatorStatus, ValidationOutcome};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kit::{Do, Next, Plan, Refusal};
use ports::git::{Mark, Place, Verdict};
use ports::oci::digest_of;

use verdict::{Judgement, judge};

/// What our marks are called at the host.
pub(super) const CONTEXT: &str = "terrace/product-validator";
/// How often a head is looked at where nobody says otherwise: people wait for the mark.
const INTERVAL: Duration = Duration::from_secs(60);
/// Most letters that GitHub takes in the words of a mark.
const WORDS_MOST: usize = 140;

/// What is known when a plan is made.
#[derive(Debug)]
pub struct World {
    pub(super) now: Timestamp,
    pub(super) sight: Sight,
}

/// What there is to check.
#[derive(Debug)]
pub(super) enum Sight {
    /// Something that is needed is not there.
    Waiting(String),
    /// The repository is that of another project.
    Denied,
    /// Neither a pull request nor a branch is named.
    Nameless,
    /// The pull request is open no longer.
    Over(&'static str),
    Open {
        place: Box<Place>,
        head: Head,
        rules: Vec<Rule>,
    },
}

/// The head of the branch.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) commit: String,
    /// The file with the values, if it is there.
    pub(super) values: Option<Vec<u8>>,
    /// The mark that the commit has.
    pub(super) mark: Option<Mark>,
}

/// A rule as it was written; none if it cannot be had.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) text: Option<Vec<u8>>,
}

/// What is done about it.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Marks a commit.
    Mark {
        /// The repository.
        place: Box<Place>,
        /// The commit.
        commit: String,
        /// The mark.
        mark: Mark,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Mark { place, commit, mark } = self;
        let verdict = match mark.verdict {
            Verdict::Pending => "pending",
            Verdict::Success => "success",
            Verdict::Failure => "failure",
        };
        write!(f, "mark {} in {}: {verdict}: {}", short(commit), place.path(), mark.description)
    }
}

/// The plan for one pass over one validator.
pub(super) fn plan(
    validator: &ProductValidator,
    world: &World,
) -> Result<Plan<Step, ProductValidatorStatus>, Refusal> {
    let mut status = validator.status.clone().unwrap_or_default();
    status.observed_generation = validator.metadata.generation;
    let interval = validator.spec.interval.as_ref().map_or(INTERVAL, |span| span.duration());
    let (place, head, rules) = match &world.sight {
        Sight::Waiting(what) => {
            return Ok(Plan::wait(status, Reason::DependencyNotReady, what, interval));
        }
        Sight::Denied => {
            let told = "the repository is of another project; only objects beside it and in its project's namespace may name it";
            return Ok(Plan::wait(status, Reason::ConsentMissing, told, interval));
        }
        Sight::Nameless => {
            return Err(Refusal::new(Reason::InvalidSpec, "pullRequest or branch must say what is checked"));
        }
        Sight::Over(how) => {
            status.ready(Reason::Available, format!("the pull request was {how}; nothing is left to check"));
            return Ok(Plan::whole(Vec::new(), status, Next::OnChange));
        }
        Sight::Open { place, head, rules } => (place, head, rules),
    };
    let judged = judge(&validator.spec.values_path, head.values.as_deref(), rules);
    let mark = marked(&judged);
    let mut steps = Vec::new();
    if head.mark.as_ref() != Some(&mark) {
        steps.push(Do::Outside(Step::Mark { place: place.clone(), commit: head.commit.clone(), mark }));
    }
    report(&mut status, head, judged, world.now);
    Ok(Plan::whole(steps, status, Next::After(interval)))
}

fn marked(judged: &Judgement) -> Mark {
    let (verdict, words) = match judged {
        Judgement::Good(words) => (Verdict::Success, words.clone()),
        // It is not shown to be wrong; but nobody has shown that it is right.
        Judgement::Unknown(words) => (Verdict::Pending, words.clone()),
        Judgement::Bad(violations) => {
            let first = violations.first().map_or("", String::as_str);
            let words = match violations.len() {
                1 => first.to_owned(),
                many => format!("{many} violations: {first}"),
            };
            (Verdict::Failure, words)
        }
    };
    Mark { context: CONTEXT.into(), verdict, description: clipped(&words) }
}

fn report(status: &mut ProductValidatorStatus, head: &Head, judged: Judgement, now: Timestamp) {
    let digest = head.values.as_deref().map(digest_of);
    let (outcome, violations) = match judged {
        Judgement::Good(words) => {
            status.ready(Reason::Available, format!("commit {}: {words}", short(&head.commit)));
            (Some(ValidationOutcome::Success), Vec::new())
        }
        Judgement::Unknown(words) => {
            status.not_ready(Reason::Code("CannotBeChecked".into()), words);
            (None, Vec::new())
        }
        Judgement::Bad(violations) => {
            let told = format!("commit {} breaks the rules: {}", short(&head.commit), violations.join("; "));
            // The check itself is as asked; what it came to stands in the outcome.
            status.not_ready(Reason::Code("ValuesInvalid".into()), told);
            (Some(ValidationOutcome::Failed), violations)
        }
    };
    let same = status.last_validated_commit.as_deref() == Some(head.commit.as_str())
        && status.last_validated_digest == digest
        && status.last_validated_digest_outcome == outcome
        && status.violations == violations;
    if !same || status.last_validated_at.is_none() {
        status.last_validated_at = Some(Time(now));
    }
    status.last_validated_commit = Some(head.commit.clone());
    status.last_validated_digest = digest;
    status.last_validated_digest_outcome = outcome;
    status.violations = violations;
}

fn short(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}

fn clipped(words: &str) -> String {
    if words.chars().count() <= WORDS_MOST {
        return words.to_owned();
    }
    let start: String = words.chars().take(WORDS_MOST - 1).collect();
    format!("{start}…")
}
