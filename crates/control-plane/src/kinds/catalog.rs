//! Everything served at this moment: built-in kinds, and those that CustomResourceDefinitions brought.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::custom;
use super::schema::{Rules, Schema, Type};
use super::{Kind, builtin};
use crate::store::Stored;

/// One served kind with what is needed to judge its objects.
#[derive(Debug)]
pub struct Entry {
    /// Names, verbs, subresources.
    pub kind: Arc<Kind>,
    /// The schema as its CustomResourceDefinition wrote it, for the OpenAPI documents.
    pub raw_schema: Option<Arc<Value>>,
    /// Said to clients on every request, where the version is deprecated.
    pub deprecation: Option<String>,
    /// `apiVersion` in which the objects lie in the store.
    pub stored_as: String,
    typed: OnceLock<Option<Arc<Schema>>>,
    rules: OnceLock<Option<Rules>>,
}

impl Entry {
    fn builtin(kind: Kind) -> Self {
        let stored_as = match kind.storage.as_ref() {
            // Both event APIs share one place; the core shape is what lies there.
            "events" => "v1".to_owned(),
            _ => kind.api_version(),
        };
        let deprecation = (kind.storage.as_ref() == "endpoints").then(|| {
            "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice".to_owned()
        });
        Self {
            kind: Arc::new(kind),
            raw_schema: None,
            deprecation,
            stored_as,
            typed: OnceLock::new(),
            rules: OnceLock::new(),
        }
    }

    /// The CEL rules of a custom resource, compiled when its first object is judged: most kinds are never used.
    pub fn rules(&self) -> Option<&Rules> {
        // A definition whose rules do not compile was never accepted.
        let compile = || self.raw_schema.as_ref().and_then(|schema| Rules::compile(schema).ok().flatten());
        self.rules.get_or_init(compile).as_ref()
    }

    /// The shape of a whole object, `metadata` included: what merges and field ownership follow.
    pub fn typed(&self) -> Option<Arc<Schema>> {
        let build = || {
            let schema = self.kind.schema.get()?;
            if self.kind.builtin {
                return Some(schema);
            }
            let mut whole = Schema::clone(&schema);
            let text = Arc::new(Schema { kind: Some(Type::String), ..Schema::default() });
            whole.properties.insert("apiVersion".into(), text.clone());
            whole.properties.insert("kind".into(), text);
            whole.properties.insert("metadata".into(), builtin::object_meta());
            Some(Arc::new(whole))
        };
        self.typed.get_or_init(build).clone()
    }
}

/// An immutable snapshot; a change of any CustomResourceDefinition makes a new one.
#[derive(Debug, Default)]
pub struct Catalog {
    entries: Vec<Arc<Entry>>,
    by_path: HashMap<(String, String, String), Arc<Entry>>,
    /// Compiled definitions by name and revision, carried over to the next snapshot.
    compiled: HashMap<(Box<str>, u64), Vec<Arc<Entry>>>,
}

impl Catalog {
    /// The snapshot for the given definitions; those that did not change are not compiled again.
    pub fn next(&self, definitions: &[Arc<Stored>]) -> Self {
        let mut catalog = Self::default();
        let builtins: Vec<Arc<Entry>> = if self.entries.is_empty() {
            builtin::kinds().into_iter().map(|kind| Arc::new(Entry::builtin(kind))).collect()
        } else {
            self.entries.iter().filter(|entry| entry.kind.builtin).cloned().collect()
        };
        for entry in builtins {
            catalog.add(entry);
        }
        for definition in definitions {
            let id = (definition.key.name.clone(), definition.revision);
            let entries = self.compiled.get(&id).cloned().unwrap_or_else(|| compile(&definition.value()));
            for entry in &entries {
                catalog.add(entry.clone());
            }
            catalog.compiled.insert(id, entries);
        }
        catalog
    }

    fn add(&mut self, entry: Arc<Entry>) {
        let kind = &entry.kind;
        let path = (kind.group.clone(), kind.version.clone(), kind.plural.clone());
        self.by_path.insert(path, entry.clone());
        self.entries.push(entry);
    }

    /// Every served kind, built-in ones first.
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// The kind under one path.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Entry>> {
        self.by_path.get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    /// Whether anything is served under a group and version.
    pub fn serves(&self, group: &str, version: &str) -> bool {
        self.entries.iter().any(|entry| entry.kind.group == group && entry.kind.version == version)
    }

    /// The entry for what lies in one place of the store, in whichever version comes first.
    pub fn stored_in(&self, storage: &str) -> Option<&Arc<Entry>> {
        self.entries.iter().find(|entry| entry.kind.storage.as_ref() == storage)
    }

    /// The entry of an `apiVersion` and `kind`, as owner references name it.
    pub fn named(&self, api_version: &str, kind: &str) -> Option<&Arc<Entry>> {
        self.entries.iter().find(|entry| entry.kind.kind == kind && entry.kind.api_version() == api_version)
    }
}

fn established(definition: &Value) -> bool {
    let conditions = definition["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    conditions.iter().any(|c| c["type"] == "Established" && c["status"] == "True")
}

fn compile(definition: &Value) -> Vec<Arc<Entry>> {
    if !established(definition) {
        return Vec::new();
    }
    let group = definition["spec"]["group"].as_str().unwrap_or_default();
    let versions = definition["spec"]["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let storage = versions.iter().find(|version| version["storage"] == true);
    let stored_as = format!("{group}/{}", storage.and_then(|v| v["name"].as_str()).unwrap_or_default());
    let raw = |name: &str| {
        let version = versions.iter().find(|version| version["name"] == name)?;
        version.pointer("/schema/openAPIV3Schema").cloned().map(Arc::new)
    };
    let entry = |custom: custom::Custom| {
        Arc::new(Entry {
            raw_schema: raw(&custom.kind.version),
            deprecation: custom.deprecation,
            stored_as: stored_as.clone(),
            kind: Arc::new(custom.kind),
            typed: OnceLock::new(),
            rules: OnceLock::new(),
        })
    };
    custom::kinds(definition).into_iter().filter(|custom| custom.served).map(entry).collect()
}
