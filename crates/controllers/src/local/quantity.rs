//! Amounts of memory and processors as Kubernetes writes them.

/// A quantity in thousandths of its unit; `None` if it cannot be read.
pub(super) fn thousandths(text: &str) -> Option<i128> {
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-'))).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let thousand: i128 = 1000;
    let factor: i128 = match suffix {
        "m" => 1,
        "" => 1000,
        "k" => thousand.pow(2),
        "M" => thousand.pow(3),
        "G" => thousand.pow(4),
        "T" => thousand.pow(5),
        "P" => thousand.pow(6),
        "Ki" => 1000 << 10,
        "Mi" => 1000 << 20,
        "Gi" => 1000 << 30,
        "Ti" => 1000 << 40,
        "Pi" => 1000 << 50,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let scale = 10_i128.checked_pow(u32::try_from(part.len()).ok()?)?;
    let part: i128 = if part.is_empty() { 0 } else { part.parse().ok()? };
    whole.checked_mul(factor)?.checked_add(part.checked_mul(factor)? / scale)
}

/// A quantity in whole units, rounded up.
pub(super) fn units(text: &str) -> Option<u64> {
    thousandths(text).and_then(|amount| u64::try_from((amount + 999).div_euclid(1000)).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_kubernetes_means_them() {
        let table = [
            ("1", Some(1000)),
            ("250m", Some(250)),
            ("1.5", Some(1500)),
            ("1Ki", Some(1_024_000)),
            ("1.5Gi", Some(1_610_612_736_000)),
            ("2k", Some(2_000_000)),
            (".5", Some(500)),
            ("much", None),
            ("1X", None),
        ];
        for (text, want) in table {
            assert_eq!(thousandths(text), want, "{text}");
        }
        assert_eq!(units("250m"), Some(1));
        assert_eq!(units("64Mi"), Some(67_108_864));
    }
}
