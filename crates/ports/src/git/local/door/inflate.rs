//! Bodies that may be packed, and how much of them is borne.

use std::io::Write as _;

use bytes::Bytes;
use flate2::write::GzDecoder;

/// As many packed bytes as are unpacked at once: gzip makes at most a thousand of one.
const SLICE: usize = 4 << 10;

/// Why a body is taken no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bad {
    /// It is more than is borne.
    TooLarge,
    /// It is not what it says.
    Garbled,
    /// The client went, or sent nothing for too long.
    Gone,
}

/// Unpacks a body as it comes, up to a bound.
pub(super) struct Inflate {
    unpack: Option<GzDecoder<Vec<u8>>>,
    left: u64,
}

impl Inflate {
    /// For a body that is packed or not, of which so many bytes are borne.
    pub(super) fn new(packed: bool, bound: u64) -> Self {
        Self { unpack: packed.then(|| GzDecoder::new(Vec::new())), left: bound }
    }

    /// What some bytes of the body mean; at most a slice's worth at once is in memory beyond the first.
    pub(super) fn take(&mut self, bytes: Bytes) -> Result<Vec<Bytes>, Bad> {
        let Some(unpack) = &mut self.unpack else {
            self.left = self.left.checked_sub(bytes.len() as u64).ok_or(Bad::TooLarge)?;
            return Ok(vec![bytes]);
        };
        let mut made = Vec::new();
        for slice in bytes.chunks(SLICE) {
            unpack.write_all(slice).map_err(|_| Bad::Garbled)?;
            let plain = std::mem::take(unpack.get_mut());
            self.left = self.left.checked_sub(plain.len() as u64).ok_or(Bad::TooLarge)?;
            made.push(Bytes::from(plain));
        }
        Ok(made)
    }

    /// What is left at the end.
    pub(super) fn end(self) -> Result<Bytes, Bad> {
        let Some(unpack) = self.unpack else { return Ok(Bytes::new()) };
        let plain = unpack.finish().map_err(|_| Bad::Garbled)?;
        if plain.len() as u64 > self.left { Err(Bad::TooLarge) } else { Ok(plain.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut pack = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        pack.write_all(bytes).expect("it is packed");
        pack.finish().expect("it is packed")
    }

    fn all(packed: bool, bytes: Vec<u8>, bound: u64) -> Result<Vec<u8>, Bad> {
        let mut inflate = Inflate::new(packed, bound);
        let mut made = Vec::new();
        for piece in inflate.take(bytes.into())? {
            made.extend(piece);
        }
        made.extend(inflate.end()?);
        Ok(made)
    }

    #[test]
    fn bodies_are_unpacked_up_to_a_bound() {
        let text = b"0123456789".repeat(10_000);
        assert_eq!(all(true, packed(&text), 100_000), Ok(text.clone()));
        assert_eq!(all(true, packed(&text), 99_999), Err(Bad::TooLarge));
        assert_eq!(all(false, text.clone(), 100_000), Ok(text.clone()));
        assert_eq!(all(false, text.clone(), 99_999), Err(Bad::TooLarge));
        assert_eq!(all(true, text, 1 << 20), Err(Bad::Garbled));
        assert_eq!(all(true, packed(&vec![0; 300 << 20]), 1 << 20), Err(Bad::TooLarge));
        let mut cut = packed(b"some words that are cut");
        cut.truncate(cut.len() - 4);
        assert_eq!(all(true, cut, 1 << 20), Err(Bad::Garbled));
    }
}
