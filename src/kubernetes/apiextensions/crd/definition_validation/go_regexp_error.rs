//! Errors of invalid regular expressions, worded as Go's `regexp/syntax`.

/// Go's error text of an invalid pattern; `why` is the error of the Rust `regex` crate.
pub(super) fn go_regexp_error(pattern: &str, reason: &str) -> String {
    let perl = ["(?=", "(?!", "(?<=", "(?<!"]
        .into_iter()
        .find(|p| pattern.contains(p));
    let (what, part) = if let Some(perl) = perl {
        ("invalid or unsupported Perl syntax", perl)
    } else if reason.contains("unclosed character class") {
        let start = pattern.rfind('[').unwrap_or_default();
        (
            "missing closing ]",
            pattern.get(start..).unwrap_or_default(),
        )
    } else if reason.contains("unclosed group") {
        ("missing closing )", pattern)
    } else if reason.contains("unopened group") {
        ("unexpected )", pattern)
    } else if reason.contains("missing expression") {
        let operator = pattern
            .find(['*', '+', '?'])
            .and_then(|i| pattern.get(i..=i));
        (
            "missing argument to repetition operator",
            operator.unwrap_or_default(),
        )
    } else if reason.contains("backreference") || reason.contains("escape sequence") {
        let start = pattern.find('\\').unwrap_or_default();
        (
            "invalid escape sequence",
            pattern.get(start..start + 2).unwrap_or("\\"),
        )
    } else if reason.contains("character class range") {
        ("invalid character class range", pattern)
    } else {
        ("invalid regexp", pattern)
    };
    format!("must be a valid regular expression, but isn't: error parsing regexp: {what}: `{part}`")
}
