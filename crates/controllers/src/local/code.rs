//! Short codes in names.

/// Letters and digits that make no word and look like nothing else, as Kubernetes uses them in names.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// Length of the code at the end of a name that is drawn, as Kubernetes has it.
const DRAWN: usize = 5;
/// Longest beginning of a drawn name: with its code it is still a label (63 characters).
const BASE_MAX: usize = 63 - DRAWN;

/// A number of 64 bits that stands for a text (FNV-1a).
pub(super) fn digest(parts: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    for byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

/// A number as a code: as many letters as asked for.
pub(super) fn code(mut number: u64, letters: usize) -> String {
    let base = ALPHABET.len() as u64;
    let mut letter = || {
        let at = usize::try_from(number % base).unwrap_or_default();
        number /= base;
        char::from(ALPHABET[at])
    };
    (0..letters).map(|_| letter()).collect()
}

/// The name that begins like this and ends in a code.
pub(super) fn drawn(base: &str, seed: u64, place: usize) -> String {
    let base: String = base.chars().take(BASE_MAX - 1).collect();
    let number = digest(&[&seed.to_string(), &place.to_string()]);
    format!("{base}-{}", code(number, DRAWN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_stable_and_differ() {
        assert_eq!(digest(&["a", "b"]), digest(&["a", "b"]));
        assert_ne!(digest(&["ab", ""]), digest(&["a", "b"]));
        assert_eq!(code(0, 3), "bbb");
        assert_eq!(code(26, 2), "9b");
        assert_ne!(drawn("web", 1, 0), drawn("web", 1, 1));
        assert_eq!(drawn(&"x".repeat(80), 1, 0).len(), 63);
    }
}
