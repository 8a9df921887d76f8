//! [`ActionError`]: the error of an action of a step.

use kueue_lab_controller_runtime::api_errors::error_message;

/// The error of an action of a step.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ActionError {
    /// The API refused a request, with this message.
    Refused(String),
    /// Any other reason.
    Failed(String),
}

impl ActionError {
    /// The message.
    pub(super) fn message(&self) -> &str {
        match self {
            Self::Refused(message) | Self::Failed(message) => message,
        }
    }

    /// The error of an object of a file.
    pub(super) fn in_file(self, file: &str) -> Self {
        match self {
            Self::Refused(message) => Self::Refused(format!("{file}: {message}")),
            Self::Failed(message) => Self::Failed(format!("{file}: {message}")),
        }
    }
}

impl From<String> for ActionError {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

impl From<&str> for ActionError {
    fn from(message: &str) -> Self {
        Self::Failed(message.to_owned())
    }
}

impl From<kube::Error> for ActionError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(_) => Self::Refused(without_object(error_message(&error))),
            error => Self::Failed(error_message(&error)),
        }
    }
}

/// The message about a patch with an unknown field, without the whole patched object.
fn without_object(message: String) -> String {
    let is_patch = message.contains("patch: Invalid value: \"{");
    match message.find("strict decoding error: ") {
        Some(start) if is_patch => message[start..].to_owned(),
        _ => message,
    }
}
