//! Limits of the bodies that are decoded. They keep the time and the memory of decoding in
//! proportion to the size of the body.

use granit_parser::{ErrorKind, Parser};

/// Maximum nesting depth of a body, as serde_json has it for JSON.
pub const MAX_DEPTH: usize = 127;
/// Maximum number of values of a body. A value takes some 30 bytes when it is decoded, and at least
/// two when it is encoded.
pub const MAX_VALUES: usize = 200_000;
/// Up to this size, in bytes, the parser that decodes a body words its syntax errors.
const SMALL: usize = 16 << 10;

/// A body with too many values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body has more than {MAX_VALUES} values")]
pub struct TooManyValues;

/// Why a body is not parsed as YAML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// It is not UTF-8.
    #[error("yaml: control characters are not allowed")]
    ControlCharacters,
    /// It is nested too deep.
    #[error("yaml: exceeded max depth of {MAX_DEPTH}")]
    TooDeep,
    /// It has too many values.
    #[error(transparent)]
    TooManyValues(#[from] TooManyValues),
    /// The message of the parser.
    #[error("yaml: {0}")]
    Syntax(String),
    /// A value that JSON cannot represent.
    #[error("yaml: line {line}: {message}")]
    Value {
        /// The line, from 1.
        line: u32,
        /// What is wrong.
        message: String,
    },
}

/// Checks the depth and the number of values of YAML. The time that the other parser needs is
/// quadratic in the depth of flow collections, so it only parses bodies that passed this one.
///
/// # Errors
/// The limit, or the syntax error of a large body.
pub(crate) fn check_yaml(body: &[u8]) -> Result<(), YamlError> {
    let Ok(text) = std::str::from_utf8(body) else {
        return Err(YamlError::ControlCharacters);
    };
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    // Each collection has an event for its begin and its end.
    let mut left = 2 * MAX_VALUES;
    for event in Parser::new_from_str_with_options(text, options) {
        match event {
            Ok(_) => left = left.checked_sub(1).ok_or(TooManyValues)?,
            Err(error) if *error.kind() == ErrorKind::RecursionLimitExceeded => {
                return Err(YamlError::TooDeep);
            }
            Err(_) if body.len() <= SMALL => return Ok(()),
            Err(error) => return Err(YamlError::Syntax(error.to_string())),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_and_values_have_limits() {
        assert_eq!(check_yaml(b"a: [{b: 1}]"), Ok(()));
        assert_eq!(check_yaml(&b"["[..].repeat(MAX_DEPTH)), Ok(()));
        for opening in ["[", "{a: ", "- "] {
            let deep = opening.repeat(MAX_DEPTH + 1);
            let error = check_yaml(deep.as_bytes()).unwrap_err();
            assert_eq!(
                error.to_string(),
                "yaml: exceeded max depth of 127",
                "{opening}"
            );
        }
        let many = format!("[{}]", "0, ".repeat(2 * MAX_VALUES));
        assert_eq!(check_yaml(many.as_bytes()), Err(TooManyValues.into()));
        let broken = format!("a: {}\n[", "x".repeat(SMALL));
        assert!(check_yaml(broken.as_bytes()).is_err());
    }
}
