//! Tables of words for people.

/// How much of a message a narrow table shows.
const MESSAGE_MAX: usize = 60;

/// Rows under a head, in columns as wide as they need to be. The last column is not padded.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let head = head.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut text = String::new();
    for row in std::iter::once(&head).chain(rows) {
        let padded = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        text.push_str(padded.collect::<Vec<_>>().join("   ").trim_end());
        text.push('\n');
    }
    text
}

/// As much of a message as a narrow table shows.
pub(crate) fn clipped(message: &str) -> String {
    let message = message.replace(char::is_control, " ");
    let long = message.chars().count() > MESSAGE_MAX;
    let short: String = message.chars().take(if long { MESSAGE_MAX - 1 } else { MESSAGE_MAX }).collect();
    if long { format!("{short}…") } else { short }
}

/// How long ago something was, in its largest two units at most: `45s`, `3m20s`, `5h`, `12d`.
pub(crate) fn age(seconds: i64) -> String {
    match seconds.max(0) {
        s @ 0..120 => format!("{s}s"),
        s @ 120..600 if s % 60 != 0 => format!("{}m{}s", s / 60, s % 60),
        s @ 120..7200 => format!("{}m", s / 60),
        s @ 7200..172_800 => format!("{}h", s / 3600),
        s => format!("{}d", s / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_word() {
        let rows = vec![
            vec!["a".into(), "long word".into(), "x".into()],
            vec!["bcd".into(), String::new(), String::new()],
        ];
        assert_eq!(table(&["NAME", "B", "C"], &rows), "NAME   B           C\na      long word   x\nbcd\n");
    }

    #[test]
    fn ages_are_told_in_few_letters() {
        let table = [
            (-3, "0s"),
            (45, "45s"),
            (119, "119s"),
            (200, "3m20s"),
            (240, "4m"),
            (3700, "61m"),
            (90_000, "25h"),
            (1_000_000, "11d"),
        ];
        for (seconds, want) in table {
            assert_eq!(age(seconds), want);
        }
    }
}
