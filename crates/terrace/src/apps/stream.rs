//! Lines out of a body that may never end, none of them longer than memory can bear.

use http_body_util::BodyExt;
use kube::client::Body;

/// Longest line that is shown in one piece.
const LINE_MAX: usize = 16 * 1024;

/// The lines of a body.
pub(super) struct Lines {
    body: Body,
    rest: Vec<u8>,
    ended: bool,
}

impl Lines {
    pub(super) fn new(body: Body) -> Self {
        Self { body, rest: Vec::new(), ended: false }
    }

    /// The next line, without its end; `None` when there is none. A line that is too long comes in pieces.
    pub(super) async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(line) = cut(&mut self.rest, self.ended) {
                return Some(line);
            }
            if self.ended {
                return None;
            }
            // A body that breaks off has ended.
            match self.body.frame().await {
                Some(Ok(frame)) => self.rest.extend(frame.into_data().unwrap_or_default()),
                Some(Err(_)) | None => self.ended = true,
            }
        }
    }
}

/// Takes the first line out of what has come.
fn cut(rest: &mut Vec<u8>, ended: bool) -> Option<String> {
    let end = rest.iter().take(LINE_MAX).position(|byte| *byte == b'\n');
    let (line, gone) = match end {
        Some(end) => (end, end + 1),
        None if rest.len() >= LINE_MAX => (LINE_MAX, LINE_MAX),
        None if ended && !rest.is_empty() => (rest.len(), rest.len()),
        None => return None,
    };
    let text = String::from_utf8_lossy(&rest[..line]).trim_end_matches('\r').to_owned();
    rest.drain(..gone);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_where_they_end_or_where_they_are_too_long() {
        let all = |bytes: &[u8]| {
            let mut rest = bytes.to_vec();
            let mut lines = Vec::new();
            while let Some(line) = cut(&mut rest, true) {
                lines.push(line);
            }
            lines
        };
        assert_eq!(all(b"a\r\nb\n\nc"), ["a", "b", "", "c"]);
        assert_eq!(all(b""), Vec::<String>::new());
        let long = all(&vec![b'x'; 3 * LINE_MAX / 2]);
        assert_eq!(long.iter().map(String::len).collect::<Vec<_>>(), [LINE_MAX, LINE_MAX / 2]);
        assert_eq!(cut(&mut b"not yet".to_vec(), false), None);
    }
}
