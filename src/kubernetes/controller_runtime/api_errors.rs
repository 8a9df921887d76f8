//! Classification of API errors, as `k8s.io/apimachinery/pkg/api/errors`.

use kube::core::Status;
use kube::runtime::watcher;

/// Whether the error is `NotFound` (404).
pub fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// Ignores `NotFound`, controller-runtime's `client.IgnoreNotFound`: the result is then `None`.
///
/// # Errors
/// All others.
pub fn ignore_not_found<T>(result: kube::Result<T>) -> kube::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_not_found(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the error is `AlreadyExists`: an object has the name.
pub fn is_already_exists(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.reason == "AlreadyExists")
}

/// Whether the error is `Conflict`: the resource version is outdated.
pub fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409 && status.reason == "Conflict")
}

/// Whether a create failed because its namespace is terminating (cause `NamespaceTerminating`).
pub fn is_namespace_terminating(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    let causes = status.details.iter().flat_map(|d| &d.causes);
    status.code == 403
        && causes
            .into_iter()
            .any(|c| c.reason == "NamespaceTerminating")
}

/// The `Status` that the API server returned to a request of a watch; `None` for errors of the client.
pub fn watch_error_status(error: &watcher::Error) -> Option<&Status> {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status))
        | watcher::Error::WatchError(status) => Some(status),
        _ => None,
    }
}

/// The message of the `Status` if the API server returned one, otherwise the client's error text.
pub fn error_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}
