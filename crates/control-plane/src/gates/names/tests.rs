use super::*;

const LABEL: &str = "a lowercase RFC 1123 label";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain";

#[test]
fn every_rule_accepts_and_refuses_what_the_original_does() {
    let long = "a".repeat(64);
    let longer = "a".repeat(254);
    let table: Vec<(NameRule, &str, &str)> = vec![
        (NameRule::DnsLabel, "a", ""),
        (NameRule::DnsLabel, "a--1--2--b", ""),
        (NameRule::DnsLabel, "1-a", ""),
        (NameRule::DnsLabel, "", LABEL),
        (NameRule::DnsLabel, "A", LABEL),
        (NameRule::DnsLabel, "-a", LABEL),
        (NameRule::DnsLabel, "a-", LABEL),
        (NameRule::DnsLabel, "a_b", LABEL),
        (NameRule::DnsLabel, "ä", LABEL),
        (NameRule::DnsLabel, "a.b", "must not contain dots"),
        (NameRule::DnsLabel, &long, "must be no more than 63 characters"),
        (NameRule::DnsSubdomain, "a.b-c.1", ""),
        (NameRule::DnsSubdomain, "a..b", SUBDOMAIN),
        (NameRule::DnsSubdomain, "a.", SUBDOMAIN),
        (NameRule::DnsSubdomain, "", SUBDOMAIN),
        (NameRule::DnsSubdomain, "a b", SUBDOMAIN),
        (NameRule::DnsSubdomain, &longer, "must be no more than 253 characters"),
        (NameRule::Dns1035, "abc-123", ""),
        (NameRule::Dns1035, "123-abc", "a DNS-1035 label"),
        (NameRule::Dns1035, "", "a DNS-1035 label"),
        (NameRule::PathSegment, "system:node", ""),
        (NameRule::PathSegment, "Role With Spaces", ""),
        (NameRule::PathSegment, "..", "may not be '..'"),
        (NameRule::PathSegment, "a/b%", "may not contain '/'; may not contain '%'"),
        (NameRule::QualifiedName, "example.com/MyName", ""),
        (NameRule::QualifiedName, "my.name_x", ""),
        (NameRule::QualifiedName, "/x", "prefix part must be non-empty"),
        (NameRule::QualifiedName, "Example.com/x", "prefix part a lowercase RFC 1123 subdomain"),
        (NameRule::QualifiedName, "x/", "name part must be non-empty; name part must consist of"),
        (NameRule::QualifiedName, "a/b/c", "a valid label key must consist of"),
        (NameRule::QualifiedName, &long, "name part must be no more than 63 bytes"),
        (NameRule::LabelValue, "", ""),
        (NameRule::LabelValue, "My_value.1", ""),
        (NameRule::LabelValue, "-x", "a valid label must be an empty string or consist of"),
        (NameRule::LabelValue, &long, "must be no more than 63 bytes"),
    ];
    for (rule, value, want) in table {
        let told = rule.check(value).err().unwrap_or_default();
        let right = if want.is_empty() { told.is_empty() } else { told.starts_with(want) };
        assert!(right, "{rule:?} on {value:?} said {told:?}, wanted {want:?}");
    }
}

#[test]
fn refusals_end_in_examples_and_the_expression() {
    let told = dns_label("A").expect_err("capital letters are refused");
    assert!(told.ends_with(
        "(e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
    ));
    let told = qualified_name("_").expect_err("an underscore alone is refused");
    assert!(told.ends_with("'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"));
    assert!(dns_subdomain("x").is_ok() && dns1035("x").is_ok() && path_segment("x").is_ok());
    assert!(label_value("x").is_ok());
}

#[test]
fn a_generated_name_may_end_in_a_dash() {
    assert_eq!(NameRule::DnsSubdomain.prefix_faults("job-"), Vec::<String>::new());
    assert_eq!(NameRule::DnsSubdomain.prefix_faults("-").len(), 1);
    assert_eq!(NameRule::DnsSubdomain.prefix_faults("Job-").len(), 1);
    assert_eq!(NameRule::PathSegment.prefix_faults(".."), Vec::<String>::new());
    assert_eq!(NameRule::DnsSubdomain.prefix_faults("ä-").len(), 1);
}

#[test]
fn each_kind_has_its_rule() {
    assert_eq!(NameRule::of("", "namespaces"), NameRule::DnsLabel);
    assert_eq!(NameRule::of("apps", "statefulsets"), NameRule::DnsLabel);
    assert_eq!(NameRule::of("", "services"), NameRule::DnsLabel);
    assert_eq!(NameRule::of("rbac.authorization.k8s.io", "clusterroles"), NameRule::PathSegment);
    assert_eq!(NameRule::of("demo.io", "widgets"), NameRule::DnsSubdomain);
}
