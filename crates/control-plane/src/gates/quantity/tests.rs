use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|why| panic!("{text}: {why}"))
}

#[test]
fn quantities_print_in_their_canonical_form() {
    let table = [
        ("0", "0"),
        ("0.0", "0"),
        ("-0Ki", "0"),
        ("00012", "12"),
        ("1", "1"),
        ("0.5", "500m"),
        ("1.5", "1500m"),
        (".5", "500m"),
        ("5.", "5"),
        ("-", "0"),
        ("M", "0"),
        ("100m", "100m"),
        ("1000m", "1"),
        ("1100m", "1100m"),
        ("100000", "100k"),
        ("1234567", "1234567"),
        ("1e3", "1e3"),
        ("1E6", "1e6"),
        ("12e-3", "12e-3"),
        ("1.2e3", "1200"),
        ("1E", "1E"),
        ("1Ki", "1Ki"),
        ("1024", "1024"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("512", "512"),
        ("0.5Ki", "512"),
        ("100Ki", "100Ki"),
        ("0.1Ki", "102400m"),
        ("-1.5", "-1500m"),
        ("-2Gi", "-2Gi"),
        ("+7", "7"),
        ("1n", "1n"),
        ("0.1n", "1n"),
        ("-0.1n", "-1n"),
        ("1.0000000001", "1000000001n"),
        ("1000000u", "1"),
        ("9223372036854775807", "9223372036854775807"),
        ("16Ei", "9223372036854775807"),
        ("1e28", "10e27"),
    ];
    for (text, want) in table {
        assert_eq!(parsed(text).to_string(), want, "{text}");
    }
}

#[test]
fn what_is_no_quantity_is_refused_in_the_originals_words() {
    let table = [
        ("", WRONG_FORMAT),
        ("abc", WRONG_FORMAT),
        ("1 Gi", WRONG_FORMAT),
        ("1Gi ", WRONG_FORMAT),
        ("1.2.3", WRONG_FORMAT),
        ("1x", WRONG_FORMAT),
        ("ä", WRONG_FORMAT),
        ("1ki", WRONG_SUFFIX),
        ("1e", WRONG_SUFFIX),
        ("1ee3", WRONG_SUFFIX),
        ("1m5", WRONG_SUFFIX),
        ("1e99", WRONG_NUMBER),
        ("99999999999999999999999999999999999999999", WRONG_NUMBER),
    ];
    for (text, want) in table {
        assert_eq!(Quantity::parse(text).err().as_deref(), Some(want), "{text:?}");
    }
    assert!(Quantity::from_json(&serde_json::json!(true)).is_err());
    assert_eq!(Quantity::from_json(&serde_json::json!(1.5)).map(|q| q.to_string()), Ok("1500m".into()));
    assert_eq!(Quantity::from_json(&serde_json::json!(12)).map(|q| q.to_string()), Ok("12".into()));
}

#[test]
fn sums_keep_the_form_of_the_first_that_is_something() {
    assert_eq!(parsed("1Gi").plus(parsed("512Mi")).to_string(), "1536Mi");
    assert_eq!(Quantity::ZERO.plus(parsed("1Gi")).to_string(), "1Gi");
    assert_eq!(parsed("1").plus(parsed("500m")).to_string(), "1500m");
    assert_eq!(parsed("1").minus(parsed("2")).to_string(), "-1");
    assert!(parsed("1").minus(parsed("2")).is_negative());
    assert_eq!(parsed("1.1").rounded_up().to_string(), "2");
    assert_eq!(parsed("1024Mi"), parsed("1Gi"));
    assert!(parsed("1k") < parsed("1Ki"));
}

proptest! {
    #[test]
    fn printing_and_parsing_agree(number in -1_000_000_000_000_i64..1_000_000_000_000, suffix in "(n|u|m|k|M|G|Ki|Mi|Gi|e3|e-6|)") {
        let first = parsed(&format!("{number}{suffix}"));
        let second = parsed(&first.to_string());
        prop_assert_eq!(first, second);
        prop_assert_eq!(first.to_string(), second.to_string());
    }

    #[test]
    fn adding_is_what_adding_is(a in any::<i32>(), b in any::<i32>(), c in any::<i32>()) {
        let [a, b, c] = [a, b, c].map(|number| parsed(&format!("{number}m")));
        prop_assert_eq!(a.plus(b), b.plus(a));
        prop_assert_eq!(a.plus(b).plus(c), a.plus(b.plus(c)));
        prop_assert_eq!(a.plus(b).minus(b), a);
        prop_assert_eq!(a.plus(Quantity::ZERO), a);
        prop_assert_eq!(a < b, a.plus(c) < b.plus(c));
    }

    #[test]
    fn no_text_breaks_the_parser(text in ".{0,40}", signs in "[-+]?[0-9.]{0,30}[eEinumkKMGTP]{0,3}[-+]?[0-9]{0,12}") {
        for text in [text, signs] {
            if let Ok(quantity) = Quantity::parse(&text) {
                let _ = (quantity.to_string(), quantity.plus(quantity), quantity.rounded_up());
            }
        }
    }
}
