//! Validation of labels, label values and DNS names, with Kubernetes' messages.
//!
//! Each function returns the errors of a text, empty if it is valid.

const LABEL_NAME: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const DNS_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";

fn regex_error(rule: &str, regex: &str, examples: &[&str]) -> String {
    let mut text = rule.to_owned();
    for (i, example) in examples.iter().enumerate() {
        text.push_str(if i == 0 { " (e.g. " } else { " or " });
        text.push_str(&format!("'{example}', "));
    }
    text.push_str(if examples.is_empty() { " (" } else { "" });
    text + &format!("regex used for validation is '{regex}')")
}

fn too_long(max: usize) -> String {
    format!("must be no more than {max} bytes")
}

/// Whether a text consists of `inner` characters and starts and ends with `edge` characters.
fn has_form(text: &str, edge: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    match text.as_bytes() {
        [] => false,
        bytes @ [first, .., last] => edge(*first) && edge(*last) && bytes.iter().all(|b| inner(*b)),
        [only] => edge(*only),
    }
}

fn is_label_name(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    has_form(text, |b| b.is_ascii_alphanumeric(), inner)
}

fn is_dns_label(text: &str) -> bool {
    let edge = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    has_form(text, edge, |b| edge(b) || b == b'-')
}

fn is_dns_subdomain(text: &str) -> bool {
    text.split('.').all(is_dns_label)
}

/// A DNS subdomain (RFC 1123).
pub fn dns1123_subdomain(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 253 {
        errors.push(too_long(253));
    }
    if !is_dns_subdomain(text) {
        errors.push(regex_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
            &format!(r"{DNS_LABEL}(\.{DNS_LABEL})*"),
            &["example.com"],
        ));
    }
    errors
}

/// A DNS label (RFC 1123).
pub fn dns1123_label(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(too_long(63));
    }
    if !is_dns_label(text) {
        errors.push(if is_dns_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            regex_error(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
                DNS_LABEL,
                &["my-name", "123-abc"],
            )
        });
    }
    errors
}

/// A DNS label (RFC 1035), the form of Service names.
pub fn dns1035_label(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(too_long(63));
    }
    if !(is_dns_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase())) {
        errors.push(regex_error(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    errors
}

/// A label key, or another qualified name: an optional DNS prefix, a slash, a name.
pub fn label_key(text: &str) -> Vec<String> {
    let examples = ["MyName", "my.name", "123-abc"];
    let parts: Vec<&str> = text.split('/').collect();
    let (prefix, name) = match parts.as_slice() {
        [name] => (None, *name),
        [prefix, name] => (Some(*prefix), *name),
        _ => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                regex_error(LABEL_RULE, LABEL_NAME, &examples)
            )];
        }
    };
    let mut errors = match prefix {
        Some("") => vec!["prefix part must be non-empty".to_owned()],
        Some(prefix) => dns1123_subdomain(prefix)
            .iter()
            .map(|e| format!("prefix part {e}"))
            .collect(),
        None => Vec::new(),
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        errors.push(format!("name part {}", too_long(63)));
    }
    if !is_label_name(name) {
        errors.push(format!(
            "name part {}",
            regex_error(LABEL_RULE, LABEL_NAME, &examples)
        ));
    }
    errors
}

/// A label value; may be empty.
pub fn label_value(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(too_long(63));
    }
    if !(text.is_empty() || is_label_name(text)) {
        errors.push(regex_error(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            &format!("({LABEL_NAME})?"),
            &["MyValue", "my_value", "12345"],
        ));
    }
    errors
}

/// The reason of a condition.
pub fn condition_reason(text: &str) -> Vec<String> {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let fine = has_form(text, word, |b| word(b) || matches!(b, b',' | b':'))
        && text.starts_with(|c: char| c.is_ascii_alphabetic());
    if fine {
        return Vec::new();
    }
    vec![regex_error(
        "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
        "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?",
        &[
            "my_name",
            "MY_NAME",
            "MyName",
            "ReasonA,ReasonB",
            "ReasonA:ReasonB",
        ],
    )]
}

/// An identifier of the language C.
pub fn c_identifier(text: &str) -> Vec<String> {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if !text.is_empty() && text.bytes().all(word) && !text.starts_with(|c: char| c.is_ascii_digit())
    {
        return Vec::new();
    }
    vec![regex_error(
        "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
        "[A-Za-z_][A-Za-z0-9_]*",
        &["my_name", "MY_NAME", "MyName"],
    )]
}

/// The path after the domain in a name such as `acme.io/foo`.
pub fn http_path(text: &str) -> Vec<String> {
    let fine = |b: u8| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&b);
    if !text.is_empty() && text.bytes().all(fine) {
        return Vec::new();
    }
    vec![regex_error(
        "Invalid path",
        r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+",
        &[],
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_names_pass() {
        for key in ["cpu", "nvidia.com/gpu", "a.b-c/X_y.z-1", "0"] {
            assert!(label_key(key).is_empty(), "{key}");
        }
        for value in ["", "a", "A-b_c.9"] {
            assert!(label_value(value).is_empty(), "{value}");
        }
        assert!(dns1123_subdomain("a.b-1.c").is_empty() && dns1123_label("a-1").is_empty());
        assert!(dns1035_label("a1").is_empty() && condition_reason("A,B:c_").is_empty());
        assert!(c_identifier("_a1").is_empty() && http_path("foo/bar-1").is_empty());
    }

    #[test]
    fn invalid_names_get_the_messages_of_kubernetes() {
        assert_eq!(
            label_key("@cpu"),
            [
                "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
            ]
        );
        assert_eq!(label_key("/x"), ["prefix part must be non-empty"]);
        assert_eq!(
            label_key("A_/x")[0].split(" must").next(),
            Some("prefix part a lowercase RFC 1123 subdomain")
        );
        assert!(label_key("a/b/c")[0].starts_with("a valid label key must consist"));
        assert_eq!(label_key("")[0], "name part must be non-empty");
        assert_eq!(
            label_value(&"x".repeat(64)),
            ["must be no more than 63 bytes"]
        );
        assert_eq!(dns1123_label("a.b"), ["must not contain dots"]);
        assert_eq!(
            http_path("a b"),
            ["Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"]
        );
        for bad in ["", "-", "a-", "ä", "A"] {
            assert_eq!(dns1123_subdomain(bad).len(), 1, "{bad}");
        }
        assert_eq!(
            (dns1035_label("1a").len(), condition_reason("1a").len()),
            (1, 1)
        );
        assert_eq!((c_identifier("1a").len(), c_identifier("").len()), (1, 1));
    }
}
