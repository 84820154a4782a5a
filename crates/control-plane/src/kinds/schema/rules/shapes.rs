//! What can be known of an expression before it is asked: names that exist, types that cannot fit.

use std::sync::Arc;

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr, operators,
};
use kube_cel::cel::parser::Expression;

use super::calls::{is_binary, qualifier};
use super::eval::type_named;
use super::{library, macros, values};
use crate::kinds::schema::{Additional, MAX_DEPTH, Schema, Type};

/// What an expression may speak of.
pub(super) struct Scope<'a> {
    pub(super) schema: &'a Arc<Schema>,
    pub(super) resource: bool,
    pub(super) optional_old: bool,
}

/// What is known of a value.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// Nothing.
    Any,
    /// A value of the object; true at the root of a resource.
    Of(Arc<Schema>, bool),
    /// A scalar, by the name rules give its type.
    Scalar(&'static str),
    /// A list, map, optional or anything else that is no scalar.
    Other,
}

impl Shape {
    pub(super) fn may_be_bool(&self) -> bool {
        self.scalar().is_none_or(|name| name == "bool") && !self.composite()
    }

    pub(super) fn may_be_text(&self) -> bool {
        self.scalar().is_none_or(|name| name == "string") && !self.composite()
    }

    fn composite(&self) -> bool {
        match self {
            Self::Other => true,
            Self::Of(schema, _) => matches!(schema.kind, Some(Type::Object | Type::Array)),
            Self::Any | Self::Scalar(_) => false,
        }
    }

    fn scalar(&self) -> Option<&'static str> {
        match self {
            Self::Scalar(name) => Some(name),
            Self::Of(schema, _) if !schema.int_or_string => {
                let format = schema.checks.as_ref().and_then(|checks| checks.format.as_deref());
                match (schema.kind?, format) {
                    (Type::Boolean, _) => Some("bool"),
                    (Type::Integer, _) => Some("int"),
                    (Type::Number, _) => Some("double"),
                    (Type::String, Some("byte" | "date" | "date-time" | "datetime" | "duration")) => None,
                    (Type::String, _) => Some("string"),
                    (Type::Object | Type::Array, _) => None,
                }
            }
            Self::Any | Self::Of(..) | Self::Other => None,
        }
    }
}

/// The shape of an expression, or why it cannot be asked.
pub(super) fn infer(expression: &Expression, scope: &Scope) -> Result<Shape, String> {
    let own = Shape::Of(scope.schema.clone(), scope.resource);
    let old = if scope.optional_old { Shape::Any } else { own.clone() };
    let mut names = Names { bound: vec![("self".into(), own), ("oldSelf".into(), old)] };
    names.infer(expression)
}

struct Names {
    bound: Vec<(String, Shape)>,
}

impl Names {
    fn find(&self, name: &str) -> Option<&Shape> {
        self.bound.iter().rev().find(|(known, _)| known == name).map(|(_, shape)| shape)
    }

    fn infer(&mut self, expression: &Expression) -> Result<Shape, String> {
        match &expression.expr {
            Expr::Literal(literal) => Ok(literal_shape(literal)),
            Expr::Ident(name) => match self.find(name) {
                Some(shape) => Ok(shape.clone()),
                None if type_named(name).is_some() => Ok(Shape::Other),
                None => Err(undeclared(name)),
            },
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::List(list) => {
                for element in &list.elements {
                    self.infer(element)?;
                }
                Ok(Shape::Other)
            }
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.infer(&entry.key)?;
                        self.infer(&entry.value)?;
                    }
                }
                Ok(Shape::Other)
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Struct(found) => Err(undeclared(&found.type_name)),
            Expr::Unspecified => Err("unexpected end of expression".into()),
        }
    }

    fn select(&mut self, select: &SelectExpr) -> Result<Shape, String> {
        let operand = self.infer(&select.operand)?;
        let field = self.field(&operand, &select.field)?;
        Ok(if select.test { Shape::Scalar("bool") } else { field })
    }

    fn field(&self, operand: &Shape, name: &str) -> Result<Shape, String> {
        let undefined = || Err(format!("undefined field '{name}'"));
        match operand {
            Shape::Any | Shape::Other => Ok(Shape::Any),
            Shape::Scalar(kind) => Err(format!("type '{kind}' does not support field selection")),
            Shape::Of(schema, resource) => {
                if *resource && matches!(name, "apiVersion" | "kind") {
                    return Ok(Shape::Scalar("string"));
                }
                if *resource && name == "metadata" {
                    return Ok(Shape::Of(metadata(), false));
                }
                if let Some(kind) = operand.scalar() {
                    return Err(format!("type '{kind}' does not support field selection"));
                }
                let declared = schema
                    .properties
                    .iter()
                    .find(|(field, _)| values::escaped(field).as_deref() == Some(name));
                match (declared, &schema.additional) {
                    (Some((_, field)), _) => Ok(Shape::Of(field.clone(), field.embedded)),
                    (None, Additional::Map(field)) => Ok(Shape::Of(field.clone(), field.embedded)),
                    (None, _) if schema.kind == Some(Type::Object) => undefined(),
                    (None, _) => Ok(Shape::Any),
                }
            }
        }
    }

    fn element(&self, range: &Shape) -> Shape {
        match range {
            Shape::Of(schema, _) => match (&schema.items, &schema.additional) {
                (Some(items), _) => Shape::Of(items.clone(), items.embedded),
                (None, Additional::Map(values)) => Shape::Of(values.clone(), values.embedded),
                (None, Additional::Any | Additional::Closed) => Shape::Any,
            },
            Shape::Any | Shape::Scalar(_) | Shape::Other => Shape::Any,
        }
    }

    fn call(&mut self, call: &CallExpr) -> Result<Shape, String> {
        if let Some(found) = macros::recognized(call) {
            return self.macro_call(&found);
        }
        let name = call.func_name.as_str();
        let qualified =
            qualifier(call, |name| self.find(name).is_some()).map(|prefix| format!("{prefix}.{name}"));
        if let (Some(target), None) = (&call.target, &qualified) {
            self.infer(target)?;
        }
        let arguments = call.args.iter().map(|one| self.infer(one)).collect::<Result<Vec<_>, _>>()?;
        match (name, arguments.as_slice()) {
            (operators::INDEX, [operand, _]) => Ok(self.element(operand)),
            (operators::OPT_INDEX | operators::OPT_SELECT, _) => Ok(Shape::Any),
            (operators::CONDITIONAL, [_, yes, no]) => {
                Ok(if yes.scalar() == no.scalar() { yes.clone() } else { Shape::Any })
            }
            (operators::LOGICAL_NOT | operators::LOGICAL_AND | operators::LOGICAL_OR, sides) => {
                match sides.iter().find(|side| !side.may_be_bool()) {
                    None => Ok(Shape::Scalar("bool")),
                    Some(_) => Err(unmatched(name, sides)),
                }
            }
            (operators::NOT_STRICTLY_FALSE, _) => Ok(Shape::Scalar("bool")),
            (operators::NEGATE, [one]) => Ok(one.scalar().map_or(Shape::Any, Shape::Scalar)),
            (operator, [left, right]) if call.target.is_none() && is_binary(operator) => {
                binary(operator, left, right)
            }
            _ => {
                let full = qualified.as_deref().unwrap_or(name);
                if native(full) || library::knows(full) { Ok(returned(full)) } else { Err(undeclared(full)) }
            }
        }
    }

    fn macro_call(&mut self, found: &macros::Macro) -> Result<Shape, String> {
        use macros::MacroKind::*;
        let range = self.infer(found.range)?;
        let depth = self.bound.len();
        for (place, name) in found.names.iter().enumerate() {
            let shape = match (found.kind, place) {
                (Bind, _) => range.clone(),
                (SortBy, _) => self.element(&range),
                (All | Exists | ExistsOne | TransformList | TransformMap, 1) => self.element(&range),
                _ => Shape::Any,
            };
            self.bound.push(((*name).to_owned(), shape));
        }
        let bodies = found.bodies.iter().map(|body| self.infer(body)).collect::<Result<Vec<_>, _>>();
        self.bound.truncate(depth);
        let body = bodies?.pop().unwrap_or(Shape::Any);
        Ok(match found.kind {
            Bind => body,
            All | Exists | ExistsOne => Shape::Scalar("bool"),
            SortBy | TransformList | TransformMap | OptMap => Shape::Other,
            OptFlatMap => Shape::Any,
        })
    }

    fn comprehension(&mut self, comprehension: &ComprehensionExpr) -> Result<Shape, String> {
        let range = self.infer(&comprehension.iter_range)?;
        if let Some(kind) = range.scalar() {
            return Err(format!(
                "expression of type '{kind}' cannot be range of a comprehension (must be list, map, or dynamic)"
            ));
        }
        let is_map = matches!(&range, Shape::Of(schema, _) if schema.kind == Some(Type::Object));
        let element = if is_map { Shape::Scalar("string") } else { self.element(&range) };
        let start = self.infer(&comprehension.accu_init)?;
        let depth = self.bound.len();
        self.bound.push((comprehension.accu_var.clone(), start));
        self.bound.push((comprehension.iter_var.clone(), element));
        let step = self.infer(&comprehension.loop_cond).and_then(|_| self.infer(&comprehension.loop_step));
        let result = step.and_then(|_| self.infer(&comprehension.result));
        self.bound.truncate(depth);
        result
    }
}

fn literal_shape(literal: &LiteralValue) -> Shape {
    match literal {
        LiteralValue::Boolean(_) => Shape::Scalar("bool"),
        LiteralValue::Double(_) => Shape::Scalar("double"),
        LiteralValue::Int(_) => Shape::Scalar("int"),
        LiteralValue::String(_) => Shape::Scalar("string"),
        LiteralValue::UInt(_) => Shape::Scalar("uint"),
        LiteralValue::Bytes(_) => Shape::Other,
        LiteralValue::Null => Shape::Any,
    }
}

fn binary(operator: &str, left: &Shape, right: &Shape) -> Result<Shape, String> {
    let differ = match (left.scalar(), right.scalar()) {
        (Some(left), Some(right)) => left != right,
        (Some(_), None) => right.composite(),
        (None, Some(_)) => left.composite(),
        (None, None) => false,
    };
    match operator {
        operators::IN => Ok(Shape::Scalar("bool")),
        operators::ADD
        | operators::SUBSTRACT
        | operators::MULTIPLY
        | operators::DIVIDE
        | operators::MODULO => {
            if differ {
                return Err(unmatched(operator, &[left.clone(), right.clone()]));
            }
            let known = left.scalar().or(right.scalar());
            Ok(known.map_or_else(|| if left.composite() { Shape::Other } else { Shape::Any }, Shape::Scalar))
        }
        // Numbers of different types have an order, but are never declared equal.
        operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS
            if numeric(left) && numeric(right) =>
        {
            Ok(Shape::Scalar("bool"))
        }
        _ if differ => Err(unmatched(operator, &[left.clone(), right.clone()])),
        _ => Ok(Shape::Scalar("bool")),
    }
}

fn numeric(shape: &Shape) -> bool {
    matches!(shape.scalar(), Some("int" | "uint" | "double"))
}

fn unmatched(operator: &str, sides: &[Shape]) -> String {
    let name = |side: &Shape| match side {
        Shape::Of(schema, _) if schema.kind == Some(Type::Array) => "list",
        Shape::Of(schema, _) if schema.kind == Some(Type::Object) => "object",
        Shape::Other => "list",
        other => other.scalar().unwrap_or("dyn"),
    };
    let sides: Vec<_> = sides.iter().map(name).collect();
    format!("found no matching overload for '{operator}' applied to '({})'", sides.join(", "))
}

fn undeclared(name: &str) -> String {
    format!("undeclared reference to '{name}' (in container '')")
}

/// Functions that are ours and not the library's.
fn native(name: &str) -> bool {
    matches!(
        name,
        "type"
            | "dyn"
            | "size"
            | "contains"
            | "startsWith"
            | "endsWith"
            | "matches"
            | "hasValue"
            | "value"
            | "or"
            | "orValue"
    ) || name.starts_with("optional.")
}

/// The type a function gives, for those that rules end with most.
fn returned(name: &str) -> Shape {
    match name {
        "size" | "int" | "indexOf" | "lastIndexOf" | "compareTo" => Shape::Scalar("int"),
        "string" | "format" | "lowerAscii" | "upperAscii" | "trim" | "replace" | "substring" | "join"
        | "charAt" => Shape::Scalar("string"),
        "double" => Shape::Scalar("double"),
        "uint" => Shape::Scalar("uint"),
        "contains" | "startsWith" | "endsWith" | "matches" | "hasValue" | "isSorted" | "isURL" | "isIP"
        | "isCIDR" | "isQuantity" | "isSemver" => Shape::Scalar("bool"),
        "duration" | "timestamp" | "quantity" | "url" | "ip" | "cidr" | "semver" | "split" | "type" => {
            Shape::Other
        }
        _ => Shape::Any,
    }
}

fn metadata() -> Arc<Schema> {
    let text = || Arc::new(Schema { kind: Some(Type::String), ..Schema::default() });
    let properties = ["name", "generateName"].into_iter().map(|name| (name.to_owned(), text())).collect();
    Arc::new(Schema { kind: Some(Type::Object), properties, ..Schema::default() })
}

/// How deep an expression nests; counting stops where the answer no longer matters.
pub(super) fn depth(expression: &Expression) -> usize {
    let mut deepest = 0;
    let mut open = vec![(expression, 1)];
    while let Some((here, depth)) = open.pop() {
        deepest = deepest.max(depth);
        if depth > MAX_DEPTH * 16 {
            break;
        }
        match &here.expr {
            Expr::Call(call) => {
                open.extend(call.target.as_deref().into_iter().chain(&call.args).map(|one| (one, depth + 1)))
            }
            Expr::Comprehension(inner) => {
                let parts =
                    [&inner.iter_range, &inner.accu_init, &inner.loop_cond, &inner.loop_step, &inner.result];
                open.extend(parts.map(|part| (part, depth + 1)));
            }
            Expr::List(list) => open.extend(list.elements.iter().map(|one| (one, depth + 1))),
            Expr::Map(map) => open.extend(map.entries.iter().flat_map(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => vec![(&entry.key, depth + 1), (&entry.value, depth + 1)],
                EntryExpr::StructField(field) => vec![(&field.value, depth + 1)],
            })),
            Expr::Select(select) => open.push((&select.operand, depth + 1)),
            Expr::Struct(_) | Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
        }
    }
    deepest
}
