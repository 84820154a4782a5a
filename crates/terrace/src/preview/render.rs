//! A preview in words: `+` comes, `~` changes, `-` goes, `!` happens outside the cluster. Pure.

use kit::{Change, Draft, Drafted, Verb};
use serde_json::Value;

use super::Preview;
use crate::paint::Paint;

/// How much of a value is shown on a line.
const VALUE_MAX: usize = 100;

/// All previews, one after the other.
pub(super) fn text(previews: &[Preview], paint: Paint) -> String {
    let mut lines = Vec::new();
    for preview in previews {
        one(preview, paint, &mut lines);
    }
    lines.push(summary(previews));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn one(preview: &Preview, paint: Paint, lines: &mut Vec<String>) {
    let name = paint.bold(&preview.object);
    if let Some(error) = &preview.error {
        lines.push(format!("{} {name}: {error}", paint.red("✗")));
        return;
    }
    if preview.is_empty() {
        lines.push(format!("= {name}: nothing to do"));
        return;
    }
    let (sign, word) = if preview.new { ('+', " (new)") } else { ('~', "") };
    lines.push(format!("{} {name}{word}", signed(sign, paint)));
    lines.extend(preview.changes.iter().map(|change| format!("    {}", field(change, paint))));
    if let Some(refusal) = preview.refusal() {
        lines.push(format!("  {} refused: {refusal}", paint.red("✗")));
    }
    if let Some(draft) = &preview.draft {
        drafted(draft, paint, lines);
    }
}

fn drafted(draft: &Draft, paint: Paint, lines: &mut Vec<String>) {
    for Drafted { verb, words, changes } in &draft.steps {
        lines.push(format!("  {} {words}", signed(sign(*verb), paint)));
        lines.extend(changes.iter().map(|change| format!("      {}", field(change, paint))));
    }
    if !draft.status.is_empty() {
        lines.push(format!("  {} status", signed('~', paint)));
        lines.extend(draft.status.iter().map(|change| format!("      {}", field(change, paint))));
    }
}

fn sign(verb: Verb) -> char {
    match verb {
        Verb::Create => '+',
        Verb::Change => '~',
        Verb::Delete => '-',
        Verb::Act => '!',
    }
}

fn signed(sign: char, paint: Paint) -> String {
    let text = sign.to_string();
    match sign {
        '+' => paint.green(&text),
        '-' => paint.red(&text),
        _ => paint.yellow(&text),
    }
}

fn field(change: &Change, paint: Paint) -> String {
    let path = &change.path;
    match (&change.from, &change.to) {
        (None, Some(to)) => format!("{} {path}: {}", signed('+', paint), value(to)),
        (Some(from), Some(to)) => format!("{} {path}: {} → {}", signed('~', paint), value(from), value(to)),
        (Some(from), None) => format!("{} {path}: {}", signed('-', paint), value(from)),
        (None, None) => format!("{} {path}", signed('~', paint)),
    }
}

fn value(value: &Value) -> String {
    let text = value.to_string();
    match text.chars().count() > VALUE_MAX {
        true => format!("{}…", text.chars().take(VALUE_MAX - 1).collect::<String>()),
        false => text,
    }
}

fn summary(previews: &[Preview]) -> String {
    let errors = previews.iter().filter(|preview| preview.is_error()).count();
    let changed = previews.iter().filter(|preview| !preview.is_error() && !preview.is_empty()).count();
    let same = previews.len() - errors - changed;
    let mut words = Vec::new();
    for (count, word) in [(changed, "to change"), (same, "as it should be"), (errors, "cannot be")] {
        if count > 0 {
            words.push(format!("{count} {word}"));
        }
    }
    format!("{}; nothing was done", words.join(", "))
}
