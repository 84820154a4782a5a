//! What a request is about, read from its path alone.

/// A path, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `/version`, `/healthz`, `/openapi/v3`, discovery: everything that is not an object.
    Page(String),
    /// A collection, an object or a part of one.
    Resource(ResourcePath),
}

/// The parts of `/apis/G/V/namespaces/N/P/NAME/SUB`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourcePath {
    /// API group; empty for the core group.
    pub group: String,
    /// Version in that group.
    pub version: String,
    /// Namespace; empty when none is named.
    pub namespace: String,
    /// The plural word.
    pub plural: String,
    /// Object name; empty for a collection.
    pub name: String,
    /// `status`, `scale`, `log`, …; empty for the object itself.
    pub subresource: String,
    /// True for the old `/watch/` prefix.
    pub watch: bool,
}

/// Reads a path. The segments are percent-decoded; an encoding that is not UTF-8 is refused with a sentence.
pub fn parse(path: &str) -> Result<Target, String> {
    let page = || Ok(Target::Page(path.to_owned()));
    let Some(rest) = path.strip_prefix('/') else { return page() };
    let parts = rest.split('/').map(decoded).collect::<Result<Vec<_>, _>>()?;
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["api", version, tail @ ..] if !tail.is_empty() && !tail[0].is_empty() => {
            Ok(resource("", version, tail))
        }
        ["apis", group, version, tail @ ..] if !tail.is_empty() && !tail[0].is_empty() => {
            Ok(resource(group, version, tail))
        }
        _ => page(),
    }
}

fn resource(group: &str, version: &str, tail: &[&str]) -> Target {
    let (watch, tail) = match tail {
        ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
        _ => (false, tail),
    };
    let mut path = ResourcePath { group: group.into(), version: version.into(), watch, ..Default::default() };
    let (namespace, tail) = match tail {
        // `/namespaces/N` and its two parts are the namespace itself, not something in it.
        ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => ("", tail),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() && !rest[0].is_empty() => (*namespace, rest),
        _ => ("", tail),
    };
    path.namespace = namespace.to_owned();
    path.plural = tail.first().copied().unwrap_or_default().to_owned();
    path.name = tail.get(1).copied().unwrap_or_default().to_owned();
    path.subresource = tail.get(2..).unwrap_or_default().join("/");
    Target::Resource(path)
}

/// Percent-decodes one segment, or one query component (where `+` must already be a space).
pub(crate) fn decoded(segment: &str) -> Result<String, String> {
    if !segment.contains('%') {
        return Ok(segment.to_owned());
    }
    let bytes = segment.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'%' {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        let hex = bytes.get(at + 1..at + 3).and_then(|pair| std::str::from_utf8(pair).ok());
        let byte = hex.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        out.push(byte.ok_or_else(|| format!("invalid URL escape in {segment:?}"))?);
        at += 3;
    }
    String::from_utf8(out).map_err(|_| format!("{segment:?} is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str) -> String {
        match parse(path) {
            Err(why) => format!("refused: {why}"),
            Ok(Target::Page(page)) => format!("page {page}"),
            Ok(Target::Resource(r)) => {
                let watch = if r.watch { " watch" } else { "" };
                format!(
                    "{}/{} ns={} {} {} {}{watch}",
                    r.group, r.version, r.namespace, r.plural, r.name, r.subresource
                )
            }
        }
    }

    #[test]
    fn a_path_says_what_it_is_about() {
        let table = [
            ("/", "page /"),
            ("/api", "page /api"),
            ("/api/v1", "page /api/v1"),
            ("/apis/apps/v1", "page /apis/apps/v1"),
            ("/apis/apps/v1/", "page /apis/apps/v1/"),
            ("/openapi/v3/apis/apps/v1", "page /openapi/v3/apis/apps/v1"),
            ("/api/v1/namespaces", "/v1 ns= namespaces  "),
            ("/api/v1/namespaces/n", "/v1 ns= namespaces n "),
            ("/api/v1/namespaces/n/status", "/v1 ns= namespaces n status"),
            ("/api/v1/namespaces/n/finalize", "/v1 ns= namespaces n finalize"),
            ("/api/v1/namespaces/n/pods", "/v1 ns=n pods  "),
            ("/api/v1/namespaces/n/pods/p/log", "/v1 ns=n pods p log"),
            ("/apis/demo.io/v1/widgets", "demo.io/v1 ns= widgets  "),
            ("/apis/demo.io/v1/namespaces/n/widgets/w/scale", "demo.io/v1 ns=n widgets w scale"),
            ("/api/v1/watch/namespaces/n/pods", "/v1 ns=n pods   watch"),
            ("/api/v1/namespaces/n/configmaps/a%2Fb", "/v1 ns=n configmaps a/b "),
            ("/api/v1/namespaces/%zz/pods", "refused: invalid URL escape in \"%zz\""),
            ("/api/v1/namespaces/%ff/pods", "refused: \"%ff\" is not UTF-8"),
        ];
        for (path, want) in table {
            assert_eq!(told(path), want, "{path}");
        }
    }
}
