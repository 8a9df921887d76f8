//! The outcome of a command on the error stream.

use serde_json::{Value, json};

use super::process::CommandError;
use super::serve::StartError;

/// The format of the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatusFormat {
    /// v4 and later: a `v1.Status` in JSON.
    Json,
    /// Before v4: the text of an error; nothing for a success.
    Text,
}

/// An internal error as Kubernetes words it.
fn internal_error(message: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("Internal error occurred: {message}"),
        "reason": "InternalError",
        "details": {"causes": [{"message": message}]},
        "code": 500,
    })
}

/// The Status of an outcome. `translated` is set for v5 over WebSocket, which the API server
/// translates: it wraps the errors of the kubelet in its own.
fn outcome_status(outcome: &Result<(), CommandError>, translated: bool) -> Value {
    match outcome {
        Ok(()) => json!({"metadata": {}, "status": "Success"}),
        Err(CommandError::ExitCode(code)) => json!({
            "metadata": {}, "status": "Failure",
            "message": format!(
                "command terminated with non-zero exit code: {}{code}",
                if translated { "command terminated with exit code " } else { "exit status " }
            ),
            "reason": "NonZeroExitCode",
            "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]},
        }),
        Err(CommandError::Runtime(error)) => {
            let message = format!("error executing command in container: {error}");
            match translated {
                true => internal_error(&format!("Internal error occurred: {message}")),
                false => internal_error(&message),
            }
        }
    }
}

/// The bytes of an outcome on the error stream.
pub(super) fn encode_outcome(
    outcome: &Result<(), CommandError>,
    format: StatusFormat,
    translated: bool,
) -> Vec<u8> {
    let status = outcome_status(outcome, translated);
    match format {
        StatusFormat::Json => status.to_string().into_bytes(),
        StatusFormat::Text => status["message"].as_str().unwrap_or_default().into(),
    }
}

/// The bytes of a command that could not be started, for v5 over WebSocket.
pub(super) fn encode_start_error(error: &StartError) -> Vec<u8> {
    let status = internal_error(&format!("unable to upgrade connection: {}", error.message));
    status.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_causes() {
        let failed = Err(CommandError::ExitCode(3));
        let status = encode_outcome(&failed, StatusFormat::Json, false);
        let status: Value = serde_json::from_slice(&status).unwrap();
        assert_eq!(status["reason"], "NonZeroExitCode");
        let causes = json!([{"reason": "ExitCode", "message": "3"}]);
        assert_eq!(status["details"]["causes"], causes);
        assert_eq!(
            encode_outcome(&failed, StatusFormat::Text, false),
            b"command terminated with non-zero exit code: exit status 3"
        );
        assert_eq!(encode_outcome(&Ok(()), StatusFormat::Text, false), b"");
    }
}
