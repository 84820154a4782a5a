//! Asking one expression.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr, LiteralValue, MapExpr, SelectExpr, operators,
};
use kube_cel::cel::objects::{Key, Map, OptionalValue};
use kube_cel::cel::parser::Expression;
use regex::Regex;

use super::library::NO_OVERLOAD;
use super::values;

/// Why there is no value.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// The steps are used up; nothing may catch this.
    Spent,
    /// The expression failed. `&&`, `||` and their kin may pass over it.
    Failed(String),
}

impl From<String> for Fault {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

pub(super) type Answer = Result<Value, Fault>;

pub(super) fn no_overload() -> Fault {
    Fault::Failed(NO_OVERLOAD.into())
}

/// Names and their values, innermost first. A name may stand for a failure that is not yet an answer.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a Answer,
    pub(super) outer: Option<&'a Scope<'a>>,
}

impl<'a> Scope<'a> {
    pub(super) fn find(&self, name: &str) -> Option<&'a Answer> {
        let mut scope = Some(self);
        while let Some(here) = scope {
            if here.name == name {
                return Some(here.value);
            }
            scope = here.outer;
        }
        None
    }

    pub(super) fn with(&'a self, name: &'a str, value: &'a Answer) -> Scope<'a> {
        Scope { name, value, outer: Some(self) }
    }
}

/// What evaluates: it counts its steps and remembers the patterns it compiled.
pub(super) struct Machine {
    left: Cell<u64>,
    patterns: RefCell<HashMap<String, Option<Regex>>>,
}

impl Machine {
    pub(super) fn new() -> Self {
        Self { left: Cell::new(0), patterns: RefCell::default() }
    }

    /// Evaluates with at most `limit` steps; gives the answer and the steps taken.
    pub(super) fn run(&self, expression: &Expression, scope: &Scope, limit: u64) -> (Answer, u64) {
        self.left.set(limit);
        let answer = self.eval(expression, scope);
        (answer, limit - self.left.get())
    }

    /// Takes steps for work that grows with its input.
    pub(super) fn pay(&self, steps: usize) -> Result<(), Fault> {
        let left = self.left.get().checked_sub(steps as u64);
        self.left.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or(Fault::Spent)
    }

    /// Takes steps for every element of a value, and for every tenth letter.
    pub(super) fn weigh(&self, value: &Value) -> Result<(), Fault> {
        match value {
            Value::String(text) => self.pay(1 + text.len() / 10),
            Value::Bytes(bytes) => self.pay(1 + bytes.len() / 10),
            Value::List(list) => {
                self.pay(1)?;
                list.iter().try_for_each(|element| self.weigh(element))
            }
            Value::Map(map) => {
                self.pay(1)?;
                map.map.values().try_for_each(|element| self.weigh(element))
            }
            _ => self.pay(1),
        }
    }

    pub(super) fn matches(&self, text: &str, pattern: &str) -> Result<bool, Fault> {
        self.pay(1 + (text.len() / 10 + 1) * (pattern.len() / 4 + 1))?;
        let mut patterns = self.patterns.borrow_mut();
        let compiled = match patterns.get(pattern) {
            Some(compiled) => compiled,
            None => {
                // Compiling costs far more than a step.
                self.pay(1000 + pattern.len() * 10)?;
                let compiled = crate::kinds::schema::pattern(pattern).ok();
                patterns.entry(pattern.to_owned()).or_insert(compiled)
            }
        };
        let compiled = compiled.as_ref().ok_or_else(|| Fault::Failed("error parsing regexp".into()))?;
        Ok(compiled.is_match(text))
    }

    pub(super) fn eval(&self, expression: &Expression, scope: &Scope) -> Answer {
        self.pay(1)?;
        match &expression.expr {
            Expr::Literal(literal) => Ok(constant(literal)),
            Expr::Ident(name) => match scope.find(name) {
                Some(answer) => answer.clone(),
                None => {
                    type_named(name).ok_or_else(|| Fault::Failed(format!("undeclared reference to '{name}'")))
                }
            },
            Expr::Select(select) => self.select(select, scope),
            Expr::Call(call) => self.call(call, scope),
            Expr::List(list) => self.list(list, scope),
            Expr::Map(map) => self.map(map, scope),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension, scope),
            Expr::Struct(_) | Expr::Unspecified => Err(no_overload()),
        }
    }

    pub(super) fn truth(&self, expression: &Expression, scope: &Scope) -> Result<bool, Fault> {
        match self.eval(expression, scope)? {
            Value::Bool(flag) => Ok(flag),
            _ => Err(no_overload()),
        }
    }

    fn select(&self, select: &SelectExpr, scope: &Scope) -> Answer {
        let operand = self.eval(&select.operand, scope)?;
        let key = values::text(&select.field);
        if select.test {
            return match optional(&operand).map_or_else(|| Some(operand.clone()), |inner| inner.cloned()) {
                None => Ok(Value::Bool(false)),
                Some(Value::Map(map)) => Ok(Value::Bool(lookup(&map, &key).is_some())),
                Some(_) => Err(no_overload()),
            };
        }
        self.index(&operand, &key, false)
    }

    /// `operand[key]`; asked optionally, or on an optional, the answer is an optional too.
    pub(super) fn index(&self, operand: &Value, key: &Value, optionally: bool) -> Answer {
        if let Some(inner) = optional(operand) {
            return match inner {
                None => Ok(operand.clone()),
                Some(inner) => self.index(inner, key, true),
            };
        }
        let found = match (operand, key) {
            (Value::Map(map), _) => {
                lookup(map, key).cloned().ok_or_else(|| format!("no such key: {}", shown(key)))
            }
            (Value::List(list), key) => {
                let place = whole(key).ok_or_else(no_overload)?;
                let element = usize::try_from(place).ok().and_then(|place| list.get(place));
                element.cloned().ok_or_else(|| format!("index out of bounds: {place}"))
            }
            _ => return Err(no_overload()),
        };
        match (optionally, found) {
            (true, found) => Ok(some(found.ok())),
            (false, found) => found.map_err(Fault::Failed),
        }
    }

    fn list(&self, list: &ListExpr, scope: &Scope) -> Answer {
        let mut out = Vec::with_capacity(list.elements.len());
        for (index, element) in list.elements.iter().enumerate() {
            let value = self.eval(element, scope)?;
            match optional(&value) {
                Some(inner) if list.optional_indices.contains(&index) => out.extend(inner.cloned()),
                _ => out.push(value),
            }
        }
        Ok(Value::List(Arc::new(out)))
    }

    fn map(&self, map: &MapExpr, scope: &Scope) -> Answer {
        let mut out = HashMap::with_capacity(map.entries.len());
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else { return Err(no_overload()) };
            let key = as_key(&self.eval(&entry.key, scope)?).ok_or_else(no_overload)?;
            let value = self.eval(&entry.value, scope)?;
            match optional(&value) {
                Some(inner) if entry.optional => {
                    out.extend(inner.map(|inner| (key, inner.clone())));
                }
                _ => {
                    out.insert(key, value);
                }
            }
        }
        Ok(Value::Map(Map { map: Arc::new(out) }))
    }

    fn comprehension(&self, comprehension: &ComprehensionExpr, scope: &Scope) -> Answer {
        let range = elements(&self.eval(&comprehension.iter_range, scope)?)?;
        if let Some((filter, element)) = collected(comprehension) {
            let mut out = Vec::new();
            for item in range {
                let item = Ok(item);
                let scope = scope.with(&comprehension.iter_var, &item);
                if filter.map_or(Ok(true), |filter| self.truth(filter, &scope))? {
                    out.push(self.eval(element, &scope)?);
                }
            }
            return Ok(Value::List(Arc::new(out)));
        }
        let mut result = self.eval(&comprehension.accu_init, scope);
        for item in range {
            let scope = scope.with(&comprehension.accu_var, &result);
            if !self.truth(&comprehension.loop_cond, &scope)? {
                break;
            }
            let item = Ok(item);
            let next = self.eval(&comprehension.loop_step, &scope.with(&comprehension.iter_var, &item));
            match next {
                Err(Fault::Spent) => return Err(Fault::Spent),
                next => result = next,
            }
        }
        self.eval(&comprehension.result, &scope.with(&comprehension.accu_var, &result))
    }
}

/// `map` and `filter` grow a list by one each time; seen as that, they need not copy it each time.
fn collected(comprehension: &ComprehensionExpr) -> Option<(Option<&Expression>, &Expression)> {
    fn grown(step: &Expression) -> Option<&Expression> {
        let Expr::Call(CallExpr { func_name, target: None, args }) = &step.expr else { return None };
        match (func_name.as_str(), args.as_slice()) {
            (operators::ADD, [_, list]) => match &list.expr {
                Expr::List(list) => list.elements.first(),
                _ => None,
            },
            _ => None,
        }
    }
    if !matches!(&comprehension.accu_init.expr, Expr::List(list) if list.elements.is_empty()) {
        return None;
    }
    if let Some(element) = grown(&comprehension.loop_step) {
        return Some((None, element));
    }
    match &comprehension.loop_step.expr {
        Expr::Call(call) if call.func_name == operators::CONDITIONAL => match call.args.as_slice() {
            [filter, step, _] => Some((Some(filter), grown(step)?)),
            _ => None,
        },
        _ => None,
    }
}

/// What a comprehension walks over: elements of a list, keys of a map in order.
pub(super) fn elements(range: &Value) -> Result<Vec<Value>, Fault> {
    match range {
        Value::List(list) => Ok(list.to_vec()),
        Value::Map(map) => Ok(sorted(map).into_iter().map(|(key, _)| Value::from(key)).collect()),
        _ => Err(no_overload()),
    }
}

pub(super) fn sorted(map: &Map) -> Vec<(&Key, &Value)> {
    let mut entries: Vec<_> = map.map.iter().collect();
    entries.sort_by_key(|(key, _)| *key);
    entries
}

fn constant(literal: &LiteralValue) -> Value {
    match literal {
        LiteralValue::Boolean(flag) => Value::Bool(*flag.inner()),
        LiteralValue::Bytes(bytes) => Value::Bytes(Arc::new(bytes.inner().to_vec())),
        LiteralValue::Double(float) => Value::Float(*float.inner()),
        LiteralValue::Int(whole) => Value::Int(*whole.inner()),
        LiteralValue::Null => Value::Null,
        LiteralValue::String(text) => values::text(text.inner()),
        LiteralValue::UInt(whole) => Value::UInt(*whole.inner()),
    }
}

/// Types are values too: `type(x) == int`.
pub(super) fn type_named(name: &str) -> Option<Value> {
    const TYPES: [&str; 10] =
        ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];
    TYPES.contains(&name).then(|| Value::Function(Arc::new(name.to_owned()), None))
}

/// The inside of an optional: `None` for a value that is none, `Some(None)` for an empty one.
pub(super) fn optional(value: &Value) -> Option<Option<&Value>> {
    match value {
        Value::Opaque(opaque) => opaque.downcast_ref::<OptionalValue>().map(OptionalValue::value),
        _ => None,
    }
}

pub(super) fn some(value: Option<Value>) -> Value {
    Value::Opaque(Arc::new(value.map_or_else(OptionalValue::none, OptionalValue::of)))
}

pub(super) fn as_key(value: &Value) -> Option<Key> {
    match value {
        Value::String(text) => Some(Key::String(text.clone())),
        Value::Bool(flag) => Some(Key::Bool(*flag)),
        Value::UInt(number) => Some(Key::Uint(*number)),
        other => whole(other).map(Key::Int),
    }
}

/// Keys 1, 1u and 1.0 are one.
pub(super) fn lookup<'a>(map: &'a Map, key: &Value) -> Option<&'a Value> {
    let key = as_key(key)?;
    let other = match &key {
        Key::Int(number) => u64::try_from(*number).ok().map(Key::Uint),
        Key::Uint(number) => i64::try_from(*number).ok().map(Key::Int),
        Key::Bool(_) | Key::String(_) => None,
    };
    map.map.get(&key).or_else(|| map.map.get(&other?))
}

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        Value::UInt(number) => i64::try_from(*number).ok(),
        Value::Float(float) if float.fract() == 0.0 && float.abs() < 9e15 => Some(*float as i64),
        _ => None,
    }
}

fn shown(key: &Value) -> String {
    as_key(key).map_or_else(String::new, |key| key.to_string())
}
