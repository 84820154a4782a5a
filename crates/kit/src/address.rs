//! Where an object lies.

use std::fmt;

use kube::Resource;
use kube::core::{ApiResource, DynamicObject};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Any kind whose type is known when it is compiled.
pub trait Object:
    Resource<DynamicType = ()> + Clone + fmt::Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
}

impl<K> Object for K where
    K: Resource<DynamicType = ()> + Clone + fmt::Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
}

/// The name of an object of a kind that is known from elsewhere. The namespace of cluster-scoped ones is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// Its namespace, or nothing.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Name {
    /// The name in a namespace; an empty namespace is that of cluster-scoped objects.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The name of an object at hand.
    pub fn of<K: Object>(object: &K) -> Self {
        let meta = object.meta();
        Self::new(meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            return f.write_str(&self.name);
        }
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The kind of an object and its name: all that is needed to ask an API server for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Its kind.
    pub resource: ApiResource,
    /// Its name.
    pub name: Name,
}

impl Address {
    /// The address of an object at hand.
    pub fn of<K: Object>(object: &K) -> Self {
        Self { resource: ApiResource::erase::<K>(&()), name: Name::of(object) }
    }

    /// The address of an object of a kind.
    pub fn new<K: Object>(namespace: &str, name: &str) -> Self {
        Self { resource: ApiResource::erase::<K>(&()), name: Name::new(namespace, name) }
    }

    /// The path of its collection.
    pub(crate) fn collection(&self) -> String {
        collection(&self.resource, &self.name.namespace)
    }
}

/// The path of a collection, in one namespace or, if that is empty, in all.
pub(crate) fn collection(resource: &ApiResource, namespace: &str) -> String {
    DynamicObject::url_path(resource, (!namespace.is_empty()).then_some(namespace))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.resource.kind, self.name)
    }
}
