//! The part of a file that a `Range` header asks for. Pure.

/// What to send.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it: nothing else was asked for, or something that may be ignored.
    Whole,
    /// From the first to the last byte, both included.
    Range { first: u64, last: u64 },
    /// The file ends before the range begins.
    Impossible,
}

/// Several ranges at once are answered with the whole file, as the standard allows.
pub(super) fn part(wanted: &str, length: u64) -> Part {
    let Some((first, last)) = wanted.strip_prefix("bytes=").and_then(|range| range.trim().split_once('-'))
    else {
        return Part::Whole;
    };
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first > last => Part::Whole,
        (Some(first), _) if first >= length && (last.is_empty() || number(last).is_some()) => {
            Part::Impossible
        }
        (Some(first), Some(last)) => Part::Range { first, last: last.min(length - 1) },
        (Some(first), None) if last.is_empty() => Part::Range { first, last: length - 1 },
        (None, Some(0)) if first.is_empty() => Part::Impossible,
        (None, Some(_)) if first.is_empty() && length == 0 => Part::Impossible,
        (None, Some(count)) if first.is_empty() => {
            Part::Range { first: length.saturating_sub(count), last: length - 1 }
        }
        _ => Part::Whole,
    }
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_range_has_its_part() {
        let range = |first, last| Part::Range { first, last };
        let table = [
            ("bytes=0-0", 10, range(0, 0)),
            ("bytes=2-5", 10, range(2, 5)),
            ("bytes=2-", 10, range(2, 9)),
            ("bytes=-3", 10, range(7, 9)),
            ("bytes=-30", 10, range(0, 9)),
            ("bytes=5-100", 10, range(5, 9)),
            ("bytes=10-", 10, Part::Impossible),
            ("bytes=10-12", 10, Part::Impossible),
            ("bytes=-0", 10, Part::Impossible),
            ("bytes=0-", 0, Part::Impossible),
            ("bytes=-1", 0, Part::Impossible),
            ("bytes=5-2", 10, Part::Whole),
            ("bytes=0-1,4-5", 10, Part::Whole),
            ("bytes=-", 10, Part::Whole),
            ("bytes=a-b", 10, Part::Whole),
            ("bytes=+1-2", 10, Part::Whole),
            ("lines=1-2", 10, Part::Whole),
            ("bytes=99999999999999999999-", 10, Part::Whole),
        ];
        for (wanted, length, want) in table {
            assert_eq!(part(wanted, length), want, "{wanted} of {length}");
        }
    }
}
