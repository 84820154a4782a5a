//! Passwords, as the configuration wants them.

use api::secret::Sealed;
use kit::Dice;

use super::config::Passwords;

const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWER: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const DIGITS: &[u8] = b"0123456789";
/// Those that mean nothing in a DSN, a URI, a shell or YAML.
const SYMBOLS: &[u8] = b"-_.~";

/// A password that nobody has seen. It begins with a letter, so that no program takes it for an option.
pub(super) fn fresh(dice: &Dice, wanted: Passwords) -> Sealed<String> {
    let pick = |from: &[u8]| {
        let len = u64::try_from(from.len()).unwrap_or(1);
        from[usize::try_from(dice.roll() % len).unwrap_or_default()]
    };
    let letters = [UPPER, LOWER].concat();
    let all = match wanted.complex {
        true => [UPPER, LOWER, DIGITS, SYMBOLS].concat(),
        false => [UPPER, LOWER, DIGITS].concat(),
    };
    let mut rest: Vec<u8> = match wanted.complex {
        true => [UPPER, LOWER, DIGITS, SYMBOLS].map(pick).to_vec(),
        false => Vec::new(),
    };
    while rest.len() + 1 < usize::from(wanted.length_min) {
        rest.push(pick(&all));
    }
    for last in (1..rest.len()).rev() {
        let other = dice.roll() % (u64::try_from(last).unwrap_or_default() + 1);
        rest.swap(last, usize::try_from(other).unwrap_or_default());
    }
    rest.insert(0, pick(&letters));
    Sealed::new(rest.into_iter().map(char::from).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_password_has_its_length_and_what_was_asked_for_and_none_comes_twice() {
        let mut seen = BTreeSet::new();
        for (length_min, complex) in [(15, true), (15, false), (40, true), (99, true)] {
            for _ in 0..200 {
                let wanted = Passwords { complex, length_min, rotation_minutes: 60 };
                let password = fresh(&Dice::fair(), wanted).into_open();
                assert_eq!(password.len(), usize::from(length_min));
                let has = |letters: &[u8]| password.bytes().any(|byte| letters.contains(&byte));
                if complex {
                    assert!(has(UPPER) && has(LOWER) && has(DIGITS) && has(SYMBOLS), "{password}");
                } else {
                    assert!(!has(SYMBOLS), "{password}");
                }
                assert!(password.starts_with(|first: char| first.is_ascii_alphabetic()), "{password}");
                assert!(seen.insert(password), "it came before");
            }
        }
    }
}
