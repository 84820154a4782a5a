//! Operators and functions.

use std::cmp::Ordering;

use kube_cel::cel::Value;
use kube_cel::cel::common::ast::{CallExpr, Expr, operators};
use kube_cel::cel::parser::Expression;

use super::eval::{Answer, Fault, Machine, Scope, as_key, lookup, no_overload, optional, some, type_named};
use super::library;

impl Machine {
    pub(super) fn call(&self, call: &CallExpr, scope: &Scope) -> Answer {
        match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::CONDITIONAL, [condition, yes, no]) => {
                self.eval(if self.truth(condition, scope)? { yes } else { no }, scope)
            }
            (operators::LOGICAL_AND, [left, right]) => self.both(left, right, scope, false),
            (operators::LOGICAL_OR, [left, right]) => self.both(left, right, scope, true),
            (operators::LOGICAL_NOT, [one]) => Ok(Value::Bool(!self.truth(one, scope)?)),
            (operators::NOT_STRICTLY_FALSE, [one]) => match self.truth(one, scope) {
                Err(Fault::Spent) => Err(Fault::Spent),
                answer => Ok(Value::Bool(answer.unwrap_or(true))),
            },
            (operators::INDEX, [operand, key]) => {
                self.index(&self.eval(operand, scope)?, &self.eval(key, scope)?, false)
            }
            (operators::OPT_INDEX | operators::OPT_SELECT, [operand, key]) => {
                self.index(&self.eval(operand, scope)?, &self.eval(key, scope)?, true)
            }
            (operators::NEGATE, [one]) => negated(self.eval(one, scope)?),
            (operator, [left, right]) if call.target.is_none() && is_binary(operator) => {
                self.binary(operator, self.eval(left, scope)?, self.eval(right, scope)?)
            }
            _ => match self.macros(call, scope) {
                Some(answer) => answer,
                None => self.function(call, scope),
            },
        }
    }

    /// `&&` and `||`: one side that decides is enough, whatever became of the other.
    fn both(&self, left: &Expression, right: &Expression, scope: &Scope, decides: bool) -> Answer {
        let left = self.truth(left, scope);
        if let Err(Fault::Spent) = left {
            return Err(Fault::Spent);
        }
        if matches!(left, Ok(flag) if flag == decides) {
            return Ok(Value::Bool(decides));
        }
        match (left, self.truth(right, scope)) {
            (_, Err(Fault::Spent)) => Err(Fault::Spent),
            (_, Ok(flag)) if flag == decides => Ok(Value::Bool(decides)),
            (Err(fault), _) | (Ok(_), Err(fault)) => Err(fault),
            (Ok(_), Ok(_)) => Ok(Value::Bool(!decides)),
        }
    }

    fn binary(&self, operator: &str, left: Value, right: Value) -> Answer {
        let ordered = |wanted: &[Ordering]| {
            let order = compare(&left, &right).ok_or_else(no_overload)?;
            Ok(Value::Bool(wanted.contains(&order)))
        };
        let told = |result: Result<Value, _>| result.map_err(|error| Fault::Failed(library::told(&error)));
        match operator {
            operators::EQUALS | operators::NOT_EQUALS => {
                self.weigh(&left)?;
                Ok(Value::Bool((left == right) == (operator == operators::EQUALS)))
            }
            operators::LESS => ordered(&[Ordering::Less]),
            operators::LESS_EQUALS => ordered(&[Ordering::Less, Ordering::Equal]),
            operators::GREATER => ordered(&[Ordering::Greater]),
            operators::GREATER_EQUALS => ordered(&[Ordering::Greater, Ordering::Equal]),
            operators::IN => self.contains(&left, &right),
            operators::ADD => {
                self.pay(flat_size(&left) + flat_size(&right))?;
                told(left + right)
            }
            operators::SUBSTRACT => told(left - right),
            operators::MULTIPLY => told(left * right),
            operators::DIVIDE => told(left / right),
            operators::MODULO => told(left % right),
            _ => Err(no_overload()),
        }
    }

    fn contains(&self, needle: &Value, hay: &Value) -> Answer {
        match hay {
            Value::List(list) => {
                for element in list.iter() {
                    self.weigh(element)?;
                    if element == needle {
                        return Ok(Value::Bool(true));
                    }
                }
                Ok(Value::Bool(false))
            }
            Value::Map(map) => Ok(Value::Bool(as_key(needle).is_some() && lookup(map, needle).is_some())),
            _ => Err(no_overload()),
        }
    }

    fn function(&self, call: &CallExpr, scope: &Scope) -> Answer {
        let name = call.func_name.as_str();
        let qualified =
            qualifier(call, |name| scope.find(name).is_some()).map(|prefix| format!("{prefix}.{name}"));
        let target = match (&call.target, &qualified) {
            (Some(target), None) => Some(self.eval(target, scope)?),
            _ => None,
        };
        let arguments = call.args.iter().map(|one| self.eval(one, scope)).collect::<Result<Vec<_>, _>>()?;
        if let Some(answer) = self.native(qualified.as_deref().unwrap_or(name), target.as_ref(), &arguments) {
            return answer;
        }
        target.iter().chain(&arguments).try_for_each(|value| self.weigh(value))?;
        let answer = library::call(qualified.as_deref().unwrap_or(name), target, arguments)?;
        self.weigh(&answer)?;
        Ok(answer)
    }

    /// What the library does not have, does wrong, or does slower.
    fn native(&self, name: &str, target: Option<&Value>, arguments: &[Value]) -> Option<Answer> {
        let answer = match (name, target, arguments) {
            ("size", Some(value), []) | ("size", None, [value]) => self.size(value),
            ("contains", Some(Value::String(text)), [Value::String(part)]) => {
                self.pay(1 + text.len() / 10).map(|()| Value::Bool(text.contains(part.as_str())))
            }
            ("startsWith", Some(Value::String(text)), [Value::String(part)]) => {
                Ok(Value::Bool(text.starts_with(part.as_str())))
            }
            ("endsWith", Some(Value::String(text)), [Value::String(part)]) => {
                Ok(Value::Bool(text.ends_with(part.as_str())))
            }
            ("matches", Some(Value::String(text)), [Value::String(pattern)])
            | ("matches", None, [Value::String(text), Value::String(pattern)]) => {
                self.matches(text, pattern).map(Value::Bool)
            }
            ("find" | "findAll", _, _) => return self.pattern_cost(target, arguments),
            ("dyn", None, [value]) => Ok(value.clone()),
            ("type", None, [value]) => Ok(type_of(value)),
            ("optional.none", None, []) => Ok(some(None)),
            ("optional.of", None, [value]) => Ok(some(Some(value.clone()))),
            ("optional.ofNonZeroValue", None, [value]) => {
                Ok(some(Some(value.clone()).filter(|value| !value.is_zero())))
            }
            ("hasValue", Some(value), []) => {
                optional(value).map(|inner| Value::Bool(inner.is_some())).ok_or_else(no_overload)
            }
            ("value", Some(value), []) => match optional(value) {
                Some(inner) => {
                    inner.cloned().ok_or_else(|| Fault::Failed("optional.none() dereference".into()))
                }
                None => Err(no_overload()),
            },
            ("orValue", Some(value), [other]) => match optional(value) {
                Some(inner) => Ok(inner.unwrap_or(other).clone()),
                None => Err(no_overload()),
            },
            ("or", Some(value), [other]) => match optional(value) {
                Some(Some(_)) => Ok(value.clone()),
                Some(None) => Ok(other.clone()),
                None => Err(no_overload()),
            },
            _ => return None,
        };
        Some(answer)
    }

    fn size(&self, value: &Value) -> Answer {
        let size = match value {
            Value::String(text) => {
                self.pay(1 + text.len() / 10)?;
                text.chars().count()
            }
            Value::Bytes(bytes) => bytes.len(),
            Value::List(list) => list.len(),
            Value::Map(map) => map.map.len(),
            _ => return Err(no_overload()),
        };
        Ok(Value::Int(size as i64))
    }

    /// Pays for a pattern that the library compiles anew at each call.
    fn pattern_cost(&self, target: Option<&Value>, arguments: &[Value]) -> Option<Answer> {
        let letters = target.iter().copied().chain(arguments).map(flat_size).sum::<usize>();
        self.pay(1000 + letters * 10).err().map(Err)
    }
}

/// `sets` in `sets.contains(a, b)`: a name that stands for no value.
pub(super) fn qualifier(call: &CallExpr, bound: impl Fn(&str) -> bool) -> Option<&str> {
    match &call.target.as_ref()?.expr {
        Expr::Ident(name) if !bound(name) && type_named(name).is_none() => Some(name),
        _ => None,
    }
}

pub(super) fn is_binary(name: &str) -> bool {
    matches!(
        name,
        operators::EQUALS
            | operators::NOT_EQUALS
            | operators::LESS
            | operators::LESS_EQUALS
            | operators::GREATER
            | operators::GREATER_EQUALS
            | operators::IN
            | operators::ADD
            | operators::SUBSTRACT
            | operators::MULTIPLY
            | operators::DIVIDE
            | operators::MODULO
    )
}

fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Bytes(left), Value::Bytes(right)) => Some(left.cmp(right)),
        (Value::Null, Value::Null) => None,
        _ => left.partial_cmp(right),
    }
}

fn negated(value: Value) -> Answer {
    match value {
        Value::Int(number) => {
            number.checked_neg().map(Value::Int).ok_or_else(|| Fault::Failed("integer overflow".into()))
        }
        Value::Float(float) => Ok(Value::Float(-float)),
        Value::Duration(duration) => Ok(Value::Duration(-duration)),
        _ => Err(no_overload()),
    }
}

/// How much copying a value costs, not counting what is shared.
fn flat_size(value: &Value) -> usize {
    match value {
        Value::String(text) => 1 + text.len() / 10,
        Value::Bytes(bytes) => 1 + bytes.len() / 10,
        Value::List(list) => 1 + list.len(),
        _ => 1,
    }
}

fn type_of(value: &Value) -> Value {
    let name = match value {
        Value::Bool(_) => "bool",
        Value::Bytes(_) => "bytes",
        Value::Float(_) => "double",
        Value::Int(_) => "int",
        Value::UInt(_) => "uint",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Null => "null_type",
        Value::String(_) => "string",
        Value::Function(..) => "type",
        Value::Duration(_) => "google.protobuf.Duration",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::Opaque(opaque) => opaque.runtime_type_name(),
    };
    Value::Function(std::sync::Arc::new(name.to_owned()), None)
}
