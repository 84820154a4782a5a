//! The alphabets of names, label keys and label values, with the sentences the original refuses in.

#[cfg(test)]
mod tests;

/// Which alphabet a string must keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// RFC 1123 label: namespaces, StatefulSets.
    DnsLabel,
    /// RFC 1123 subdomain: most kinds, and every custom resource.
    DnsSubdomain,
    /// RFC 1035 label: services.
    Dns1035,
    /// Anything that can be one segment of a path: roles and their bindings.
    PathSegment,
    /// `[prefix/]name`: label keys, annotation keys, finalizers.
    QualifiedName,
    /// A label's value.
    LabelValue,
}

impl NameRule {
    /// The rule for names of the kind served as `plural` in `group`.
    pub fn of(group: &str, plural: &str) -> Self {
        match (group, plural) {
            ("", "namespaces") | ("apps", "statefulsets") => Self::DnsLabel,
            ("", "services") => Self::DnsLabel,
            ("rbac.authorization.k8s.io", _) => Self::PathSegment,
            _ => Self::DnsSubdomain,
        }
    }

    /// Every sentence that tells why `value` breaks the rule; empty when it keeps it.
    pub fn faults(self, value: &str) -> Vec<String> {
        match self {
            Self::DnsLabel => dns_label_faults(value),
            Self::DnsSubdomain => dns_subdomain_faults(value, "characters"),
            Self::Dns1035 => dns1035_faults(value),
            Self::PathSegment => path_segment_faults(value),
            Self::QualifiedName => qualified_name_faults(value),
            Self::LabelValue => label_value_faults(value),
        }
    }

    /// The same for the fixed part of a generated name: a dash may stand at its end.
    pub fn prefix_faults(self, value: &str) -> Vec<String> {
        if self == Self::PathSegment {
            return path_content_faults(value);
        }
        self.faults(&mask_trailing_dash(value))
    }

    fn check(self, value: &str) -> Result<(), String> {
        let faults = self.faults(value);
        if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
    }
}

/// Refuses what is no RFC 1123 label.
pub fn dns_label(value: &str) -> Result<(), String> {
    NameRule::DnsLabel.check(value)
}

/// Refuses what is no RFC 1123 subdomain.
pub fn dns_subdomain(value: &str) -> Result<(), String> {
    NameRule::DnsSubdomain.check(value)
}

/// Refuses what is no RFC 1035 label.
pub fn dns1035(value: &str) -> Result<(), String> {
    NameRule::Dns1035.check(value)
}

/// Refuses what cannot be one segment of a path.
pub fn path_segment(value: &str) -> Result<(), String> {
    NameRule::PathSegment.check(value)
}

/// Refuses what is no label key.
pub fn qualified_name(value: &str) -> Result<(), String> {
    NameRule::QualifiedName.check(value)
}

/// Refuses what is no label value.
pub fn label_value(value: &str) -> Result<(), String> {
    NameRule::LabelValue.check(value)
}

/// Lengths set by RFC 1035 and RFC 1123 for one label and for a whole name.
const LABEL_MAX: usize = 63;
const SUBDOMAIN_MAX: usize = 253;

fn dns_label_faults(value: &str) -> Vec<String> {
    let mut faults = too_long(value, LABEL_MAX, "characters");
    if is_label(value) {
        return faults;
    }
    if is_subdomain(value) {
        faults.push("must not contain dots".into());
    } else {
        faults.push(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
             start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for \
             validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                .into(),
        );
    }
    faults
}

/// The original counts bytes everywhere, but calls them `characters` in names and `bytes` in keys and values.
fn dns_subdomain_faults(value: &str, unit: &str) -> Vec<String> {
    let mut faults = too_long(value, SUBDOMAIN_MAX, unit);
    if !is_subdomain(value) {
        faults.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
             and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
             validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .into(),
        );
    }
    faults
}

fn dns1035_faults(value: &str) -> Vec<String> {
    let mut faults = too_long(value, LABEL_MAX, "characters");
    if !(is_label(value) && value.starts_with(|c: char| c.is_ascii_lowercase())) {
        faults.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
             alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', \
             regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .into(),
        );
    }
    faults
}

fn path_segment_faults(value: &str) -> Vec<String> {
    match value {
        "." | ".." => vec![format!("may not be '{value}'")],
        _ => path_content_faults(value),
    }
}

fn path_content_faults(value: &str) -> Vec<String> {
    ["/", "%"]
        .iter()
        .filter(|sign| value.contains(**sign))
        .map(|sign| format!("may not contain '{sign}'"))
        .collect()
}

/// The alphabet of a label key's name part, told the way the original tells it.
const KEY_SENTENCE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
     with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation \
     is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

fn qualified_name_faults(value: &str) -> Vec<String> {
    let parts: Vec<&str> = value.split('/').collect();
    let mut faults = Vec::new();
    let name = match parts.as_slice() {
        [name] => *name,
        ["", name] => {
            faults.push("prefix part must be non-empty".into());
            *name
        }
        [prefix, name] => {
            faults.extend(
                dns_subdomain_faults(prefix, "bytes").into_iter().map(|why| format!("prefix part {why}")),
            );
            *name
        }
        _ => {
            let form = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {KEY_SENTENCE} {form}")];
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".into());
    }
    faults.extend(too_long(name, LABEL_MAX, "bytes").into_iter().map(|why| format!("name part {why}")));
    if !is_key_name(name) {
        faults.push(format!("name part {KEY_SENTENCE}"));
    }
    faults
}

fn label_value_faults(value: &str) -> Vec<String> {
    let mut faults = too_long(value, LABEL_MAX, "bytes");
    if !(value.is_empty() || is_key_name(value)) {
        faults.push(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
             and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or \
             '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                .into(),
        );
    }
    faults
}

fn too_long(value: &str, max: usize, unit: &str) -> Vec<String> {
    if value.len() > max { vec![format!("must be no more than {max} {unit}")] } else { Vec::new() }
}

fn is_label(value: &str) -> bool {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    framed(value, plain, |c| c == b'-')
}

fn is_subdomain(value: &str) -> bool {
    value.split('.').all(is_label)
}

fn is_key_name(value: &str) -> bool {
    framed(value, |c| c.is_ascii_alphanumeric(), |c| matches!(c, b'-' | b'_' | b'.'))
}

/// Whether `value` is made of `plain` bytes, with `inner` ones allowed everywhere but at its ends.
fn framed(value: &str, plain: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let bytes = value.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.iter().all(|end| end.is_some_and(|c| plain(*c))) && bytes.iter().all(|c| plain(*c) || inner(*c))
}

/// The original replaces the last two bytes, so that a dash before the masked one is judged as well.
fn mask_trailing_dash(name: &str) -> String {
    match name.strip_suffix('-') {
        Some(rest) if rest.ends_with(|c: char| c.is_ascii()) => format!("{}a", &rest[..rest.len() - 1]),
        _ => name.to_owned(),
    }
}
