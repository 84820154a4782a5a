//! The page itself: plain HTML without scripts, and the headers that keep everybody else out of it.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use http::header::{X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;

use super::entries::Pending;
use super::host::Kind;

/// Nothing is loaded, nothing runs, and the form goes back to where it came from.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; \
    base-uri 'none'";
const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:4rem auto;padding:0 1rem;\
    color-scheme:light dark}label{display:block;margin-top:1rem}input,textarea{width:100%;box-sizing:border-box;\
    font:inherit;padding:.4rem}textarea{height:12rem;font-family:monospace}button{margin-top:1.5rem;font:inherit;\
    padding:.5rem 1.5rem}dt{opacity:.7}dd{margin:0 0 .5rem}.wrong{color:#c00}";

/// The form for a secret, with what was wrong with the last try.
pub(super) fn form(pending: &Pending, wrong: Option<&str>) -> Response<Full<Bytes>> {
    let wish = &pending.wish;
    let name = escaped(wish.username.as_deref().unwrap_or_default());
    let fields = match wish.kind {
        Kind::Token => format!(
            "<label>User name <small>(may stay empty for an access token)</small>\
             <input name=\"username\" value=\"{name}\" autocomplete=\"off\" maxlength=\"256\"></label>\
             <label>Access token or password\
             <input name=\"secret\" type=\"password\" autocomplete=\"off\" required autofocus></label>"
        ),
        Kind::Ssh => "<label>Private key, without a passphrase\
             <textarea name=\"secret\" autocomplete=\"off\" spellcheck=\"false\" required></textarea></label>"
            .to_owned(),
    };
    let wrong = wrong.map(|why| format!("<p class=\"wrong\">{}</p>", escaped(why))).unwrap_or_default();
    let facts = [
        ("Credential", &wish.name),
        ("For repositories at", &wish.host.to_string()),
        ("Session", &pending.session),
        ("Asked for by the token", &pending.asker),
    ];
    let facts: String =
        facts.iter().map(|(what, value)| format!("<dt>{what}</dt><dd>{}</dd>", escaped(value))).collect();
    let body = format!(
        "<p>An agent wants builds to fetch from a private repository. What you enter is stored in this platform, and \
         used for that alone; the agent never sees it. If you do not know why you are asked, close this page.</p>\
         <dl>{facts}</dl>{wrong}<form method=\"post\">{fields}<button>Store</button></form>"
    );
    let code = if wrong.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    page(code, "A secret is needed", &body)
}

/// A page that says one thing.
pub(super) fn word(code: StatusCode, title: &str, text: &str) -> Response<Full<Bytes>> {
    page(code, title, &format!("<p>{}</p>", escaped(text)))
}

fn page(code: StatusCode, title: &str, body: &str) -> Response<Full<Bytes>> {
    let title = escaped(title);
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title} · Terrace</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head>\
         <body><h1>{title}</h1>{body}</body></html>\n"
    );
    let mut response = Response::new(Full::new(Bytes::from(html)));
    *response.status_mut() = code;
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-store"),
        // With `no-referrer` browsers would send `Origin: null` with the form, and it could not be told from others'.
        (REFERRER_POLICY, "same-origin"),
        (X_FRAME_OPTIONS, "DENY"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Text that means nothing to a browser.
fn escaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => plain.push_str("&amp;"),
            '<' => plain.push_str("&lt;"),
            '>' => plain.push_str("&gt;"),
            '"' => plain.push_str("&quot;"),
            '\'' => plain.push_str("&#39;"),
            other => plain.push(other),
        }
    }
    plain
}
