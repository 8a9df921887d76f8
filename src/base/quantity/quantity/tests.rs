//! Known values of Kubernetes, and arithmetic laws.

use proptest::prelude::*;

use super::*;

fn q(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

#[test]
fn canonical_text() {
    for (text, canonical) in [
        ("0", "0"),
        ("0n", "0"),
        ("0Ki", "0"),
        ("0.0", "0"),
        ("00012", "12"),
        ("1.5", "1500m"),
        ("1.5Gi", "1536Mi"),
        ("1024Ki", "1Mi"),
        ("1000k", "1M"),
        ("1e3", "1e3"),
        ("100e3", "100e3"),
        ("1E6", "1e6"),
        ("1E", "1E"),
        ("12e-3", "12e-3"),
        ("0.5Ki", "512"),
        ("0.0001Ki", "102400u"),
        ("1023Ki", "1023Ki"),
        ("100m", "100m"),
        ("1000m", "1"),
        ("0.1n", "1n"),
        ("-0.1n", "-1n"),
        ("0.0000000001", "1n"),
        ("-1.5Gi", "-1536Mi"),
        (".5", "500m"),
        ("5.", "5"),
        ("+7", "7"),
        ("1000000000Gi", "1000000000Gi"),
        ("1e30", "1e30"),
        ("1000E", "1000E"),
        ("10000000000Ei", "9223372036854775807"),
        ("-10000000000Ei", "-9223372036854775807"),
        ("9999999999999999999999", "9999999999999999999999"),
        ("0.1Mi", "104857600m"),
        ("10.035m", "10035u"),
        // Kubernetes parses these as zero.
        (".", "0"),
        ("m", "0"),
        ("-", "0"),
    ] {
        assert_eq!(q(text).to_string(), canonical, "{text}");
    }
}

#[test]
fn values_round_away_from_zero_and_clamp() {
    for (text, value, milli) in [
        ("100m", 1, 100),
        ("1.5", 2, 1500),
        ("-1.5", -2, -1500),
        ("1n", 1, 1),
        ("-1n", -1, -1),
        ("1.5m", 1, 2),
        ("36Gi", 38_654_705_664, 38_654_705_664_000),
        ("1000000000Gi", 1_073_741_824_000_000_000, i64::MAX),
        ("1e30", i64::MAX, i64::MAX),
        ("-1e30", i64::MIN, i64::MIN),
        ("1e999999999999", i64::MAX, i64::MAX),
        ("1e-999999999999", 1, 1),
        ("8Ei", i64::MAX, i64::MAX),
    ] {
        assert_eq!(
            (q(text).value(), q(text).milli_value()),
            (value, milli),
            "{text}"
        );
    }
}

#[test]
fn invalid_quantities_are_rejected() {
    for text in [
        "", " 1", "1 ", "1,5", "1.2.3", "abc", "1_000", "0x10", "１", "1e3.5",
    ] {
        assert_eq!(Quantity::parse(text), Err(QuantityError::Form), "{text}");
    }
    for text in [
        "1K",
        "1ki",
        "1mi",
        "1e",
        "1e99999999999999999999",
        "1kk",
        "1i",
        "1m3",
        "1-",
        "--1",
    ] {
        assert_eq!(Quantity::parse(text), Err(QuantityError::Suffix), "{text}");
    }
}

#[test]
fn far_apart_amounts_compare_and_add() {
    let (huge, tiny) = (q("1e100000"), q("1n"));
    assert!(tiny < huge && -huge < tiny && -huge < -tiny);
    assert_eq!(huge + tiny, huge);
    assert_eq!(tiny - huge, -huge);
    assert_eq!(huge.times(i64::MAX).value(), i64::MAX);
    assert_eq!(
        huge.with_format(Format::DecimalSi).to_string().len(),
        100_000 - 18 + 2
    );
    assert_eq!(
        (tiny.scaled(i32::MAX), huge.scaled(i32::MIN)),
        (1, i64::MAX)
    );
}

#[test]
fn arithmetic_keeps_the_format() {
    assert_eq!((q("1Gi") + q("1024Mi")).to_string(), "2Gi");
    assert_eq!((Quantity::ZERO + q("2Gi")).to_string(), "2Gi");
    assert_eq!((q("1Gi") - q("1Gi")).to_string(), "0");
    assert_eq!(q("500m").times(3).to_string(), "1500m");
    assert_eq!(
        ["1", "500m", "1k"]
            .map(q)
            .into_iter()
            .sum::<Quantity>()
            .to_string(),
        "1001500m"
    );
}

/// Any legal text, extreme values included.
fn texts() -> impl Strategy<Value = String> {
    "[+-]?([0-9]{1,45}(\\.[0-9]{0,45})?|\\.[0-9]{1,45})(|[numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,12})"
}

/// Typical amounts.
fn amounts() -> impl Strategy<Value = Quantity> {
    "-?[0-9]{1,10}(\\.[0-9]{1,6})?(|m|k|M|G|Ki|Mi|Gi)".prop_map(|s| q(&s))
}

proptest! {
    #[test]
    fn parse_and_format_round_trip(text in texts()) {
        let first = q(&text);
        let again = q(&first.to_string());
        prop_assert_eq!(first, again, "{} -> {}", text, first);
        prop_assert_eq!(first.to_string(), again.to_string());
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,24}") {
        if let Ok(q) = Quantity::parse(&text) {
            let _ = (q.to_string(), q.value(), q.times(7), q + q, q.cmp(&Quantity::from_value(1)));
        }
    }

    #[test]
    fn addition_is_commutative_associative_and_invertible(a in amounts(), b in amounts(), c in amounts()) {
        prop_assert_eq!(a + b, b + a);
        prop_assert_eq!((a + b) + c, a + (b + c));
        prop_assert_eq!(a + b - b, a);
        prop_assert_eq!(a.times(3), a + a + a);
    }

    #[test]
    fn order_agrees_with_difference_and_value(a in amounts(), b in amounts()) {
        let difference = a - b;
        prop_assert_eq!(a < b, difference.is_negative());
        prop_assert_eq!(a == b, difference.is_zero());
        if a <= b {
            prop_assert!(a.value() <= b.value() && a.milli_value() <= b.milli_value());
        }
    }

    #[test]
    fn integers_round_trip(n in any::<i64>(), m in any::<i64>()) {
        prop_assert_eq!(Quantity::from_value(n).value(), n);
        prop_assert_eq!(Quantity::from_milli(m).milli_value(), m);
        prop_assert_eq!(q(&n.to_string()), Quantity::from_value(n));
    }
}
