//! Validation of label keys and values, with the messages of Kubernetes.
//!
//! The pod template of a Workload is not validated as a pod, so its node selector may have invalid
//! labels. Must not depend on what the labels are for.

fn is_name(text: &str) -> bool {
    let ends = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
    let bytes = text.as_bytes();
    ends(bytes.first().copied())
        && ends(bytes.last().copied())
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(|part| {
        is_name(part)
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    })
}

fn regex(rule: &str, examples: [&str; 3], pattern: &str) -> String {
    let [a, b, c] = examples;
    format!("{rule} (e.g. '{a}',  or '{b}',  or '{c}', regex used for validation is '{pattern}')")
}

const KEY_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const KEY_PATTERN: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const KEY_EXAMPLES: [&str; 3] = ["MyName", "my.name", "123-abc"];

fn key_problems(key: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let name = match key.split('/').collect::<Vec<_>>()[..] {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                problems.push("prefix part must be non-empty".to_owned());
            } else {
                if prefix.len() > 253 {
                    problems.push("prefix part must be no more than 253 bytes".to_owned());
                }
                if !is_subdomain(prefix) {
                    problems.push("prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')".to_owned());
                }
            }
            name
        }
        _ => {
            let rule = regex(KEY_RULE, KEY_EXAMPLES, KEY_PATTERN);
            return vec![format!(
                "a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        problems.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_name(name) {
        let rule = regex(KEY_RULE, KEY_EXAMPLES, KEY_PATTERN);
        problems.push(format!("name part {rule}"));
    }
    problems
}

fn value_problems(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > 63 {
        problems.push("must be no more than 63 bytes".to_owned());
    }
    if !value.is_empty() && !is_name(value) {
        let rule = format!(
            "a valid label must be an empty string or consist of{}",
            &KEY_RULE[15..]
        );
        let pattern = format!("({KEY_PATTERN})?");
        problems.push(regex(&rule, ["MyValue", "my_value", "12345"], &pattern));
    }
    problems
}

/// The field error of an invalid label key, on `path`.
pub(super) fn key_error(key: &str, path: &str) -> Option<String> {
    let problems = key_problems(key);
    (!problems.is_empty()).then(|| {
        let all = problems.join("; ");
        format!("{path}: Invalid value: {key:?}: {all}")
    })
}

/// The field error of an invalid label value, on `path`.
pub(super) fn value_error(key: &str, value: &str, path: &str) -> Option<String> {
    let problems = value_problems(value);
    (!problems.is_empty()).then(|| {
        let all = problems.join("; ");
        format!("{path}[{key}]: Invalid value: {value:?}: {all}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_and_invalid_keys() {
        for key in ["zone", "example.com/Zone_1", "a.b-c/d"] {
            assert_eq!(key_error(key, "key"), None, "{key}");
        }
        for key in ["", "/x", "Example.com/x", "a/b/c", "-x", "x y"] {
            assert!(key_error(key, "key").is_some(), "{key}");
        }
        assert_eq!(
            key_error("x y", "key").unwrap(),
            "key: Invalid value: \"x y\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
        );
    }

    #[test]
    fn valid_and_invalid_values() {
        assert_eq!(value_error("k", "", "values[0]"), None);
        assert_eq!(value_error("k", "A_b.c", "values[0]"), None);
        assert_eq!(
            value_error("k", "a b", "values[0]").unwrap(),
            "values[0][k]: Invalid value: \"a b\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
        );
        assert!(value_error("k", &"x".repeat(64), "values[0]").is_some());
    }
}
