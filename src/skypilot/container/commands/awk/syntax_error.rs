//! [`SyntaxError`]: why a program cannot be parsed.

/// Why a program cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SyntaxError {
    /// A token is missing or unexpected; `at` is the place, such as a token.
    #[error("syntax error at {at}: {why}")]
    Unexpected { at: String, why: String },
    /// A part of the language that is left out, with its verb.
    #[error("{0} not supported")]
    NotSupported(&'static str),
    #[error("the program is nested too deeply")]
    TooDeep,
    #[error("invalid number {0}")]
    Number(String),
    #[error("unexpected character {0:?}")]
    Character(char),
    #[error("unterminated string")]
    UnterminatedString,
    #[error("unterminated regexp")]
    UnterminatedRegexp,
}
