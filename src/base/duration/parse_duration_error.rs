//! [`ParseDurationError`]: the errors of Go's `time.ParseDuration`.

/// An invalid duration, worded as in Go's `time.ParseDuration`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseDurationError {
    /// The text is not a sequence of numbers with units, or does not fit into 64 bits of
    /// nanoseconds.
    #[error("time: invalid duration {}", quote(.0))]
    Invalid(String),
    /// A number has no unit.
    #[error("time: missing unit in duration {}", quote(.0))]
    MissingUnit(String),
    /// A unit does not exist.
    #[error("time: unknown unit {} in duration {}", quote(.unit), quote(.text))]
    UnknownUnit {
        /// The unit.
        unit: String,
        /// The whole text.
        text: String,
    },
}

/// Go's `time.quote`: escapes quotes, backslashes, control characters and every byte that is not
/// ASCII.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            b' '..=b'\x7f' => quoted.push(char::from(byte)),
            _ => quoted.push_str(&format!("\\x{byte:02x}")),
        }
    }
    quoted + "\""
}
