//! A tool without its types, as the server keeps it: what is listed, and how it is run.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use rmcp::model::{JsonObject, Tool as Listed, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{Call, Hints, Stop, Tool};
use crate::Error;

/// The argument that names the session.
pub const SESSION: &str = "session_id";

type Run = for<'a> fn(&'a Call<'a>, Map<String, Value>) -> BoxFuture<'a, Result<Value, Stop>>;

/// A tool without its types.
#[derive(Clone)]
pub struct Erased {
    /// What is told of it.
    pub listed: Listed,
    /// Whether it works in a session.
    pub in_session: bool,
    /// What a client may expect of it.
    pub hints: Hints,
    /// The argument that names the application which it begins to build or to start.
    pub begins: Option<&'static str>,
    run: Run,
}

impl Erased {
    /// A tool without its types.
    pub fn of<T: Tool>() -> Self {
        let mut input = schema::<T::Input>();
        if T::IN_SESSION {
            name_session(&mut input);
        }
        let hints = ToolAnnotations::from_raw(
            None,
            Some(T::HINTS.read_only),
            Some(T::HINTS.destructive),
            Some(T::HINTS.idempotent),
            Some(T::HINTS.open_world),
        );
        let mut listed = Listed::new(T::NAME, T::DESCRIPTION, Arc::new(input));
        listed.title = Some(T::TITLE.into());
        let mut output = schema::<T::Output>();
        output.values_mut().for_each(silence);
        listed.output_schema = Some(Arc::new(output));
        listed.annotations = Some(hints);
        Self { listed, in_session: T::IN_SESSION, hints: T::HINTS, begins: T::BEGINS, run: run::<T> }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.listed.name
    }

    /// Arguments that it does not take, each with those that it does.
    pub fn check(&self, arguments: &Map<String, Value>) -> Result<(), Error> {
        let known = self.listed.input_schema.get("properties").and_then(Value::as_object);
        let known: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        let unknown: Vec<&str> =
            arguments.keys().map(String::as_str).filter(|name| !known.contains(name)).collect();
        match unknown.as_slice() {
            [] => Ok(()),
            names => Err(Error::invalid(
                "arguments",
                format!("{} takes no {}; it takes: {}", self.name(), names.join(", "), known.join(", ")),
            )),
        }
    }

    /// Runs it. The session's argument has been taken out.
    pub fn run<'a>(
        &self,
        call: &'a Call<'a>,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Value, Stop>> {
        (self.run)(call, arguments)
    }
}

fn run<'a, T: Tool>(call: &'a Call<'a>, arguments: Map<String, Value>) -> BoxFuture<'a, Result<Value, Stop>> {
    async move {
        let input: T::Input = serde_json::from_value(Value::Object(arguments))
            .map_err(|error| Error::invalid("arguments", error.to_string()))?;
        let output = T::run(call, input).await?;
        serde_json::to_value(output).map_err(|error| Error::Internal(error.to_string()).into())
    }
    .boxed()
}

/// The schema of a type, without what no client needs: every byte is sent to every agent.
fn schema<T: JsonSchema>() -> JsonObject {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = match schema.to_value() {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    schema.remove("description");
    schema.entry("type").or_insert_with(|| "object".into());
    let mut schema = Value::Object(schema);
    slim(&mut schema);
    match schema {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Takes out titles, formats and bounds that say no more than the type, and that an argument may be left out: `required`
/// says so.
fn slim(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            // A property may be called `title`; what is called so by the generator is a text.
            fields.retain(|key, value| match key.as_str() {
                "title" | "format" => !value.is_string(),
                "default" => !value.is_null(),
                "minimum" => *value != 0,
                _ => true,
            });
            if let Some(Value::Array(types)) = fields.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    fields.insert("type".into(), only);
                }
            }
            fields.values_mut().for_each(slim);
        }
        Value::Array(items) => items.iter_mut().for_each(slim),
        _ => {}
    }
}

/// Takes out what fields mean: the names of what is answered say it.
fn silence(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|key, value| key != "description" || !value.is_string());
            fields.values_mut().for_each(silence);
        }
        Value::Array(items) => items.iter_mut().for_each(silence),
        _ => {}
    }
}

fn name_session(input: &mut JsonObject) {
    let properties = input.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        let own = std::mem::take(properties);
        properties.insert(SESSION.into(), json!({ "type": "string", "description": "From register" }));
        properties.extend(own);
    }
    let required = input.entry("required").or_insert_with(|| json!([]));
    if let Some(required) = required.as_array_mut() {
        required.insert(0, SESSION.into());
    }
}
