//! Macros that the parser leaves alone: bindings, two-variable loops, sorting, optional maps.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::common::ast::{CallExpr, Expr};
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::parser::Expression;

use super::eval::{Answer, Fault, Machine, Scope, elements, no_overload, optional, some, sorted};

/// The shape of a macro call: names it binds, and what it evaluates with them.
pub(super) struct Macro<'a> {
    pub(super) kind: MacroKind,
    pub(super) range: &'a Expression,
    pub(super) names: Vec<&'a str>,
    pub(super) bodies: &'a [Expression],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MacroKind {
    Bind,
    All,
    Exists,
    ExistsOne,
    TransformList,
    TransformMap,
    SortBy,
    OptMap,
    OptFlatMap,
}

/// Recognizes a macro by its name, its target and its number of arguments.
pub(super) fn recognized(call: &CallExpr) -> Option<Macro<'_>> {
    use MacroKind::*;
    let target = call.target.as_deref()?;
    let is_cel = matches!(&target.expr, Expr::Ident(name) if name == "cel");
    let (kind, bound) = match (call.func_name.as_str(), call.args.len()) {
        ("bind", 3) if is_cel => {
            let (name, rest) = call.args.split_first()?;
            let (range, bodies) = rest.split_first()?;
            return Some(Macro { kind: Bind, range, names: vec![ident(name)?], bodies });
        }
        ("all", 3) => (All, 2),
        ("exists", 3) => (Exists, 2),
        ("existsOne" | "exists_one", 3) => (ExistsOne, 2),
        ("transformList", 3 | 4) => (TransformList, 2),
        ("transformMap", 3 | 4) => (TransformMap, 2),
        ("sortBy", 2) => (SortBy, 1),
        ("optMap", 2) => (OptMap, 1),
        ("optFlatMap", 2) => (OptFlatMap, 1),
        _ => return None,
    };
    let (names, bodies) = call.args.split_at(bound);
    let names = names.iter().map(ident).collect::<Option<Vec<_>>>()?;
    Some(Macro { kind, range: target, names, bodies })
}

fn ident(expression: &Expression) -> Option<&str> {
    match &expression.expr {
        Expr::Ident(name) => Some(name),
        _ => None,
    }
}

impl Machine {
    pub(super) fn macros(&self, call: &CallExpr, scope: &Scope) -> Option<Answer> {
        let found = recognized(call)?;
        Some(self.run_macro(&found, scope))
    }

    fn run_macro(&self, found: &Macro, scope: &Scope) -> Answer {
        let range = self.eval(found.range, scope)?;
        let body = found.bodies.last().ok_or_else(no_overload)?;
        match found.kind {
            MacroKind::Bind => self.eval(body, &scope.with(found.names[0], &Ok(range))),
            MacroKind::SortBy => self.sort_by(found.names[0], &range, body, scope),
            MacroKind::OptMap | MacroKind::OptFlatMap => match optional(&range) {
                None => Err(no_overload()),
                Some(None) => Ok(range),
                Some(Some(inner)) => {
                    let value = self.eval(body, &scope.with(found.names[0], &Ok(inner.clone())))?;
                    Ok(if found.kind == MacroKind::OptMap { some(Some(value)) } else { value })
                }
            },
            MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne => {
                self.quantified(found, &range, scope)
            }
            MacroKind::TransformList | MacroKind::TransformMap => self.transformed(found, &range, scope),
        }
    }

    fn quantified(&self, found: &Macro, range: &Value, scope: &Scope) -> Answer {
        let mut failure = None;
        let mut count = 0;
        for (key, value) in pairs(range)? {
            let (key, value) = (Ok(key), Ok(value));
            let scope = scope.with(found.names[0], &key);
            match (found.kind, self.truth(&found.bodies[0], &scope.with(found.names[1], &value))) {
                (_, Err(Fault::Spent)) => return Err(Fault::Spent),
                (MacroKind::ExistsOne, Err(fault)) => return Err(fault),
                (_, Err(fault)) => failure = failure.or(Some(fault)),
                (MacroKind::All, Ok(false)) => return Ok(Value::Bool(false)),
                (MacroKind::Exists, Ok(true)) => return Ok(Value::Bool(true)),
                (_, Ok(flag)) => count += usize::from(flag),
            }
        }
        match (failure, found.kind) {
            (Some(fault), _) => Err(fault),
            (None, MacroKind::All) => Ok(Value::Bool(true)),
            (None, MacroKind::ExistsOne) => Ok(Value::Bool(count == 1)),
            (None, _) => Ok(Value::Bool(false)),
        }
    }

    fn transformed(&self, found: &Macro, range: &Value, scope: &Scope) -> Answer {
        let (filter, body) = match found.bodies {
            [body] => (None, body),
            [filter, body] => (Some(filter), body),
            _ => return Err(no_overload()),
        };
        let mut list = Vec::new();
        let mut map: HashMap<Key, Value> = HashMap::new();
        for (key, value) in pairs(range)? {
            let name = super::eval::as_key(&key).ok_or_else(no_overload)?;
            let (key, value) = (Ok(key), Ok(value));
            let scope = scope.with(found.names[0], &key);
            let scope = scope.with(found.names[1], &value);
            if !filter.map_or(Ok(true), |filter| self.truth(filter, &scope))? {
                continue;
            }
            let value = self.eval(body, &scope)?;
            if found.kind == MacroKind::TransformList {
                list.push(value);
            } else {
                map.insert(name, value);
            }
        }
        Ok(match found.kind {
            MacroKind::TransformList => Value::List(Arc::new(list)),
            _ => Value::Map(Map { map: Arc::new(map) }),
        })
    }

    fn sort_by(&self, name: &str, range: &Value, body: &Expression, scope: &Scope) -> Answer {
        let mut keyed = Vec::new();
        for element in elements(range)? {
            let key = self.eval(body, &scope.with(name, &Ok(element.clone())))?;
            keyed.push((key, element));
        }
        let first = keyed.first().map(|(key, _)| key.clone());
        if let Some(first) = first
            && keyed.iter().any(|(key, _)| first.partial_cmp(key).is_none())
        {
            return Err(no_overload());
        }
        self.pay(keyed.len() * (keyed.len().max(1).ilog2() as usize + 1))?;
        keyed.sort_by(|(one, _), (other, _)| one.partial_cmp(other).unwrap_or(std::cmp::Ordering::Equal));
        Ok(Value::List(Arc::new(keyed.into_iter().map(|(_, element)| element).collect())))
    }
}

/// Index and element of a list, key and value of a map.
fn pairs(range: &Value) -> Result<Vec<(Value, Value)>, Fault> {
    match range {
        Value::List(list) => Ok(list
            .iter()
            .enumerate()
            .map(|(index, value)| (Value::Int(index as i64), value.clone()))
            .collect()),
        Value::Map(map) => {
            Ok(sorted(map).into_iter().map(|(key, value)| (Value::from(key), value.clone())).collect())
        }
        _ => Err(no_overload()),
    }
}
