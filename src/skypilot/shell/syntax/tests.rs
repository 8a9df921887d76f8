//! Scripts with errors, and limits.

use proptest::prelude::*;

use super::parser::{Dialect, ParseError, parse, parse_leniently};

#[test]
fn incomplete_scripts_need_more_lines() {
    for script in [
        "if true",
        "while true; do",
        "echo 'a",
        "echo \"a",
        "echo $(ls",
        "cat <<E\nx",
        "{ echo",
        "a &&",
        "a |",
        "case x in",
        "f() {",
        "echo ${a",
    ] {
        let error = parse(script, Dialect::Posix).err();
        assert_eq!(error, Some(ParseError::Incomplete), "{script}");
    }
    for (script, token) in [
        ("done", "done"),
        ("echo a; fi", "fi"),
        (";", ";"),
        ("a ;; b", ";;"),
        ("| a", "|"),
        ("echo )", ")"),
        ("if true; then fi", "fi"),
    ] {
        let error = parse(script, Dialect::Posix).err();
        assert_eq!(
            error,
            Some(ParseError::Unexpected(token.into(), 1)),
            "{script}"
        );
    }
}

#[test]
fn nesting_is_limited() {
    for open in ["(", "$(", "{ ", "if ", "\"$(", "${a:-", "$((", "while "] {
        let script = open.repeat(100_000);
        assert!(parse(&script, Dialect::Bash).is_err(), "{open}");
    }
}

#[test]
fn lines_without_errors_are_parsed() {
    for (script, commands) in [
        ("a\n| b\nc", 2),
        ("fi\na; b\necho )\nc", 4),
        ("exec > >(tee log)\na", 1),
        ("cat <<E\nx", 1),
        ("if a\n\n", 0),
    ] {
        let list = parse_leniently(script, Dialect::Bash).unwrap();
        assert_eq!(list.items.len(), commands, "{script}");
    }
    let unclosed = "$((\n".repeat(100_000);
    assert!(
        parse_leniently(&unclosed, Dialect::Bash)
            .unwrap()
            .items
            .is_empty()
    );
}

proptest! {
    #[test]
    fn no_script_panics(script in "[a-f$(){}\\[\\]|&;<>'\"`\\\\ \n=#*!0-9:/%~+-]{0,60}") {
        let _ = parse(&script, Dialect::Posix);
        let _ = parse(&script, Dialect::Bash);
        let _ = parse_leniently(&script, Dialect::Bash);
    }
}
