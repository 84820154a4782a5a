use super::*;

fn told(rule: &str) -> String {
    let one = |requests: &Requests| {
        let host = if requests.host.is_empty() { "*" } else { &requests.host };
        let star = if requests.exact { "" } else { "*" };
        format!("{host}{}{star}", requests.path)
    };
    match parse(rule) {
        Ok(meant) => meant.iter().map(one).collect::<Vec<_>>().join(" "),
        Err(error) => error,
    }
}

#[test]
fn every_rule_has_its_meaning() {
    let table = [
        ("Host(`shop.localhost`)", "shop.localhost*"),
        ("Host(\"shop.localhost\")", "shop.localhost*"),
        ("  Host ( `Shop.LocalHost.` )  ", "shop.localhost*"),
        ("Host(`a`) || Host(`b`)", "a* b*"),
        ("Host(`a`, `b`)", "a* b*"),
        ("Host(`a`)||Host(`a`)", "a*"),
        ("Host(`*.example.com`)", "*.example.com*"),
        ("Host(`a`) && PathPrefix(`/x`)", "a/x*"),
        ("PathPrefix(`/x/`) && Host(`a`)", "a/x*"),
        ("Host(`a`) && Path(`/x`)", "a/x"),
        ("PathPrefix(`/`)", "**"),
        ("Path(`/`)", "*/"),
        ("Path(`/x/`)", "*/x/"),
        ("Host(`a`) || Host(`b`) && PathPrefix(`/x`)", "a* b/x*"),
        ("(Host(`a`) || Host(`b`)) && PathPrefix(`/x`)", "a/x* b/x*"),
        ("(Host(`a`) || Host(`b`)) && (PathPrefix(`/x`) || Path(`/y`))", "a/x* a/y b/x* b/y"),
        ("((((Host(`a`)))))", "a*"),
        ("PathPrefix(`/x`) && PathPrefix(`/x/y`)", "*/x/y*"),
        ("PathPrefix(`/x`) && Path(`/x/y`)", "*/x/y"),
        ("Path(`/x`) && PathPrefix(`/x`)", "*/x"),
        ("PathPrefix(`/x`) && PathPrefix(`/xy`)", "no request can meet it"),
        ("Path(`/x`) && Path(`/y`)", "no request can meet it"),
        ("Host(`a`) && Host(`b`)", "no request can meet it"),
        ("(Host(`a`) && Host(`b`)) || Host(`c`)", "c*"),
        ("PathPrefix(\"/a\\\"b\")", "*/a\"b*"),
        ("PathPrefix(`/a\\b`)", "*/a\\b*"),
        ("", "it ends too early"),
        ("Host(`a`) &&", "it ends too early"),
        ("Host(`a`", "it ends where `)` is expected"),
        ("Host", "it ends where `(` is expected"),
        ("Host()", "`)` is not expected"),
        ("Host(a)", "`a` is not expected"),
        ("Host(`a`))", "`)` is not expected"),
        ("Host(`a`) Host(`b`)", "`Host` is not expected"),
        ("Host(`a`) & Host(`b`)", "'&' is not expected"),
        ("|| Host(`a`)", "`||` is not expected"),
        ("Host(`a", "a backtick is not closed"),
        ("Host(\"a", "a quote is not closed"),
        ("Host(\"a\\", "a quote is not closed"),
        ("Host(``)", "\"\" is not a host"),
        ("Host(`*.`)", "\"*.\" is not a host"),
        ("Host(`a b`)", "\"a b\" is not a host"),
        ("Host(`a/../b`)", "\"a/../b\" is not a host"),
        ("PathPrefix(`x`)", "\"x\" is not a path; it begins with /"),
        ("!Host(`a`)", "`!` is not known here"),
        ("Host(`a`) && !Path(`/x`)", "`!` is not known here"),
        ("HostSNI(`*`)", "HostSNI is not known here; Host, Path and PathPrefix are"),
        ("Header(`a`, `b`)", "Header is not known here; Host, Path and PathPrefix are"),
        ("Host(`ä`)", "\"ä\" is not a host"),
        ("ä", "'ä' is not expected"),
    ];
    for (rule, want) in table {
        assert_eq!(told(rule), want, "{rule}");
    }
}

#[test]
fn rules_that_would_cost_too_much_are_refused() {
    let deep = format!("{}Host(`a`){}", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(told(&deep), "parentheses lie deeper than 16");
    let wide = vec!["(Path(`/a`) || Path(`/b`) || PathPrefix(`/`))"; 40].join(" && ");
    assert_eq!(told(&wide), "** */a */b", "what is the same counts once");
    let many = (0..300).map(|n| format!("Host(`h{n}`)")).collect::<Vec<_>>().join(" || ");
    assert_eq!(told(&many), "it means more than 256 hosts and paths");
    let product = (0..20).map(|n| format!("Host(`h{n}`)")).collect::<Vec<_>>().join(" || ");
    let paths = (0..20).map(|n| format!("Path(`/{n}`)")).collect::<Vec<_>>().join(" || ");
    assert_eq!(told(&format!("({product}) && ({paths})")), "it means more than 256 hosts and paths");
}
