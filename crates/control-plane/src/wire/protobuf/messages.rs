//! The table of messages: made from the published `.proto` files by `xtask protos`, unpacked when first needed.

use std::collections::HashMap;
use std::io::Read;
use std::sync::OnceLock;

/// How often a field may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    One,
    Repeated,
    Map,
}

/// One field of a message.
#[derive(Debug)]
pub(super) struct Field {
    pub number: u32,
    pub shape: Shape,
    pub kind: String,
    pub name: String,
}

static PACKED: &[u8] = include_bytes!("messages.txt.gz");
static TABLE: OnceLock<HashMap<String, Vec<Field>>> = OnceLock::new();

fn table() -> &'static HashMap<String, Vec<Field>> {
    TABLE.get_or_init(|| {
        let mut text = String::new();
        // The file is part of this program; a test reads it whole.
        let _ = flate2::read::GzDecoder::new(PACKED).read_to_string(&mut text);
        let mut table: HashMap<String, Vec<Field>> = HashMap::new();
        let mut current = String::new();
        for line in text.lines() {
            match line.strip_prefix(' ').map(field) {
                Some(Some(field)) => table.entry(current.clone()).or_default().push(field),
                Some(None) => {}
                None => {
                    current = line.to_owned();
                    table.entry(current.clone()).or_default();
                }
            }
        }
        table
    })
}

fn field(line: &str) -> Option<Field> {
    let mut words = line.split(' ');
    let number = words.next()?.parse().ok()?;
    let shape = match words.next()? {
        "repeated" => Shape::Repeated,
        "map" => Shape::Map,
        _ => Shape::One,
    };
    Some(Field { number, shape, kind: words.next()?.to_owned(), name: words.next()?.to_owned() })
}

/// The fields of a message.
pub(super) fn fields(name: &str) -> Option<&'static [Field]> {
    table().get(name).map(Vec::as_slice)
}

/// The message of an `apiVersion` and `kind`. Options are known in every group.
pub(super) fn name(api_version: &str, kind: &str) -> Option<&'static str> {
    let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
    let group = group.split('.').next().unwrap_or_default();
    let own = format!("k8s.io.api.{group}.{version}.{kind}");
    let shared = format!("k8s.io.apimachinery.pkg.apis.meta.v1.{kind}");
    [own, shared].iter().find_map(|name| table().get_key_value(name)).map(|(name, _)| name.as_str())
}
