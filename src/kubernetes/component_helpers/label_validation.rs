//! Validation of label keys and values, with the messages of Kubernetes.
//!
//! The pod template of a Workload is not validated as a pod, so its node selector may have invalid
//! labels. Must not depend on what the labels are for.

use kueue_lab_field::name_validation::{label_value, qualified_name};

/// The field error of an invalid label key, on `path`.
pub fn key_error(key: &str, path: &str) -> Option<String> {
    let problems = qualified_name(key);
    (!problems.is_empty()).then(|| {
        let all = problems.join("; ");
        format!("{path}: Invalid value: {key:?}: {all}")
    })
}

/// The field error of an invalid label value, on `path`.
pub fn value_error(key: &str, value: &str, path: &str) -> Option<String> {
    let problems = label_value(value);
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
