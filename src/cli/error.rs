//! [`CommandError`]: the error of a subcommand, with its causes, hints and exit code.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use kueue_lab_explain::ExplainError;
use kueue_lab_lab::{LabError, LocalClusterError, error_chain};
use kueue_lab_presets::StartError;
use kueue_lab_submission::SubmissionError;

use super::source_text::with_sources;

/// The error of a command.
#[derive(Clone, Debug)]
pub(super) struct CommandError {
    pub(super) kind: CommandErrorKind,
    error: Arc<dyn Error + Send + Sync>,
    /// What the user can do, one sentence each.
    hints: Vec<String>,
}

/// The kind of an error, which decides about the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandErrorKind {
    /// The request is invalid.
    Usage,
    /// The command failed.
    Failed,
    /// A job of SkyPilot did not succeed. The exit code is SkyPilot's.
    Job(u8),
}

/// What failed, and its cause.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct ErrorWithMessage {
    message: String,
    source: Arc<dyn Error + Send + Sync>,
}

impl CommandError {
    /// The request is invalid.
    pub(super) fn usage(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(CommandErrorKind::Usage, error)
    }

    /// The command failed.
    pub(super) fn failed(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(CommandErrorKind::Failed, error)
    }

    /// An error with `kind`.
    pub(super) fn new(
        kind: CommandErrorKind,
        error: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self {
            kind,
            error: Arc::from(error.into()),
            hints: Vec::new(),
        }
    }

    /// The error as the cause of another one, such as `cannot read FILE`.
    pub(super) fn with_message(self, message: impl Into<String>) -> Self {
        let error = ErrorWithMessage {
            message: message.into(),
            source: self.error,
        };
        Self {
            error: Arc::new(error),
            ..self
        }
    }

    /// Adds what the user can do.
    pub(super) fn hinting(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The exit code.
    pub(super) fn exit_code(&self) -> u8 {
        match self.kind {
            CommandErrorKind::Usage => 2,
            CommandErrorKind::Failed => 1,
            CommandErrorKind::Job(code) => code,
        }
    }

    /// The error with its causes, and a line for each hint, for stderr.
    pub(super) fn rendered(&self) -> String {
        let hints = self.hints.iter().map(|hint| format!("\nhint: {hint}"));
        format!("error: {self}{}", hints.collect::<String>())
    }
}

impl fmt::Display for CommandError {
    /// The error with its causes, each once.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&error_chain(&*self.error))
    }
}

impl Error for CommandError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

impl From<LabError> for CommandError {
    fn from(error: LabError) -> Self {
        if let LabError::Presets(StartError::Invalid(findings)) = &error {
            return Self::usage(with_sources(findings));
        }
        match error.is_usage() {
            true => Self::usage(error),
            false => Self::failed(error),
        }
    }
}

impl From<LocalClusterError> for CommandError {
    fn from(error: LocalClusterError) -> Self {
        match error.is_usage() {
            true => Self::usage(error),
            false => Self::failed(error),
        }
    }
}

impl From<ExplainError> for CommandError {
    fn from(error: ExplainError) -> Self {
        match error.is_usage() {
            true => Self::usage(error),
            false => Self::failed(error),
        }
    }
}

impl From<SubmissionError> for CommandError {
    fn from(error: SubmissionError) -> Self {
        match error.is_usage() {
            true => Self::usage(error),
            false => Self::failed(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_with_its_causes_and_a_line_for_each_hint() {
        let cause = std::io::Error::other("the disk is full");
        let error = CommandError::failed(cause)
            .with_message("cannot write lab.yaml")
            .hinting("delete files")
            .hinting("name another folder");
        let rendered = "error: cannot write lab.yaml: the disk is full\nhint: delete files\nhint: name another folder";
        assert_eq!(error.rendered(), rendered);
        assert_eq!(error.source().unwrap().to_string(), "the disk is full");
        assert_eq!(error.exit_code(), 1);
    }

    #[test]
    fn a_cause_that_the_error_names_is_not_repeated() {
        let status = kube::core::Status::failure("no such pod", "NotFound").with_code(404);
        let error = LabError::from(kube::Error::Api(status.boxed()));
        let expected = "error: cannot create the objects of kueue-system: no such pod";
        assert_eq!(CommandError::from(error).rendered(), expected);
        assert_eq!(CommandError::usage("wrong").exit_code(), 2);
    }
}
