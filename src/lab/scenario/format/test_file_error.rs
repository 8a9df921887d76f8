//! Why a test file cannot be used.

use kueue_lab_yaml::{Problem, source_snippet};

use crate::scenario::ScenarioError;

/// The error of an invalid test file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TestFileError {
    /// A problem in a file.
    #[error("{file}:{problem}{}{snippet}", if .snippet.is_empty() { "" } else { "\n" })]
    In {
        /// The file as the user names it.
        file: String,
        /// The position and the message.
        problem: Problem,
        /// The source line with a caret; empty if it is not known.
        snippet: String,
    },
    /// The queue configuration is invalid: the problems, with the source lines.
    #[error("{}", .0.join("\n"))]
    Queues(Vec<String>),
    /// A file cannot be read.
    #[error("{0}")]
    File(String),
}

impl TestFileError {
    /// A problem at a position of a text.
    pub(super) fn at(file: &str, text: &str, problem: Problem) -> Self {
        Self::In {
            file: file.to_owned(),
            snippet: source_snippet(text, problem.at),
            problem,
        }
    }

    /// A problem of the steps; they may be in another file.
    pub(super) fn of_steps(error: ScenarioError, file: &str, text: &str) -> Self {
        match error {
            ScenarioError::In { file: of, problem } if of == file => Self::at(file, text, problem),
            ScenarioError::In { file, problem } => {
                let text = kueue_lab_host::read_to_string(&file, kueue_lab_host::FILE_LIMIT)
                    .unwrap_or_default();
                Self::at(&file, &text, problem)
            }
            ScenarioError::File(message) => Self::File(message),
        }
    }
}
