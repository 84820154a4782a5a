//! The JSON paths that definitions of custom resources use for their columns.
//!
//! Fields, `['key']`, `[0]`, `[-1]`, `[1:3]`, `[*]`, `..`, unions and filters, with the habits of the original:
//! a missing field is no result, comparing values of two types is an error, and an error empties the cell.

use std::cmp::Ordering;

use serde_json::Value;

/// A path, ready to be walked.
#[derive(Debug, PartialEq)]
pub(super) struct Path(Vec<Step>);

#[derive(Debug, PartialEq)]
enum Step {
    Field(String),
    Wildcard,
    Descend,
    Slice { from: Option<i64>, to: To, by: Option<i64> },
    Union(Vec<Vec<Step>>),
    Exists(Vec<Step>),
    Compare { left: Vec<Step>, operator: String, right: Vec<Step> },
    Constant(Value),
}

/// Where a slice ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum To {
    /// Behind the one element that was asked for.
    Single,
    /// At the end of the list.
    End,
    /// Before this element; counted from the end when negative.
    Before(i64),
}

/// A path met a value it cannot walk into.
struct Astray;

impl Path {
    /// Reads a path such as `.status.conditions[?(@.type=="Ready")].status`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        steps(text).map(Self)
    }

    /// The first value the path leads to.
    pub(super) fn first<'a>(&'a self, object: &'a Value) -> Option<&'a Value> {
        walk(&self.0, vec![object]).ok()?.first().copied()
    }
}

/// Reads the steps of an expression, one after the other.
fn steps(text: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        rest = match letter {
            ' ' | '@' | '$' => rest.get(1..)?,
            '[' if rest.starts_with("[?(") => filter(rest.get(3..)?, &mut steps)?,
            '[' => brackets(rest.get(1..)?, &mut steps)?,
            '"' | '\'' => quoted(rest, letter, &mut steps)?,
            '.' if rest.starts_with("..") => descend(rest.get(2..)?, &mut steps)?,
            '.' => field(rest.get(1..)?, &mut steps),
            '+' | '-' | '0'..='9' => number(rest, &mut steps)?,
            't' | 'f' => truth(rest, &mut steps)?,
            _ => return None,
        };
    }
    Some(steps)
}

fn is_terminator(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

/// A field's name ends before a terminator; a backslash takes the next letter as it is.
fn field<'a>(text: &'a str, steps: &mut Vec<Step>) -> &'a str {
    let mut name = String::new();
    let mut letters = text.char_indices();
    let mut end = text.len();
    while let Some((index, letter)) = letters.next() {
        if letter == '\\' {
            name.extend(letters.next().map(|(_, letter)| letter));
        } else if is_terminator(letter) {
            end = index;
            break;
        } else {
            name.push(letter);
        }
    }
    steps.push(if name == "*" { Step::Wildcard } else { Step::Field(name) });
    text.get(end..).unwrap_or_default()
}

fn descend<'a>(text: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    if steps.last() == Some(&Step::Descend) {
        return None;
    }
    steps.push(Step::Descend);
    let named = text.starts_with(|letter: char| letter == '_' || letter.is_alphanumeric());
    Some(if named { field(text, steps) } else { text })
}

fn quoted<'a>(text: &'a str, quote: char, steps: &mut Vec<Step>) -> Option<&'a str> {
    let mut word = String::new();
    let mut letters = text.char_indices().skip(1);
    while let Some((index, letter)) = letters.next() {
        if letter == quote {
            steps.push(Step::Constant(word.into()));
            return text.get(index + 1..);
        }
        word.push(if letter == '\\' { escaped(letters.next()?.1)? } else { letter });
    }
    None
}

fn escaped(letter: char) -> Option<char> {
    match letter {
        'n' => Some('\n'),
        't' => Some('\t'),
        'r' => Some('\r'),
        '\\' | '"' | '\'' => Some(letter),
        _ => None,
    }
}

fn number<'a>(text: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    let sign = usize::from(text.starts_with(['+', '-']));
    let unsigned = text.get(sign..)?;
    let digits = unsigned.find(|letter: char| letter != '.' && !letter.is_ascii_digit());
    let end = digits.map_or(text.len(), |digits| digits + sign);
    let written = text.get(..end)?;
    let whole = written.parse::<i64>().ok().map(Value::from);
    steps.push(Step::Constant(whole.or_else(|| written.parse::<f64>().ok().map(Value::from))?));
    text.get(end..)
}

fn truth<'a>(text: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    let end = text.find(is_terminator).unwrap_or(text.len());
    steps.push(Step::Constant(Value::Bool(text.get(..end)?.parse().ok()?)));
    text.get(end..)
}

/// An index, a slice, a key in quotes, or several of them between commas.
fn brackets<'a>(text: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    let (inside, rest) = text.split_once(']')?;
    let parts: Vec<&str> = inside.split(',').collect();
    if let [one] = parts.as_slice() {
        steps.push(bracket(one)?);
    } else {
        let part = |part: &&str| bracket(part.trim_matches(' ')).map(|step| vec![step]);
        steps.push(Step::Union(parts.iter().map(part).collect::<Option<_>>()?));
    }
    Some(rest)
}

fn bracket(inside: &str) -> Option<Step> {
    if let Some(key) = inside.strip_prefix('\'').and_then(|inside| inside.strip_suffix('\'')) {
        return Some(Step::Field(key.replace('\\', "")));
    }
    if inside == "*" {
        return Some(Step::Slice { from: None, to: To::End, by: None });
    }
    let number = |text: &str| match text {
        "" => Some(None),
        _ => text.parse::<i64>().ok().map(Some),
    };
    let mut parts = inside.splitn(3, ':');
    let from = number(parts.next()?)?;
    let to = match parts.next() {
        None => To::Single,
        Some(end) => number(end)?.map_or(To::End, To::Before),
    };
    Some(Step::Slice { from, to, by: parts.next().map_or(Some(None), number)? })
}

/// A filter ends at the bracket that is not inside quotes.
fn filter<'a>(text: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    let mut quote = None;
    let mut before = ' ';
    for (index, letter) in text.char_indices() {
        match (letter, quote) {
            ('"' | '\'', None) => quote = Some(letter),
            (_, Some(open)) if letter == open && before != '\\' => quote = None,
            (')', None) => {
                steps.push(comparison(text.get(..index)?)?);
                return text.get(index + 1..)?.strip_prefix(']');
            }
            _ => {}
        }
        before = letter;
    }
    None
}

fn comparison(text: &str) -> Option<Step> {
    let is_operator = |letter: char| matches!(letter, '!' | '<' | '>' | '=');
    let Some(start) = text.find(is_operator).filter(|start| *start > 0) else {
        return Some(Step::Exists(steps(text)?));
    };
    let (left, rest) = text.split_at_checked(start)?;
    let right = rest.trim_start_matches(is_operator);
    let operator = rest.get(..rest.len() - right.len())?;
    Some(Step::Compare { left: steps(left)?, operator: operator.to_owned(), right: steps(right)? })
}

fn walk<'a>(steps: &'a [Step], values: Vec<&'a Value>) -> Result<Vec<&'a Value>, Astray> {
    steps.iter().try_fold(values, |values, step| take(step, values))
}

fn take<'a>(step: &'a Step, values: Vec<&'a Value>) -> Result<Vec<&'a Value>, Astray> {
    let mut found = Vec::new();
    match step {
        Step::Field(name) => found.extend(values.iter().filter_map(|value| value.get(name))),
        Step::Wildcard => found.extend(values.iter().flat_map(|value| children(value))),
        Step::Descend => values.iter().for_each(|value| descendants(value, &mut found)),
        Step::Constant(value) => found.push(value),
        Step::Slice { from, to, by } => {
            for value in values.into_iter().filter(|value| !value.is_null()) {
                found.extend(slice(value.as_array().ok_or(Astray)?, *from, *to, *by)?);
            }
        }
        Step::Union(parts) => {
            for part in parts {
                found.extend(walk(part, values.clone())?);
            }
        }
        Step::Exists(_) | Step::Compare { .. } => {
            for value in values {
                for item in value.as_array().ok_or(Astray)? {
                    if passes(step, item)? {
                        found.push(item);
                    }
                }
            }
        }
    }
    Ok(found)
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    }
}

fn descendants<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    let children = children(value);
    if !children.is_empty() {
        found.push(value);
        children.into_iter().for_each(|child| descendants(child, found));
    }
}

fn slice(items: &[Value], from: Option<i64>, to: To, by: Option<i64>) -> Result<Vec<&Value>, Astray> {
    let length = i64::try_from(items.len()).map_err(|_| Astray)?;
    let wrapped = |index: i64| if index < 0 { index.saturating_add(length) } else { index };
    let start = wrapped(from.unwrap_or(0));
    let end = match to {
        To::Single => start.saturating_add(1),
        To::End => length,
        To::Before(index) => wrapped(index),
    };
    if start == end {
        return Ok(Vec::new());
    }
    let by = usize::try_from(by.unwrap_or(1)).ok().filter(|by| *by > 0).ok_or(Astray)?;
    let (start, end) =
        (usize::try_from(start).map_err(|_| Astray)?, usize::try_from(end).map_err(|_| Astray)?);
    items.get(start..end).map(|items| items.iter().step_by(by).collect()).ok_or(Astray)
}

fn passes(step: &Step, item: &Value) -> Result<bool, Astray> {
    let Step::Compare { left, operator, right } = step else {
        let Step::Exists(path) = step else { return Ok(false) };
        return Ok(walk(path, vec![item]).is_ok_and(|found| !found.is_empty()));
    };
    let (left, right) = (walk(left, vec![item])?, walk(right, vec![item])?);
    match (left.as_slice(), right.as_slice()) {
        ([], _) | (_, []) => Ok(false),
        ([left], [right]) => compare(left, operator, right),
        _ => Err(Astray),
    }
}

/// Only values of one basic type compare; booleans have no order.
fn compare(left: &Value, operator: &str, right: &Value) -> Result<bool, Astray> {
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) if matches!(operator, "==" | "!=") => left.cmp(right),
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => left.cmp(&right),
            (None, None) => left.as_f64().partial_cmp(&right.as_f64()).ok_or(Astray)?,
            _ => return Err(Astray),
        },
        _ => return Err(Astray),
    };
    match operator {
        "==" => Ok(order == Ordering::Equal),
        "!=" => Ok(order != Ordering::Equal),
        "<" => Ok(order == Ordering::Less),
        "<=" => Ok(order != Ordering::Greater),
        ">" => Ok(order == Ordering::Greater),
        ">=" => Ok(order != Ordering::Less),
        _ => Err(Astray),
    }
}
