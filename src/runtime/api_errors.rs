//! What API servers mean by the errors they answer with.

/// Whether an error says that the object is not there.
pub fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// Whether an error says that somebody else changed the object meanwhile.
pub fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409 && status.reason == "Conflict")
}

/// Whether an error says that nothing can be made in a namespace, since it is going away.
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

/// The words of the API server, where it is its error.
pub fn error_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}
