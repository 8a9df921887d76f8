use proptest::prelude::*;

use super::*;
use crate::duration::SECOND;

#[test]
fn durations_parse_and_format_as_in_go() {
    for (text, canonical, nanos) in [
        ("0", "0s", 0),
        ("5m", "5m0s", 300 * SECOND),
        ("168h", "168h0m0s", 604_800 * SECOND),
        ("1h30m", "1h30m0s", 5_400 * SECOND),
        ("1.5h", "1h30m0s", 5_400 * SECOND),
        ("-1.5s", "-1.5s", -3 * SECOND / 2),
        ("300ms", "300ms", 300_000_000),
        ("1500us", "1.5ms", 1_500_000),
        ("1µs", "1µs", 1_000),
        (".5m", "30s", 30 * SECOND),
        ("90s", "1m30s", 90 * SECOND),
        ("1m0.5s", "1m0.5s", 60_500_000_000),
    ] {
        let read: Duration = text.parse().unwrap();
        assert_eq!(
            (read.as_nanos(), read.to_string().as_str()),
            (nanos, canonical),
            "{text}"
        );
    }
    let least = i64::MIN.to_string() + "ns";
    assert_eq!(least.parse(), Ok(Duration::from_nanos(i64::MIN)));
    for bad in [
        "",
        "5",
        "m",
        "5 m",
        "5x",
        "1..5s",
        "-",
        "1h-5m",
        "99999999999h",
        "170141183460469231731687303715884105.999us",
        ".",
    ] {
        assert!(bad.parse::<Duration>().is_err(), "{bad}");
    }
}

#[test]
fn errors_equal_those_of_go() {
    for (text, error) in [
        ("", r#"time: invalid duration """#),
        ("3", r#"time: missing unit in duration "3""#),
        ("-", r#"time: invalid duration "-""#),
        ("s", r#"time: invalid duration "s""#),
        (".s", r#"time: invalid duration ".s""#),
        ("+.s", r#"time: invalid duration "+.s""#),
        ("1d", r#"time: unknown unit "d" in duration "1d""#),
        (
            "\u{85}\u{85}",
            r#"time: invalid duration "\xc2\x85\xc2\x85""#,
        ),
        (
            "hello \u{ffff} world",
            r#"time: invalid duration "hello \xef\xbf\xbf world""#,
        ),
        (
            "9223372036854775808ns",
            r#"time: invalid duration "9223372036854775808ns""#,
        ),
        (
            "-9223372036854775809ns",
            r#"time: invalid duration "-9223372036854775809ns""#,
        ),
        (
            "9223372036854775.808us",
            r#"time: invalid duration "9223372036854775.808us""#,
        ),
        (
            "9223372036854ms775us808ns",
            r#"time: invalid duration "9223372036854ms775us808ns""#,
        ),
    ] {
        let found = text.parse::<Duration>().unwrap_err();
        assert_eq!(found.to_string(), error);
    }
}

#[test]
fn fractions_are_rounded_as_in_go() {
    // Cases of Go's TestParseDuration.
    for (text, nanos) in [
        ("9007199254.740993ms", 9_007_199_254_740_993),
        ("9223372036.854775807s", i64::MAX),
        ("9223372036s854ms775us807ns", i64::MAX),
        ("-9223372036854775808ns", i64::MIN),
        ("-2562047h47m16.854775808s", i64::MIN),
        ("0.3333333333333333333h", 20 * 60 * SECOND),
        ("0.100000000000000000000h", 6 * 60 * SECOND),
        (
            "0.830103483285477580700h",
            49 * 60 * SECOND + 48 * SECOND + 372_539_827,
        ),
    ] {
        assert_eq!(text.parse(), Ok(Duration::from_nanos(nanos)), "{text}");
    }
}

#[test]
fn deserialization_hints_at_the_form() {
    let error = serde_json::from_str::<Duration>("\"5 min\"").unwrap_err();
    let expected = r#"time: unknown unit " min" in duration "5 min"; write a number and a unit, such as 30s, 5m or 1h30m"#;
    assert_eq!(error.to_string(), expected);
}

proptest! {
    #[test]
    fn display_and_parse_round_trip(nanos in any::<i64>()) {
        let span = Duration::from_nanos(nanos);
        prop_assert_eq!(span.to_string().parse::<Duration>(), Ok(span));
    }

    #[test]
    fn parts_add_up(hours in 0..1_000_000i64, minutes in 0..1_000_000i64, millis in 0..1_000_000_000i64) {
        let sum = hours * 3600 * SECOND + minutes * 60 * SECOND + millis * 1_000_000;
        let text = format!("{hours}h{minutes}m{millis}ms");
        prop_assert_eq!(text.parse(), Ok(Duration::from_nanos(sum)));
        prop_assert_eq!(format!("-{text}").parse(), Ok(Duration::from_nanos(-sum)));
    }

    #[test]
    fn parse_never_panics(text in "\\PC{0,20}|[-+.0-9a-zµ]{0,40}") {
        let _ = text.parse::<Duration>();
    }
}
