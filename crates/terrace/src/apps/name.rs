//! The name of an application, made from the name of a directory.

/// Longest name of a Service.
const NAME_MAX: usize = 63;

/// A DNS label that begins with a letter and reads like the given name; `None` if nothing of it can be used.
pub(super) fn label(given: &str) -> Option<String> {
    let mut label = String::new();
    for c in given.chars() {
        let c = c.to_ascii_lowercase();
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            label.push(c);
        } else if !label.ends_with('-') {
            label.push('-');
        }
    }
    let mut label = label.trim_matches('-').to_owned();
    if label.is_empty() {
        return None;
    }
    if label.starts_with(|c: char| c.is_ascii_digit()) {
        label.insert_str(0, "app-");
    }
    label.truncate(NAME_MAX);
    Some(label.trim_end_matches('-').to_owned())
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn a_directory_gives_its_application_a_name() {
        let long = "a".repeat(80);
        let table = [
            ("shop", Some("shop")),
            ("My Shop_v2", Some("my-shop-v2")),
            (".dotted.", Some("dotted")),
            ("2048", Some("app-2048")),
            ("a---b", Some("a-b")),
            ("Größe", Some("gr-e")),
            ("…", None),
            ("", None),
            (&long, Some(&long[..63])),
        ];
        for (given, want) in table {
            assert_eq!(label(given).as_deref(), want, "{given}");
        }
    }
}
