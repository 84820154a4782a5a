use serde_json::json;

use super::*;

#[test]
fn strings_are_quoted_where_a_parser_might_see_something_else() {
    let table = [
        ("a plain word", "plain", "plain"),
        ("words that YAML 1.1 reads as true or false", "y", "'y'"),
        ("in any case", "Off", "'Off'"),
        ("no", "no", "'no'"),
        ("null", "null", "'null'"),
        ("nothing", "", "''"),
        ("a number", "17", "'17'"),
        ("a time, which YAML 1.1 counts in sixties", "12:30", "'12:30'"),
        ("an anchor", "&a", "'&a'"),
        ("a pattern", "^[a-z]$", "'^[a-z]$'"),
        ("a comment", "a #b", "'a #b'"),
        ("a key", "a: b", "'a: b'"),
        ("a colon inside a word", "a:b", "a:b"),
        ("a quote", "'a'", "'''a'''"),
        ("a control character", "a\tb", "\"a\\tb\""),
    ];
    for (row, value, want) in table {
        assert_eq!(string(value), want, "{row}");
        let read: Value = serde_saphyr::from_str(&format!("k: {want}\n")).expect("it is YAML");
        assert_eq!(read, json!({ "k": value }), "{row}");
    }
}

#[test]
fn a_document_reads_back_as_it_was() {
    let value = json!({
        "a": { "b": [], "c": {}, "d": [1, true, null, "on"] },
        "y": [{ "first": 1, "second": { "third": ["x"] } }, {}, [1, [2]]],
        "text": "one line\n\n  another\nlast",
        "trailing": "line\n",
        "leading": " space\nline",
        "number": 1.5,
        "negative": -3,
    });
    let text = document(&value);
    let want = "\
a:
  b: []
  c: {}
  d:
    - 1
    - true
    - null
    - 'on'
'y':
  - first: 1
    second:
      third:
        - x
  - {}
  - [1,[2]]
text: |-
  one line

    another
  last
trailing: \"line\\n\"
leading: \" space\\nline\"
number: 1.5
negative: -3
";
    assert_eq!(text, want);
    let read: Value = serde_saphyr::from_str(&text).expect("it is YAML");
    assert_eq!(read, value);
    assert_eq!(document(&json!({})), "{}\n");
}

#[test]
fn whole_numbers_have_no_fraction() {
    assert_eq!(document(&json!([1.0, 65535.0, 0.5, -1.0, 1e300])), "- 1\n- 65535\n- 0.5\n- -1\n- 1e+300\n");
}
