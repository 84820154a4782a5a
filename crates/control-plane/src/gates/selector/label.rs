//! Label selectors, from text (`a=b,c in (d,e),!f`) or from an object (`matchLabels`, `matchExpressions`).

use serde_json::Value;

use crate::gates::names::NameRule;

/// A parsed label selector; every requirement must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelSelector {
    /// `None` selects nothing: a selector that was not given where one is required.
    requirements: Option<Vec<Requirement>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equals,
    NotEquals,
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Greater,
    Less,
}

impl LabelSelector {
    /// Parses the text of the `labelSelector` parameter.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut requirements = Parser { tokens: scan(text), position: 0 }.selector()?;
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self { requirements: Some(requirements) })
    }

    /// Reads a `LabelSelector` object. `null` selects nothing, an empty object everything.
    pub fn from_json(selector: &Value) -> Result<Self, String> {
        if selector.is_null() {
            return Ok(Self { requirements: None });
        }
        let mut requirements = Vec::new();
        for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
            let value = value.as_str().unwrap_or_default().to_owned();
            requirements.push(Requirement::new(key, Operator::Equals, vec![value])?);
        }
        for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
            let operator = match expression["operator"].as_str().unwrap_or_default() {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => return Err(format!("{other:?} is not a valid label selector operator")),
            };
            let values = expression["values"].as_array().into_iter().flatten();
            let values = values.map(|v| v.as_str().unwrap_or_default().to_owned()).collect();
            let key = expression["key"].as_str().unwrap_or_default();
            requirements.push(Requirement::new(key, operator, values)?);
        }
        Ok(Self { requirements: Some(requirements) })
    }

    /// Whether labels match; `get` gives the value of a key.
    pub fn matches<'a>(&self, get: &dyn Fn(&str) -> Option<&'a str>) -> bool {
        match &self.requirements {
            None => false,
            Some(requirements) => requirements.iter().all(|one| one.holds(get(&one.key))),
        }
    }

    /// Whether it lets everything through.
    pub fn is_empty(&self) -> bool {
        self.requirements.as_ref().is_some_and(Vec::is_empty)
    }
}

impl Requirement {
    fn new(key: &str, operator: Operator, values: Vec<String>) -> Result<Self, String> {
        let mut faults = Vec::new();
        faults.extend(key_fault("key", key));
        let listed = || serde_json::json!(values);
        match operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                // The original prints a missing list as null and keeps it apart from an empty one.
                faults.push(invalid(
                    "values",
                    "null",
                    "for 'in', 'notin' operators, values set can't be empty",
                ));
            }
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
                let why = "values set must be empty for exists and does not exist";
                faults.push(invalid("values", &listed().to_string(), why));
            }
            Operator::Greater | Operator::Less => {
                for (at, value) in values.iter().enumerate().filter(|(_, v)| v.parse::<i64>().is_err()) {
                    let why = "for 'Gt', 'Lt' operators, the value must be an integer";
                    faults.push(invalid(&format!("values[{at}]"), &format!("{value:?}"), why));
                }
            }
            _ => {}
        }
        for (at, value) in values.iter().enumerate() {
            let broken = NameRule::LabelValue.faults(value);
            if !broken.is_empty() {
                let path = format!("values[{at}][{key}]");
                faults.push(invalid(&path, &format!("{value:?}"), &broken.join("; ")));
            }
        }
        match faults.as_slice() {
            [] => Ok(Self { key: key.to_owned(), operator, values }),
            [one] => Err(one.clone()),
            many => Err(format!("[{}]", many.join(", "))),
        }
    }

    fn holds(&self, label: Option<&str>) -> bool {
        let listed = |label: &str| self.values.iter().any(|value| value == label);
        match self.operator {
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::Equals | Operator::In => label.is_some_and(listed),
            Operator::NotEquals | Operator::NotIn => !label.is_some_and(listed),
            Operator::Greater => self.compared(label).is_some_and(|(label, bound)| label > bound),
            Operator::Less => self.compared(label).is_some_and(|(label, bound)| label < bound),
        }
    }

    fn compared(&self, label: Option<&str>) -> Option<(i64, i64)> {
        Some((label?.parse().ok()?, self.values.first()?.parse().ok()?))
    }
}

fn key_fault(path: &str, key: &str) -> Option<String> {
    let broken = NameRule::QualifiedName.faults(key);
    (!broken.is_empty()).then(|| invalid(path, &format!("{key:?}"), &broken.join("; ")))
}

fn invalid(path: &str, value: &str, why: &str) -> String {
    format!("{path}: Invalid value: {value}: {why}")
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token<'a> {
    End,
    /// One of `) , ! == = > < != (`.
    Sign(&'a str),
    /// `in`, `notin`, a key or a value: which of them, the parser knows.
    Word(&'a str),
}

impl<'a> Token<'a> {
    fn text(&self) -> &'a str {
        match self {
            Token::End => "",
            Token::Sign(text) | Token::Word(text) => text,
        }
    }
}

fn scan(text: &str) -> Vec<Token<'_>> {
    let sign = |c: char| matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<');
    // A NUL byte ends a word as the original's reader does; it can never be part of a label.
    let blank = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n' | '\0');
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches(blank);
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '=' | '!' if rest[1..].starts_with('=') => 2,
            c if sign(c) => 1,
            _ => rest.find(|c| sign(c) || blank(c)).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(if sign(first) { Token::Sign(token) } else { Token::Word(token) });
        rest = after.trim_start_matches(blank);
    }
    tokens
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    position: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens.get(self.position).cloned().unwrap_or(Token::End)
    }

    fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        self.position += 1;
        token
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::End => return Ok(requirements),
                Token::Word(_) | Token::Sign("!") => {}
                other => return Err(found(&other, "!, identifier, or 'end of string'")),
            }
            let one = self.requirement().map_err(|why| format!("unable to parse requirement: {why}"))?;
            requirements.push(one);
            match self.take() {
                Token::End => return Ok(requirements),
                Token::Sign(",") => match self.peek() {
                    Token::Word(_) | Token::Sign("!") => {}
                    other => return Err(found(&other, "identifier after ','")),
                },
                other => return Err(found(&other, "',' or 'end of string'")),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let mut token = self.take();
        let negated = token == Token::Sign("!");
        if negated {
            token = self.take();
        }
        let Token::Word(key) = token else {
            return Err(found(&token, "identifier"));
        };
        if let Some(fault) = key_fault("<nil>", key) {
            return Err(fault);
        }
        let alone = matches!(self.peek(), Token::End | Token::Sign(","));
        match (negated, alone) {
            (true, _) => return Requirement::new(key, Operator::DoesNotExist, Vec::new()),
            (false, true) => return Requirement::new(key, Operator::Exists, Vec::new()),
            (false, false) => {}
        }
        let operator = self.operator()?;
        let values = match operator {
            Operator::In | Operator::NotIn => self.set()?,
            _ => vec![self.exact()?],
        };
        Requirement::new(key, operator, values)
    }

    fn operator(&mut self) -> Result<Operator, String> {
        Ok(match self.take() {
            Token::Word("in") => Operator::In,
            Token::Word("notin") => Operator::NotIn,
            Token::Sign("=" | "==") => Operator::Equals,
            Token::Sign("!=") => Operator::NotEquals,
            Token::Sign(">") => Operator::Greater,
            Token::Sign("<") => Operator::Less,
            other => return Err(found(&other, "in, notin, =, ==, !=, gt, lt")),
        })
    }

    fn exact(&mut self) -> Result<String, String> {
        match self.peek() {
            Token::End | Token::Sign(",") => Ok(String::new()),
            Token::Word(value) => {
                self.position += 1;
                Ok(value.to_owned())
            }
            other => Err(found(&other, "identifier")),
        }
    }

    /// `(a,b)`; a missing value between two commas is the empty one.
    fn set(&mut self) -> Result<Vec<String>, String> {
        let open = self.take();
        if open != Token::Sign("(") {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        match self.peek() {
            Token::Word(_) | Token::Sign("," | ")") => {}
            other => return Err(found(&other, "',', ')' or identifier")),
        }
        let mut values = Vec::new();
        loop {
            let value = match self.peek() {
                Token::Word(value) => {
                    self.position += 1;
                    value
                }
                Token::Sign("," | ")") => "",
                other => return Err(found(&other, "',', or identifier")),
            };
            values.push(value.to_owned());
            match self.peek() {
                Token::Sign(",") => self.position += 1,
                Token::Sign(")") => break,
                other => return Err(found(&other, "',' or ')'")),
            }
        }
        self.position += 1;
        values.sort_unstable();
        values.dedup();
        Ok(values)
    }
}

fn found(token: &Token<'_>, expected: &str) -> String {
    format!("found '{}', expected: {expected}", token.text())
}
