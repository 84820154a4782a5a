//! Values that must not be shown.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What stands in the place of a secret wherever it would have been printed.
const SEAL: &str = "[sealed]";

/// A value that no log, message or document ever shows: `Debug`, `Display` and `Serialize` print the seal.
///
/// The only way to the value is [`Sealed::open`], so every use can be found by its name.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Sealed<T>(T);

impl<T> Sealed<T> {
    /// Seals a value.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself, for the one place that has to send or store it.
    pub fn open(&self) -> &T {
        &self.0
    }

    /// Takes the value out, for a place that has to own it.
    pub fn into_open(self) -> T {
        self.0
    }
}

impl<T> From<T> for Sealed<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T> fmt::Debug for Sealed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SEAL)
    }
}

impl<T> fmt::Display for Sealed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SEAL)
    }
}

impl<T> Serialize for Sealed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(SEAL)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Sealed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}

/// A secret that its owner wrote into a spec in plain text.
///
/// It is serialized, because an object that is read and written back must not lose it; `Debug` hides it.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlainSecret(String);

impl PlainSecret {
    /// The secret, sealed, which is how it travels from here on.
    pub fn seal(&self) -> Sealed<String> {
        Sealed::new(self.0.clone())
    }

    /// Whether the owner left it empty, which means the same as leaving it out.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for PlainSecret {
    fn from(value: String) -> Self {
        Self(value)
    }
}

impl fmt::Debug for PlainSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SEAL)
    }
}

impl JsonSchema for PlainSecret {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PlainSecret".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "maxLength": 4096 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Serialize)]
    struct Login {
        user: &'static str,
        password: Sealed<String>,
    }

    #[test]
    fn nothing_that_prints_shows_what_is_sealed() {
        let login = Login { user: "app", password: Sealed::new("hunter2".into()) };
        let shown = [
            ("debug", format!("{login:?}")),
            ("alternate debug", format!("{login:#?}")),
            ("display", login.password.to_string()),
            ("json", serde_json::to_string(&login).expect("a plain struct is JSON")),
            ("plain secret", format!("{:?}", PlainSecret::from("hunter2".to_owned()))),
        ];
        for (way, text) in shown {
            assert!(!text.contains("hunter2"), "{way}: {text}");
            assert!(text.contains(SEAL), "{way}: {text}");
        }
        assert_eq!(login.user, "app");
    }

    #[test]
    fn what_was_sealed_can_be_opened_and_read_from_a_document() {
        let read: Sealed<String> = serde_json::from_str("\"hunter2\"").expect("a string is a sealed string");
        assert_eq!(read.open(), "hunter2");
        assert_eq!(read.into_open(), "hunter2");
    }

    #[test]
    fn a_plain_secret_survives_being_read_and_written() {
        let read: PlainSecret = serde_json::from_str("\"hunter2\"").expect("a string is a plain secret");
        assert_eq!(serde_json::to_string(&read).expect("a string is JSON"), "\"hunter2\"");
        assert_eq!(read.seal().open(), "hunter2");
        assert!(!read.is_empty());
    }
}
