//! What EC2 is asked, as a form: `Action=RunInstances&Version=2016-11-15&ImageId=…`.

use std::fmt::Display;

use api::infra::Tags;

/// The version of EC2's interface that we speak.
pub(super) const VERSION: &str = "2016-11-15";

/// The fields of a request, in their order.
#[derive(Default)]
pub(super) struct Form(String);

impl Form {
    /// A request for an action.
    pub(super) fn new(action: &str) -> Self {
        Self::default().field("Action", action).field("Version", VERSION)
    }

    /// One more field.
    pub(super) fn field(mut self, name: impl Display, value: impl Display) -> Self {
        if !self.0.is_empty() {
            self.0.push('&');
        }
        encode(&name.to_string(), &mut self.0);
        self.0.push('=');
        encode(&value.to_string(), &mut self.0);
        self
    }

    /// One more field, if it has a value.
    pub(super) fn maybe(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.field(name, value),
            None => self,
        }
    }

    /// A list: `name.1`, `name.2`.
    pub(super) fn list<V: Display>(self, name: &str, values: impl IntoIterator<Item = V>) -> Self {
        let fields = values.into_iter().zip(1..);
        fields.fold(self, |form, (value, index)| form.field(format!("{name}.{index}"), value))
    }

    /// Tags: `name.1.Key`, `name.1.Value`.
    pub(super) fn tags(self, name: &str, tags: &Tags) -> Self {
        tags.iter().zip(1..).fold(self, |form, ((key, value), index)| {
            form.field(format!("{name}.{index}.Key"), key).field(format!("{name}.{index}.Value"), value)
        })
    }

    /// What a list is narrowed to: resources that have one of these values there.
    pub(super) fn filter(self, index: usize, name: &str, values: &[&str]) -> Self {
        let form = self.field(format!("Filter.{index}.Name"), name);
        form.list(&format!("Filter.{index}.Value"), values.iter().map(|value| literal(value)))
    }

    /// The body of the request.
    pub(super) fn into_body(self) -> String {
        self.0
    }
}

/// A value of a filter that means itself: there, stars and question marks stand for anything.
fn literal(value: &str) -> String {
    value.chars().fold(String::new(), |mut out, letter| {
        if matches!(letter, '*' | '?' | '\\') {
            out.push('\\');
        }
        out.push(letter);
        out
    })
}

/// All but the letters that RFC 3986 calls unreserved is written as a number: so it is what is signed, too.
fn encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
}
