//! A problem of a document, with its position.

use std::fmt;

use kueue_lab_yaml::{self as yaml, Position, TypeMismatch};

/// An error or warning about a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The position in the text.
    pub at: Position,
    /// The field, such as `spec.cohort`; empty for the document as a whole.
    pub path: String,
    /// The message.
    pub message: String,
    /// The remedy, if known.
    pub remedy: Option<String>,
}

impl Problem {
    /// The source line with a mark below the position, for the terminal. Empty if `text` has no
    /// such line.
    pub fn source_snippet(&self, text: &str) -> String {
        yaml::source_snippet(text, self.at)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: ", self.at.line, self.at.column)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        self.remedy
            .as_ref()
            .map_or(Ok(()), |remedy| write!(f, " ({remedy})"))
    }
}

impl From<yaml::Problem> for Problem {
    fn from(problem: yaml::Problem) -> Self {
        Self {
            at: problem.at,
            path: String::new(),
            message: problem.message,
            remedy: None,
        }
    }
}

impl From<TypeMismatch> for Problem {
    fn from(mismatch: TypeMismatch) -> Self {
        Self {
            at: mismatch.at,
            path: mismatch.path,
            message: mismatch.message,
            remedy: None,
        }
    }
}
