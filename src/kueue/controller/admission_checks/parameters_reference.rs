//! The reference of an AdmissionCheck to its parameters (upstream `util/admissioncheck`).

use kueue_lab_api::v1beta2::AdmissionCheckParametersReference;

/// The error of `spec.parameters` of an AdmissionCheck that does not resolve, with upstream's
/// messages.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadParametersRef {
    /// No `spec.parameters`.
    #[error("missing parameters reference")]
    Missing,
    /// The name is empty.
    #[error("empty name: bad parameters reference")]
    NoName,
    /// Another API group.
    #[error("wrong group {0:?}, expecting \"kueue.x-k8s.io\": bad parameters reference")]
    Group(String),
    /// Another kind than the second one.
    #[error("wrong kind {0:?}, expecting {1:?}: bad parameters reference")]
    Kind(String, &'static str),
    /// The object of the kind does not exist.
    #[error("{0}.kueue.x-k8s.io {1:?} not found")]
    NotFound(&'static str, String),
}

/// The name of the referenced object, which has to be of the kind.
///
/// # Errors
/// The reference is missing, or refers to another kind.
pub(super) fn config_name<'a>(
    reference: Option<&'a AdmissionCheckParametersReference>,
    kind: &'static str,
) -> Result<&'a str, BadParametersRef> {
    let reference = reference.ok_or(BadParametersRef::Missing)?;
    if reference.name.is_empty() {
        return Err(BadParametersRef::NoName);
    }
    if reference.api_group != kueue_lab_api::v1beta2::GROUP {
        return Err(BadParametersRef::Group(reference.api_group.clone()));
    }
    if reference.kind != kind {
        return Err(BadParametersRef::Kind(reference.kind.clone(), kind));
    }
    Ok(&reference.name)
}
