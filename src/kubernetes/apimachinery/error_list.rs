//! [`ErrorList`]: upstream's `field.ErrorList`.

use serde_json::Value;

use super::field_path::FieldPath;
use kueue_lab_field::{BadValue, FieldError};

/// Field errors in the order of validation.
#[derive(Debug, Default)]
pub struct ErrorList(pub Vec<FieldError>);

impl ErrorList {
    /// `path: Required value: detail`.
    pub fn required(&mut self, path: &FieldPath<'_>, detail: &str) {
        self.0.push(FieldError::required(path, detail));
    }

    /// `path: Invalid value: value: detail`.
    pub fn invalid(
        &mut self,
        path: &FieldPath<'_>,
        value: impl BadValue,
        detail: impl Into<String>,
    ) {
        self.0.push(FieldError::invalid(path, value, detail));
    }

    /// `path: Invalid value: value_text: detail`, with a preformatted value.
    pub fn invalid_with_text(&mut self, path: &FieldPath<'_>, value_text: String, detail: &str) {
        self.0
            .push(FieldError::invalid(path, Value::Null, detail).with_bad_value_text(value_text));
    }

    /// `path: Invalid value: detail`.
    pub fn invalid_without_value(&mut self, path: &FieldPath<'_>, detail: impl Into<String>) {
        self.0.push(FieldError::invalid_without_value(path, detail));
    }

    /// One `Invalid value` error for each message.
    pub fn invalid_for_each(&mut self, path: &FieldPath<'_>, value: &str, messages: Vec<String>) {
        self.extend(FieldError::invalid_for_each(path, value, messages));
    }

    /// `path: Forbidden: detail`.
    pub fn forbidden(&mut self, path: &FieldPath<'_>, detail: impl Into<String>) {
        self.0.push(FieldError::forbidden(path, detail));
    }

    /// `path: Duplicate value: value`.
    pub fn duplicate(&mut self, path: &FieldPath<'_>, value: impl BadValue) {
        self.0.push(FieldError::duplicate(path, value));
    }

    /// `path: Not found: value`.
    pub fn not_found(&mut self, path: &FieldPath<'_>, value: impl BadValue) {
        self.0.push(FieldError::not_found(path, value));
    }

    /// `path: Too long: may not be more than N bytes`.
    pub fn too_long(&mut self, path: &FieldPath<'_>, max_bytes: usize) {
        self.0.push(FieldError::too_long(path, max_bytes));
    }

    /// `path: Too many: N: must have at most M items`, if `actual` exceeds `max`.
    pub fn at_most(&mut self, path: &FieldPath<'_>, actual: usize, max: usize) {
        if actual > max {
            self.0.push(FieldError::too_many(path, actual, max));
        }
    }

    /// `path: Unsupported value`, if the value is not supported.
    pub fn one_of(&mut self, path: &FieldPath<'_>, value: &str, supported: &[&str]) {
        if !supported.contains(&value) {
            self.0
                .push(FieldError::not_supported(path, value, supported));
        }
    }

    /// As [`one_of`](Self::one_of); an empty value is `Required`.
    pub fn required_one_of(&mut self, path: &FieldPath<'_>, value: &str, supported: &[&str]) {
        match value {
            "" => self.required(path, ""),
            value => self.one_of(path, value, supported),
        }
    }

    /// `must be greater than or equal to 0`, if the field of `object` is a negative number.
    pub fn not_negative(&mut self, path: &FieldPath<'_>, object: &Value, field: &str) {
        if let Some(n) = object.get(field).and_then(Value::as_i64)
            && n < 0
        {
            self.invalid(&path.child(field), n, "must be greater than or equal to 0");
        }
    }

    /// `field is immutable`, if the value has changed.
    pub fn immutable(&mut self, path: &FieldPath<'_>, new: &Value, old: &Value) {
        if new != old {
            self.invalid(path, new.clone(), "field is immutable");
        }
    }

    /// Appends errors.
    pub fn extend(&mut self, errors: impl IntoIterator<Item = FieldError>) {
        self.0.extend(errors);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ip_validation::{cidr, ip};

    #[test]
    fn paths_and_errors() {
        let spec = FieldPath::root("spec");
        let containers = spec.child("containers");
        let container = containers.index(1);
        let limits = container.child("limits");
        assert_eq!(
            limits.key("nvidia.com/gpu").to_string(),
            "spec.containers[1].limits[nvidia.com/gpu]"
        );
        let mut errors = ErrorList::default();
        errors.required_one_of(&spec.child("a"), "", &["X"]);
        errors.required_one_of(&spec.child("a"), "Y", &["X"]);
        errors.required_one_of(&spec.child("a"), "X", &["X"]);
        errors.not_negative(&spec, &json!({"b": -1, "c": 0}), "b");
        errors.not_negative(&spec, &json!({"b": -1, "c": 0}), "c");
        ip(&mut errors, &spec, "10.0.0.256");
        cidr(&mut errors, &spec, "10.0.0.0/33");
        cidr(&mut errors, &spec, "2001:db8::/64");
        let texts: Vec<String> = errors.0.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "spec.a: Required value",
                r#"spec.a: Unsupported value: "Y": supported values: "X""#,
                "spec.b: Invalid value: -1: must be greater than or equal to 0",
                r#"spec: Invalid value: "10.0.0.256": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#,
                r#"spec: Invalid value: "10.0.0.0/33": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"#,
            ]
        );
    }
}
