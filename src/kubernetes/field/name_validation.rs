//! Validation of names, labels and other short strings, as
//! `k8s.io/apimachinery/pkg/util/validation`. Each function returns error messages; an empty list
//! means that the value is valid.

const LABEL_CHARS: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";

/// `must be no more than N characters`.
fn max_len_error(max: usize) -> String {
    format!("must be no more than {max} characters")
}

/// `must be between LO and HI, inclusive`.
pub fn inclusive_range_error(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

/// An error message with examples and the regular expression.
fn regex_error(sentence: &str, regex: &str, examples: &[&str]) -> String {
    let quoted: Vec<String> = examples.iter().map(|e| format!("'{e}', ")).collect();
    match quoted.is_empty() {
        true => format!("{sentence} (regex used for validation is '{regex}')"),
        false => format!(
            "{sentence} (e.g. {}regex used for validation is '{regex}')",
            quoted.join(" or ")
        ),
    }
}

fn is_lower_alnum(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit()
}

/// Whether a string is a DNS-1123 label, without the length limit.
fn is_dns1123_label_form(s: &str) -> bool {
    let b = s.as_bytes();
    matches!((b.first(), b.last()), (Some(f), Some(l)) if is_lower_alnum(*f) && is_lower_alnum(*l))
        && b.iter().all(|&b| is_lower_alnum(b) || b == b'-')
}

fn is_dns1123_subdomain_form(s: &str) -> bool {
    s.split('.').all(is_dns1123_label_form)
}

/// A DNS subdomain: labels joined by dots, 253 characters at most.
pub fn dns1123_subdomain(s: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if s.len() > 253 {
        messages.push(max_len_error(253));
    }
    if !is_dns1123_subdomain_form(s) {
        messages.push(regex_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
            &format!(r"{LABEL_CHARS}(\.{LABEL_CHARS})*"),
            &["example.com"],
        ));
    }
    messages
}

/// A DNS label of at most 63 characters.
pub fn dns1123_label(s: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if s.len() > 63 {
        messages.push(max_len_error(63));
    }
    if !is_dns1123_label_form(s) {
        messages.push(match is_dns1123_subdomain_form(s) {
            true => "must not contain dots".into(),
            false => regex_error(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
                LABEL_CHARS,
                &["my-name", "123-abc"],
            ),
        });
    }
    messages
}

/// A DNS label that starts with a letter.
pub fn dns1035_label(s: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if s.len() > 63 {
        messages.push(max_len_error(63));
    }
    if !is_dns1123_label_form(s) || !s.starts_with(|c: char| c.is_ascii_lowercase()) {
        messages.push(regex_error(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    messages
}

fn is_qualified_name_form(s: &str) -> bool {
    let b = s.as_bytes();
    let ends = |b: &u8| b.is_ascii_alphanumeric();
    b.first().is_some_and(ends)
        && b.last().is_some_and(ends)
        && b.iter()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

const NAME_SENTENCE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const NAME_REGEX: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const NAME_EXAMPLES: &[&str] = &["MyName", "my.name", "123-abc"];

/// A key of labels and annotations: a name with an optional DNS subdomain prefix and `/`.
pub fn qualified_name(s: &str) -> Vec<String> {
    let mut messages = Vec::new();
    let mut parts = s.split('/');
    let (prefix, name) = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => (None, name),
        (Some(prefix), Some(name), None) => (Some(prefix), name),
        _ => {
            let sentence = format!("a valid label key {NAME_SENTENCE}");
            let message = regex_error(&sentence, NAME_REGEX, NAME_EXAMPLES);
            let more = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![message + more];
        }
    };
    match prefix {
        Some("") => messages.push("prefix part must be non-empty".into()),
        Some(prefix) => {
            for message in dns1123_subdomain(prefix) {
                // The maximum of the prefix is in bytes, that of names in characters.
                let message = message.replace("253 characters", "253 bytes");
                messages.push(format!("prefix part {message}"));
            }
        }
        None => {}
    }
    if name.is_empty() {
        messages.push("name part must be non-empty".into());
    } else if name.len() > 63 {
        messages.push("name part must be no more than 63 bytes".into());
    }
    if !is_qualified_name_form(name) {
        let sentence = format!("name part {NAME_SENTENCE}");
        messages.push(regex_error(&sentence, NAME_REGEX, NAME_EXAMPLES));
    }
    messages
}

/// The value of a label.
pub fn label_value(s: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if s.len() > 63 {
        messages.push("must be no more than 63 bytes".into());
    }
    if !s.is_empty() && !is_qualified_name_form(s) {
        messages.push(regex_error(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?",
            &["MyValue", "my_value", "12345"],
        ));
    }
    messages
}

/// A key of a ConfigMap or Secret: a file name.
pub fn config_map_key(s: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if s.len() > 253 {
        messages.push(max_len_error(253));
    }
    let fine = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if s.is_empty() || !s.bytes().all(fine) {
        messages.push(regex_error(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    match s {
        "." => messages.push("must not be '.'".into()),
        ".." => messages.push("must not be '..'".into()),
        s if s.starts_with("..") => messages.push("must not start with '..'".into()),
        _ => {}
    }
    messages
}

/// The name of an environment variable.
pub fn env_var_name(s: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if s.is_empty() {
        messages.push("environment variable name must be non-empty".into());
    }
    if !s.chars().all(|c| c.is_ascii_graphic() || c == ' ') || s.contains('=') {
        messages.push("a valid environment variable name must consist only of printable ASCII characters other than '='".into());
    }
    messages
}

/// The name of a port.
pub fn port_name(s: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if s.len() > 15 {
        messages.push(max_len_error(15));
    }
    let mut add = |wrong: bool, message: &str| {
        if wrong {
            messages.push(message.to_string());
        }
    };
    let charset = !s.is_empty() && s.bytes().all(|b| is_lower_alnum(b) || b == b'-');
    add(
        !charset,
        "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
    );
    let letter = s.bytes().any(|b| b.is_ascii_lowercase());
    add(!letter, "must contain at least one letter (a-z)");
    add(s.contains("--"), "must not contain consecutive hyphens");
    let edge = s.starts_with('-') || s.ends_with('-');
    add(edge, "must not begin or end with a hyphen");
    messages
}

/// The number of a port.
pub fn port_number(n: i64) -> Vec<String> {
    if (1..=65535).contains(&n) {
        Vec::new()
    } else {
        vec![inclusive_range_error(1, 65535)]
    }
}

/// A percentage such as `25%`.
pub fn percent(s: &str) -> Vec<String> {
    let digits = s.strip_suffix('%').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return Vec::new();
    }
    vec![regex_error(
        "a valid percent string must be a numeric string followed by an ending '%'",
        "[0-9]+%",
        &["1%", "93%"],
    )]
}

/// The reason of a condition.
pub fn condition_reason(s: &str) -> Vec<String> {
    let edge = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let fine = s.starts_with(|c: char| c.is_ascii_alphabetic())
        && s.as_bytes().last().is_some_and(|b| edge(*b))
        && s.bytes().all(|b| edge(b) || matches!(b, b',' | b':'));
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
pub fn c_identifier(s: &str) -> Vec<String> {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if !s.is_empty() && s.bytes().all(word) && !s.starts_with(|c: char| c.is_ascii_digit()) {
        return Vec::new();
    }
    vec![regex_error(
        "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
        "[A-Za-z_][A-Za-z0-9_]*",
        &["my_name", "MY_NAME", "MyName"],
    )]
}

/// The path after the domain in a name such as `acme.io/foo`.
pub fn http_path(s: &str) -> Vec<String> {
    let fine = |b: u8| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&b);
    if !s.is_empty() && s.bytes().all(fine) {
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
    fn names() {
        assert!(dns1123_subdomain("a.b-c.d1").is_empty() && dns1123_label("a-1").is_empty());
        assert!(dns1123_subdomain("Bad_Name")[0].ends_with(
            r"(e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        ));
        assert_eq!(dns1123_label("a.b"), ["must not contain dots"]);
        assert!(dns1123_label("C_1")[0].ends_with(
            "(e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
        ));
        assert_eq!(dns1123_label(&"a".repeat(64)), [max_len_error(63)]);
        for bad in ["", "-a", "a-", "a..b", ".a"] {
            assert_eq!(dns1123_subdomain(bad).len(), 1, "{bad}");
        }
        assert!(dns1035_label("1a").len() == 1 && dns1035_label("a1").is_empty());
    }

    #[test]
    fn keys_and_values() {
        assert!(qualified_name("kueue.x-k8s.io/queue-name").is_empty());
        assert!(qualified_name("bad key")[0].starts_with("name part must consist of"));
        assert!(qualified_name("a/b/c")[0].starts_with("a valid label key must consist of"));
        assert_eq!(qualified_name("/a"), ["prefix part must be non-empty"]);
        assert_eq!(qualified_name("")[0], "name part must be non-empty");
        assert_eq!(
            qualified_name(&format!("{}/a", "x".repeat(254))),
            ["prefix part must be no more than 253 bytes"]
        );
        assert_eq!(
            label_value(&"x".repeat(64)),
            ["must be no more than 63 bytes"]
        );
        assert_eq!(qualified_name("a/").len(), 2);
        assert!(label_value("").is_empty() && label_value("-x-").len() == 1);
        assert!(config_map_key("a.b_c").is_empty() && config_map_key("..a").len() == 1);
        assert!(env_var_name("A=B").len() == 1 && env_var_name("1 a").is_empty());
        assert_eq!(port_name("Http").len(), 1);
        assert_eq!(port_name("").len(), 2);
        assert!(percent("25%").is_empty() && percent("%").len() == 1);
        assert!(condition_reason("A,B:c_").is_empty() && condition_reason("1a").len() == 1);
        assert!(condition_reason("A").is_empty() && condition_reason("A,").len() == 1);
        assert!(c_identifier("_a1").is_empty());
        assert_eq!((c_identifier("1a").len(), c_identifier("").len()), (1, 1));
        assert!(http_path("foo/bar-1").is_empty());
        assert_eq!(
            http_path("a b"),
            ["Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"]
        );
    }
}
