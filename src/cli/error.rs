//! The error of a subcommand and its exit code.

use kueue_lab_explain::ExplainError;
use kueue_lab_lab::{LabError, LocalClusterError};
use kueue_lab_presets::StartError;
use kueue_lab_submission::SubmissionError;

use super::source_text::with_sources;

/// The error of a command.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    /// The request is invalid. Exit code 2.
    #[error("{0}")]
    Usage(String),
    /// The command failed. Exit code 1.
    #[error("{0}")]
    Failed(String),
    /// A job of SkyPilot did not succeed. The exit code is SkyPilot's.
    #[error("{message}")]
    Job {
        /// The exit code.
        code: u8,
        /// The state of the job.
        message: String,
    },
}

impl CliError {
    pub(super) fn usage(error: impl std::fmt::Display) -> Self {
        Self::Usage(error.to_string())
    }

    pub(super) fn failed(error: impl std::fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<LabError> for CliError {
    fn from(error: LabError) -> Self {
        if let LabError::Presets(StartError::Invalid(findings)) = &error {
            return Self::Usage(with_sources(findings));
        }
        match error.is_usage() {
            true => Self::usage(error),
            false => Self::failed(error),
        }
    }
}

impl From<LocalClusterError> for CliError {
    fn from(error: LocalClusterError) -> Self {
        match error.is_usage() {
            true => Self::usage(error),
            false => Self::failed(error),
        }
    }
}

impl From<ExplainError> for CliError {
    fn from(error: ExplainError) -> Self {
        match error.is_usage() {
            true => Self::usage(error),
            false => Self::failed(error),
        }
    }
}

impl From<SubmissionError> for CliError {
    fn from(error: SubmissionError) -> Self {
        match error.is_usage() {
            true => Self::usage(error),
            false => Self::failed(error),
        }
    }
}
