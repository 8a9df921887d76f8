//! [`texts`]: values as texts.

/// Each value as text, such as the errors of a validation.
pub fn texts(values: impl IntoIterator<Item = impl ToString>) -> Vec<String> {
    values.into_iter().map(|value| value.to_string()).collect()
}
