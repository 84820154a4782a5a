//! The published definitions: packed in the binary, unpacked when asked for, compiled once per definition.
//! The shapes stay unpacked, as they are small; the prose, four times as long, does not.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, LazyLock};

use flate2::bufread::GzDecoder;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::kinds::schema::{Additional, PatchStrategy, Schema};

/// Made by `cargo xtask builtins`; README.md beside it says from what.
static PACKED: &[u8] = include_bytes!("definitions.json.gz");

/// Prefix of a reference from one definition to another.
const REFERENCE: &str = "#/definitions/";

static SHAPES: LazyLock<Definitions> = LazyLock::new(Definitions::shapes);

static COMPILED: LazyLock<Mutex<HashMap<String, Arc<Schema>>>> = LazyLock::new(Mutex::default);

/// The compiled schema of a definition: made on first use, shared afterwards, without descriptions.
/// A name that is not in the data file gives a schema that allows anything.
pub fn schema(definition: &str) -> Arc<Schema> {
    let mut compiled = COMPILED.lock();
    if let Some(found) = compiled.get(definition) {
        return found.clone();
    }
    Compiler { definitions: &SHAPES, compiled: &mut compiled, open: Vec::new() }.definition(definition)
}

/// The schema of `metadata`, for kinds that bring none of their own.
pub fn object_meta() -> Arc<Schema> {
    schema("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
}

/// The unpacked data file, or its first half.
pub(in crate::kinds) struct Definitions {
    shapes: Vec<String>,
    prose: Vec<String>,
}

impl Definitions {
    /// Shapes only: what schemas are compiled from.
    fn shapes() -> Self {
        let mut reader = BufReader::new(GzDecoder::new(PACKED));
        let mut shapes = Vec::new();
        let mut line = String::new();
        while reader.read_line(&mut line).is_ok_and(|length| length > 1) {
            shapes.push(std::mem::take(&mut line));
        }
        Self { shapes, prose: Vec::new() }
    }

    /// Shapes and descriptions: what people are shown.
    pub(in crate::kinds) fn described() -> Self {
        let mut text = String::new();
        // The bytes are part of the binary: a test reads them to the end.
        let _read = GzDecoder::new(PACKED).read_to_string(&mut text);
        let (shapes, prose) = text.split_once("\n\n").unwrap_or_default();
        let lines = |text: &str| text.lines().map(str::to_owned).collect();
        Self { shapes: lines(shapes), prose: lines(prose) }
    }

    /// One definition, with its descriptions if they are unpacked.
    pub(in crate::kinds) fn get(&self, name: &str) -> Option<Value> {
        let key = |line: &str| line.find('\t').unwrap_or(line.len());
        let place = self.shapes.binary_search_by(|line| line[..key(line)].cmp(name)).ok()?;
        let (_, text) = self.shapes[place].split_once('\t')?;
        let mut definition: Value = serde_json::from_str(text).ok()?;
        if let Some(Ok(Value::Array(prose))) = self.prose.get(place).map(|line| serde_json::from_str(line)) {
            describe(&mut definition, &mut prose.into_iter());
        }
        Some(definition)
    }
}

/// Puts descriptions back, in the order the generator took them out.
fn describe(node: &mut Value, prose: &mut impl Iterator<Item = Value>) {
    let Some(map) = node.as_object_mut() else { return };
    if let Some(text @ Value::String(_)) = prose.next() {
        map.shift_insert(0, "description".into(), text);
    }
    if let Some(properties) = map.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(|child| describe(child, prose));
    }
    for word in ["items", "additionalProperties"] {
        if let Some(child) = map.get_mut(word) {
            describe(child, prose);
        }
    }
}

/// One walk over the definitions.
struct Compiler<'a> {
    definitions: &'a Definitions,
    compiled: &'a mut HashMap<String, Arc<Schema>>,
    /// Definitions whose compilation has begun: meeting one again is a cycle.
    open: Vec<String>,
}

impl Compiler<'_> {
    fn definition(&mut self, name: &str) -> Arc<Schema> {
        if let Some(found) = self.compiled.get(name) {
            return found.clone();
        }
        let known = self.definitions.get(name).filter(|_| !self.open.iter().any(|open| open == name));
        let Some(node) = known else { return Arc::new(anything()) };
        self.open.push(name.to_owned());
        let mut schema = (*self.node(&node)).clone();
        self.open.pop();
        // Numbers are quantities too; what counts as one is asked where values are checked.
        if name.ends_with(".Quantity") || schema.int_or_string {
            schema.kind = None;
        }
        let schema = Arc::new(schema);
        self.compiled.insert(name.to_owned(), schema.clone());
        schema
    }

    fn node(&mut self, node: &Value) -> Arc<Schema> {
        let Some(map) = node.as_object() else { return Arc::new(anything()) };
        if let Some(target) = map.get("$ref").and_then(Value::as_str) {
            return self.reference(target.trim_start_matches(REFERENCE), map);
        }
        let branches = ["properties", "items", "additionalProperties"];
        if !branches.iter().any(|word| map.contains_key(*word)) {
            return self.leaf(node);
        }
        let trunk: Map<String, Value> = map
            .iter()
            .filter(|(word, _)| !branches.contains(&word.as_str()))
            .map(|(w, v)| (w.clone(), v.clone()))
            .collect();
        let mut schema = Schema::parse(&Value::Object(trunk));
        if let Some(properties) = map.get("properties").and_then(Value::as_object) {
            schema.properties =
                properties.iter().map(|(name, child)| (name.clone(), self.node(child))).collect();
        }
        schema.items = map.get("items").map(|items| self.node(items));
        if let Some(values) = map.get("additionalProperties") {
            schema.additional = Additional::Map(self.node(values));
        }
        Arc::new(schema)
    }

    /// A field may say how its definition is merged here.
    fn reference(&mut self, name: &str, field: &Map<String, Value>) -> Arc<Schema> {
        let target = self.definition(name);
        let here = Schema::parse(&Value::Object(field.clone()));
        if here.patch == PatchStrategy::default() && !here.atomic_map && here.default.is_none() {
            return target;
        }
        let mut schema = (*target).clone();
        schema.patch = here.patch;
        schema.atomic_map |= here.atomic_map;
        schema.default = here.default.or(schema.default);
        Arc::new(schema)
    }

    /// Most leaves are alike, so they are shared.
    fn leaf(&mut self, node: &Value) -> Arc<Schema> {
        let text = node.to_string();
        if let Some(found) = self.compiled.get(&text) {
            return found.clone();
        }
        let mut schema = Schema::parse(node);
        // A bare object (RawExtension, FieldsV1) or a bare node (JSON) holds whatever it is given.
        if node.get("type").is_none_or(|kind| kind == "object") {
            schema.preserve_unknown = true;
            schema.additional = Additional::Any;
        }
        let schema = Arc::new(schema);
        self.compiled.insert(text, schema.clone());
        schema
    }
}

/// Where definitions would go in circles (JSONSchemaProps), anything is let through.
fn anything() -> Schema {
    Schema { preserve_unknown: true, additional: Additional::Any, ..Schema::default() }
}
