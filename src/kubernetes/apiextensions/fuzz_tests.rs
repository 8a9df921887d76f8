//! Fuzz targets: CEL expressions and JSON paths do not panic, and do not overflow the stack.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use crate::cel::program;
use crate::crd::jsonpath::JsonPath;
use kueue_lab_testing::assert_parses_nested_texts;

/// Parses a text as an expression and as a path.
fn parse_all(text: &str) {
    let _ = program::compile(text);
    if let Ok(path) = JsonPath::parse(text) {
        let _ = path.find(&json!({"a": [{"b": 1}, "c"], "d": {"e": null}}));
    }
}

/// Texts of up to 40 of these tokens.
fn tokens(tokens: &'static [&'static str]) -> impl Strategy<Value = String> {
    vec(prop::sample::select(tokens), 0..40).prop_map(|tokens| tokens.concat())
}

const CEL_TOKENS: [&str; 72] = [
    "self",
    "oldSelf",
    "a",
    "x",
    "y",
    ".a",
    ".b",
    "[0]",
    "['a']",
    "[?0]",
    ".?a",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "?",
    " + ",
    " - ",
    " * ",
    " / ",
    " % ",
    " == ",
    " != ",
    " < ",
    " >= ",
    " && ",
    " || ",
    " in ",
    "!",
    "-",
    "0",
    "1",
    "-1",
    "9223372036854775807",
    "18446744073709551615u",
    "1.5",
    "1e308",
    "true",
    "null",
    "''",
    "'a'",
    "\"b\"",
    "b'c'",
    "r'\\'",
    "'%d %.99999f'",
    ".all(x, ",
    ".exists(x, ",
    ".map(x, ",
    ".filter(x, ",
    ".exists_one(x, ",
    ".map(x, y, ",
    "has(self.a)",
    "size(",
    ".size()",
    ".matches('(a+)+$')",
    ".format([",
    ".split(','",
    ".replace('a', 'aa')",
    ".substring(1)",
    "lists.range(",
    "duration('1h')",
    "timestamp('2026-01-01T00:00:00Z')",
    "quantity('1Ki')",
    "semver('1.2.3')",
    "cel.bind(x, ",
    "optional.of(",
    ".orValue(",
    "string(",
];

/// Compiles an expression and evaluates it.
fn evaluate(text: &str) {
    let Ok(program) = program::compile(text) else {
        return;
    };
    let this = json!({"a": [1, "b", {"c": 1.5}], "b": "x,y", "c": null});
    let this = kube_cel::cel::to_value(&this).unwrap();
    let evaluation = program::RuleActivation::with(this.clone(), Some(this), false, |scope| {
        program.run(scope, false)
    });
    assert!(evaluation.result.is_err() || !evaluation.exceeds_limit());
}

proptest! {
    #[test]
    fn no_cel_expression_panics(text in tokens(&CEL_TOKENS)) {
        evaluate(&text);
    }

    #[test]
    fn no_text_panics(text in "[a-f ()\\[\\]{}<>=!,.:;/*+'\"\\\\?@$#&|0-9%~\n-]{0,80}") {
        parse_all(&text);
    }
}

#[test]
fn nesting_does_not_overflow_the_stack() {
    assert_parses_nested_texts(parse_all);
}
