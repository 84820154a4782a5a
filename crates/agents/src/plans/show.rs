//! What is told of a plan: short, whatever it is about. Pure.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Action, Change, Planned};

/// Most fields that are told of one object.
const FIELDS_MAX: usize = 50;
/// Most fields that are told of all objects together.
const ALL_FIELDS_MAX: usize = 200;
/// Most steps that are told of one object.
const STEPS_MAX: usize = 12;
/// How much of a value, or of a line, is told.
const VALUE_MAX: usize = 160;
/// How much of an error is told: it may name many fields.
const ERROR_MAX: usize = 1_000;

/// What would become of an object.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Shown {
    /// Kind and name.
    pub object: String,
    /// What would be done.
    #[schemars(with = "String")]
    pub action: Action,
    /// The fields that would be others.
    pub changes: Vec<Field>,
    /// How many fields are not told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<usize>,
    /// What its controller would then do.
    pub steps: Vec<String>,
    /// Why it cannot be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A field, with its values as JSON.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Field {
    /// Where.
    pub path: String,
    /// What is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What would be there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// All objects, with as many fields as fit.
pub(super) fn shown(planned: &[Planned]) -> Vec<Shown> {
    let mut room = ALL_FIELDS_MAX;
    planned.iter().map(|planned| one(planned, &mut room)).collect()
}

fn one(planned: &Planned, room: &mut usize) -> Shown {
    let count = planned.changes.len().min(FIELDS_MAX).min(*room);
    *room -= count;
    let more = planned.changes.len() - count;
    let mut steps: Vec<String> =
        planned.steps.iter().take(STEPS_MAX).map(|step| cut(&step.words, VALUE_MAX)).collect();
    if planned.steps.len() > STEPS_MAX {
        steps.push(format!("and {} more", planned.steps.len() - STEPS_MAX));
    }
    Shown {
        object: planned.object.clone(),
        action: planned.action,
        changes: planned.changes.iter().take(count).map(field).collect(),
        more: (more > 0).then_some(more),
        steps,
        error: planned.error.as_deref().map(|error| cut(error, ERROR_MAX)),
    }
}

fn field(change: &Change) -> Field {
    let text = |value: &Option<Value>| value.as_ref().map(|value| cut(&value.to_string(), VALUE_MAX));
    Field { path: cut(&change.path, VALUE_MAX), from: text(&change.from), to: text(&change.to) }
}

fn cut(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => format!("{}…", text.chars().take(most - 1).collect::<String>()),
        false => text.to_owned(),
    }
}

/// A plan in one sentence: `1 to create, 2 to update`.
pub(super) fn summary(planned: &[Planned]) -> String {
    let count = |wanted: Action| {
        planned.iter().filter(|planned| planned.error.is_none() && planned.action == wanted).count()
    };
    let errors = planned.iter().filter(|planned| planned.error.is_some()).count();
    let parts = [
        (count(Action::Create), "to create"),
        (count(Action::Update), "to update"),
        (count(Action::Delete), "to delete"),
        (count(Action::None), "as it should be"),
        (errors, "cannot be"),
    ];
    let words: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    words.join(", ")
}

/// An object and what would be done to it, on one line: `update Application/shop: spec.replicas 1 → 3`.
pub(super) fn line(planned: &Planned) -> String {
    const FIELDS: usize = 5;
    let mut line = match planned.action {
        Action::None => format!("leave {} as it is", planned.object),
        action => format!("{} {}", action.name(), planned.object),
    };
    if planned.action == Action::Update {
        let fields: Vec<String> = planned.changes.iter().take(FIELDS).map(brief).collect();
        line = format!("{line}: {}", fields.join(", "));
        if planned.changes.len() > FIELDS {
            line = format!("{line}, and {} fields more", planned.changes.len() - FIELDS);
        }
    }
    line
}

fn brief(change: &Change) -> String {
    let text = |value: &Option<Value>| {
        value.as_ref().map_or_else(|| "nothing".into(), |value| cut(&value.to_string(), 40))
    };
    format!("{} {} → {}", cut(&change.path, VALUE_MAX), text(&change.from), text(&change.to))
}
