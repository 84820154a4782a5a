use super::*;

fn told<T: FromStr<Err = NameError> + fmt::Display>(value: &str) -> String {
    match value.parse::<T>() {
        Ok(name) => name.to_string(),
        Err(error) => format!("refused: {error}"),
    }
}

#[test]
fn every_name_keeps_its_rule() {
    type Row = (&'static str, fn(&str) -> String, &'static str, &'static str);
    let table: &[Row] = &[
        ("object names are DNS names", told::<ObjectName>, "a.b-1.c", "a.b-1.c"),
        ("nothing is no name", told::<ObjectName>, "", "refused: object name must not be empty"),
        (
            "upper case is refused",
            told::<ObjectName>,
            "Shop",
            "refused: `Shop` is no object name: lower case letters, digits, `-` and `.`, \
             beginning and ending with a letter or digit",
        ),
        (
            "a label has no dots",
            told::<Label>,
            "a.b",
            "refused: `a.b` is no label: lower case letters, digits and `-`, \
             beginning and ending with a letter or digit",
        ),
        (
            "a label does not end in a dash",
            told::<Label>,
            "a-",
            "refused: `a-` is no label: lower case letters, digits and `-`, \
             beginning and ending with a letter or digit",
        ),
        ("hosts are labels with dots", told::<HostName>, "shop.example.com", "shop.example.com"),
        (
            "two dots in a row leave an empty label",
            told::<HostName>,
            "a..b",
            "refused: `a..b` is no host name: DNS labels of at most 63 lower case letters, digits and `-`, \
             separated by `.`",
        ),
        ("variables may begin with an underscore", told::<EnvName>, "_PORT9", "_PORT9"),
        (
            "variables do not begin with a digit",
            told::<EnvName>,
            "9PORT",
            "refused: `9PORT` is no variable name: letters, digits and `_`, not beginning with a digit",
        ),
        ("keys may be file names", told::<SecretKey>, "uri_dsn.txt", "uri_dsn.txt"),
        (
            "keys are no paths",
            told::<SecretKey>,
            "a/b",
            "refused: `a/b` is no secret key: letters, digits, `-`, `_` and `.`",
        ),
        ("databases may be named as one likes", told::<DatabaseName>, "my \"odd\" name", "my \"odd\" name"),
        (
            "PostgreSQL cannot hold a NUL",
            told::<DatabaseName>,
            "a\0b",
            "refused: `a\0b` is no database name: it must not contain a NUL character",
        ),
        ("a login is a role and a side", told::<LoginName>, "app_b", "app_b"),
        (
            "a login without a side is none",
            told::<LoginName>,
            "app",
            "refused: `app` is no login name: a role name followed by `_a` or `_b`",
        ),
        (
            "a side alone is no login",
            told::<LoginName>,
            "_a",
            "refused: `_a` is no login name: a role name followed by `_a` or `_b`",
        ),
        ("spans may have several parts", told::<Span>, "1h30m", "1h30m"),
        (
            "a span has a unit",
            told::<Span>,
            "5",
            "refused: `5` is no time span: numbers, each followed by one of `ms`, `s`, `m` and `h`",
        ),
    ];
    for (rule, parse, value, want) in table {
        assert_eq!(parse(value), *want, "{rule}");
    }
}

#[test]
fn the_longest_name_is_counted_in_bytes() {
    type Row = (&'static str, fn(&str) -> String, usize);
    let table: &[Row] = &[
        ("label", told::<Label>, 63),
        ("object name", told::<ObjectName>, 253),
        ("database name", told::<DatabaseName>, 63),
        ("role name", told::<RoleName>, 61),
        ("variable name", told::<EnvName>, 256),
    ];
    for (what, parse, max) in table {
        let longest = "a".repeat(*max);
        assert_eq!(parse(&longest), longest, "{what} of {max} bytes");
        let longer = "a".repeat(max + 1);
        let want = format!("refused: `{longer}` is {} bytes long, a {what} has at most {max}", max + 1);
        assert_eq!(parse(&longer), want, "{what} of {} bytes", max + 1);
    }
    let wide = "ä".repeat(32);
    assert_eq!(
        told::<DatabaseName>(&wide),
        format!("refused: `{wide}` is 64 bytes long, a database name has at most 63")
    );
}

#[test]
fn a_role_and_its_logins_name_each_other() {
    let role: RoleName = "a".repeat(61).parse().expect("61 bytes are allowed");
    for side in [Side::A, Side::B] {
        let login = role.login(side);
        assert_eq!(login.as_str().len(), 63);
        assert_eq!(login.side(), side);
        assert_eq!(login.role(), role);
        assert_eq!(login.to_string().parse::<LoginName>(), Ok(login));
        assert_eq!(side.other().other(), side);
    }
}

#[test]
fn spans_are_counted() {
    let table =
        [("250ms", 250), ("90s", 90_000), ("5m0s", 300_000), ("1h30m", 5_400_000), ("1.5h", 5_400_000)];
    for (text, millis) in table {
        let span: Span = text.parse().expect("the row is a span");
        assert_eq!(span.duration(), Duration::from_millis(millis), "{text}");
    }
    for text in ["m", "1", "1d", "1.m", ".5m", "1..5m", "-1m", "5 m", "1.2.3s"] {
        assert!(text.parse::<Span>().is_err(), "{text}");
    }
}

#[test]
fn a_document_with_a_bad_name_is_refused_with_its_rule() {
    let error = serde_json::from_str::<EnvName>("\"1A\"").expect_err("a digit comes first");
    assert_eq!(
        error.to_string(),
        "`1A` is no variable name: letters, digits and `_`, not beginning with a digit"
    );
}
