use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn labels(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn selects(selector: &LabelSelector, text: &str) -> bool {
    let labels = labels(text);
    selector.matches(&|key| labels.get(key).map(String::as_str))
}

#[test]
fn label_selectors_choose_what_the_original_chooses() {
    let table = [
        ("nothing asked", "", "x=y", true),
        ("equal", "x=y", "x=y", true),
        ("equal twice written", "x==y", "x=y", true),
        ("equal to another", "x=y", "x=z", false),
        ("equal, absent", "x=y", "a=b", false),
        ("both", "x=y,z=w", "x=y,z=w", true),
        ("one of both", "x=y,z=w", "x=y", false),
        ("not equal", "x!=y", "x=z", true),
        ("not equal, absent", "x!=y", "a=b", true),
        ("not equal, equal", "x!=y", "x=y", false),
        ("empty value", "x=", "x=", true),
        ("empty value before a comma", "x=,z=w", "x=,z=w", true),
        ("in", "x in (a,b)", "x=b", true),
        ("in, other", "x in (a,b)", "x=c", false),
        ("in, absent", "x in (a,b)", "y=a", false),
        ("notin", "x notin (a,b)", "x=c", true),
        ("notin, absent", "x notin (a,b)", "y=a", true),
        ("notin, listed", "x notin (a,b)", "x=a", false),
        ("exists", "x", "x=", true),
        ("exists, absent", "x", "y=1", false),
        ("does not exist", "!x", "y=1", true),
        ("does not exist, there", "!x", "x=1", false),
        ("spaces around", "  x   in ( a , b ) , ! z ", "x=a", true),
        ("tabs and lines", "x\tin\n(a)\r", "x=a", true),
        ("keyword as key", "in in (in)", "in=in", true),
        ("keyword as value", "x=notin", "x=notin", true),
        ("keyword as key alone", "notin", "notin=1", true),
        ("empty set is the empty value", "x in ()", "x=", true),
        ("empty first", "x in (,a)", "x=", true),
        ("empty last", "x in (a,)", "x=", true),
        ("empty between", "x in (a,,b)", "x=", true),
        ("greater", "x>7", "x=8", true),
        ("greater, equal", "x>7", "x=7", false),
        ("greater, no number", "x>7", "x=ten", false),
        ("greater, absent", "x>7", "y=8", false),
        ("less", "x<7", "x=-1", true),
        ("less, more", "x<7", "x=8", false),
        ("prefixed key", "example.com/x in (a)", "example.com/x=a", true),
        ("no space before the set", "x in(a)", "x=a", true),
    ];
    for (rule, text, given, want) in table {
        let selector = LabelSelector::parse(text).unwrap_or_else(|why| panic!("{rule}: {why}"));
        assert_eq!(selects(&selector, given), want, "{rule}: {text:?} on {given:?}");
        assert_eq!(selector.is_empty(), text.is_empty(), "{rule}");
    }
}

#[test]
fn broken_label_selectors_are_refused_in_the_originals_words() {
    let table = [
        ("a b c", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("=", "found '=', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!=a", "found '!=', expected: !, identifier, or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a==(b)", "unable to parse requirement: found '(', expected: identifier"),
        ("a=!b", "unable to parse requirement: found '!', expected: identifier"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in", "unable to parse requirement: found '' expected: '('"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (b,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a in (b,=", "unable to parse requirement: found '=', expected: ',', or identifier"),
        (
            "a>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value \
             must be an integer",
        ),
    ];
    for (text, want) in table {
        assert_eq!(LabelSelector::parse(text).err().as_deref(), Some(want), "{text:?}");
    }
    let told = LabelSelector::parse("-a=b").expect_err("a key does not begin with a dash");
    let want = "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist of";
    assert!(told.starts_with(want), "{told}");
    let told = LabelSelector::parse("a=-b").expect_err("nor does a value");
    let want = "unable to parse requirement: values[0][a]: Invalid value: \"-b\": a valid label must be";
    assert!(told.starts_with(want), "{told}");
    let told = LabelSelector::parse("a in (-b,-c)").expect_err("nor do two");
    assert!(told.starts_with("unable to parse requirement: [values[0][a]:"), "{told}");
    assert!(told.contains("), values[1][a]:") || told.contains("', values[1][a]:"), "{told}");
}

#[test]
fn selector_objects_say_the_same() {
    let expression = |operator: &str, values: Value| json!({"matchExpressions": [{"key": "x", "operator": operator, "values": values}]});
    let table = [
        ("nothing given selects nothing", Value::Null, "x=a", false),
        ("an empty one selects all", json!({}), "x=a", true),
        ("labels", json!({"matchLabels": {"x": "a", "y": "b"}}), "x=a,y=b", true),
        ("labels, one wrong", json!({"matchLabels": {"x": "a", "y": "b"}}), "x=a,y=c", false),
        ("In", expression("In", json!(["a", "b"])), "x=b", true),
        ("NotIn", expression("NotIn", json!(["a"])), "y=a", true),
        ("Exists", expression("Exists", json!([])), "x=", true),
        ("DoesNotExist", expression("DoesNotExist", Value::Null), "x=", false),
    ];
    for (rule, object, given, want) in table {
        let selector = LabelSelector::from_json(&object).unwrap_or_else(|why| panic!("{rule}: {why}"));
        assert_eq!(selects(&selector, given), want, "{rule}");
    }
    let table = [
        (expression("Equals", json!(["a"])), "\"Equals\" is not a valid label selector operator"),
        (
            expression("In", json!([])),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            expression("Exists", json!(["a"])),
            "values: Invalid value: [\"a\"]: values set must be empty for exists and does not exist",
        ),
    ];
    for (object, want) in table {
        assert_eq!(LabelSelector::from_json(&object).err().as_deref(), Some(want), "{object}");
    }
}

#[test]
fn field_selectors_are_split_and_unescaped() {
    let term =
        |field: &str, equal: bool, value: &str| Term { field: field.into(), value: value.into(), equal };
    let table = [
        ("nothing", "", vec![]),
        ("commas alone", ",,", vec![]),
        ("neither side", "=", vec![]),
        ("equal", "metadata.name=a", vec![term("metadata.name", true, "a")]),
        ("equal twice written", "a==b", vec![term("a", true, "b")]),
        ("not equal", "a!=b", vec![term("a", false, "b")]),
        ("empty value", "a=", vec![term("a", true, "")]),
        ("ordered", "b=2,a!=1", vec![term("a", false, "1"), term("b", true, "2")]),
        ("escaped", r"a=x\,y\=z\\", vec![term("a", true, r"x,y=z\")]),
        ("not ascii", "a=ä,b=✓", vec![term("a", true, "ä"), term("b", true, "✓")]),
    ];
    for (rule, text, want) in table {
        let selector = FieldSelector::parse(text).unwrap_or_else(|why| panic!("{rule}: {why}"));
        assert_eq!(selector.terms(), want, "{rule}");
        assert_eq!(selector.is_empty(), want.is_empty(), "{rule}");
    }
    let table = [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("b=1,a", "invalid selector: 'b=1,a'; can't understand 'a'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        (r"a=b\", r"invalid field selector: invalid escape sequence: \"),
    ];
    for (text, want) in table {
        assert_eq!(FieldSelector::parse(text).err().as_deref(), Some(want), "{text:?}");
    }
}

proptest! {
    #[test]
    fn no_text_breaks_the_parsers(text in ".{0,60}", signs in "[a-c=!(),<> \\\\\0n\u{e4}]{0,40}") {
        for text in [text, signs] {
            if let Ok(selector) = LabelSelector::parse(&text) {
                selector.matches(&|_| Some("1"));
            }
            let _ = FieldSelector::parse(&text);
        }
    }

    #[test]
    fn a_field_value_survives_its_escaping(value in ".{0,30}") {
        let escaped = value.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
        let selector = FieldSelector::parse(&format!("a={escaped}")).expect("well escaped");
        prop_assert_eq!(&selector.terms()[0].value, &value);
    }
}
