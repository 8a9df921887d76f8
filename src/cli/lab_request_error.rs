//! The error of a request for an object of a lab's kind.

use kueue_lab_controller_runtime::api_errors::is_not_found;
use kueue_lab_lab::request_error_message;

use super::CommandError;

/// The error of a request for an object that every running lab has: if it is not found, the cluster of the context is
/// not that of a lab. `alternative` follows the remedy.
pub(super) fn lab_request_error(
    error: &kube::Error,
    context: &str,
    alternative: &str,
) -> CommandError {
    match is_not_found(error) {
        true => CommandError::usage(format!(
            "the cluster of the context {context:?} is not the embedded cluster of a running lab; start one with `kueue-lab up`{alternative}"
        )),
        false => CommandError::failed(request_error_message(error)),
    }
}
