//! The functions rules may call, borrowed from `kube-cel`.

use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr};
use kube_cel::cel::objects::OptionalValue;
use kube_cel::cel::{Context, ExecutionError, Value};

thread_local! {
    static LIBRARY: Context<'static> = Context::default().with_all();
}

/// Calls a function by name. The message of a failure is in the words the original uses.
pub(super) fn call(name: &str, target: Option<Value>, arguments: Vec<Value>) -> Result<Value, String> {
    if target.iter().chain(&arguments).any(|value| !portable(value)) {
        return Err(NO_OVERLOAD.into());
    }
    LIBRARY.with(|library| {
        let mut scope = library.new_inner_scope();
        let ident = |name: &str| IdedExpr { id: 0, expr: Expr::Ident(name.to_owned()) };
        let target = target.map(|value| {
            scope.add_variable_from_value("target", value);
            Box::new(ident("target"))
        });
        let mut args = Vec::with_capacity(arguments.len());
        for (index, value) in arguments.into_iter().enumerate() {
            let name = format!("argument{index}");
            scope.add_variable_from_value(name.as_str(), value);
            args.push(ident(&name));
        }
        let call =
            IdedExpr { id: 0, expr: Expr::Call(CallExpr { func_name: name.to_owned(), target, args }) };
        Value::resolve(&call, &scope).map_err(|error| told(&error))
    })
}

/// What an operator or function says when it does not take such values.
pub(super) const NO_OVERLOAD: &str = "no such overload";

/// Whether the library has a function of that name.
pub(super) fn knows(name: &str) -> bool {
    let call = CallExpr { func_name: name.to_owned(), target: None, args: Vec::new() };
    let call = IdedExpr { id: 0, expr: Expr::Call(call) };
    let unknown = |error: &ExecutionError| matches!(error, ExecutionError::UndeclaredReference(what) if ***what == *name);
    LIBRARY.with(|library| !matches!(Value::resolve(&call, library), Err(error) if unknown(&error)))
}

/// The library cannot carry types or optionals; those are ours.
fn portable(value: &Value) -> bool {
    match value {
        Value::Function(..) => false,
        Value::Opaque(opaque) => opaque.downcast_ref::<OptionalValue>().is_none(),
        Value::List(list) => list.iter().all(portable),
        Value::Map(map) => map.map.values().all(portable),
        _ => true,
    }
}

/// An error in the original's words.
pub(super) fn told(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::DivisionByZero(_) => "division by zero".into(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".into(),
        ExecutionError::Overflow(..) => "integer overflow".into(),
        ExecutionError::FunctionError { message, .. } => message.clone(),
        ExecutionError::UndeclaredReference(name) => format!("undeclared reference to '{name}'"),
        ExecutionError::IndexOutOfBounds(Value::Int(index)) => format!("index out of bounds: {index}"),
        _ => NO_OVERLOAD.into(),
    }
}
