//! The inputs of the evaluation of policies: variables, parameters and versions of one request.

use std::sync::Arc;

use serde_json::Value;

use crate::admission::matching::AdmissionAttributes;
use kueue_lab_apiextensions::cel::activation::Activation;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::schema::Schema;
use kueue_lab_json::ValueExt;

/// Why a binding has no parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParamsError {
    /// The kind is not served.
    #[error("failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'")]
    KindNotFound {
        /// The API group.
        group: String,
        /// The version.
        version: String,
        /// The kind.
        kind: String,
    },
    /// A namespace of a kind that has none.
    #[error("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")]
    NamespaceProvided,
    /// No namespace of a kind that has one, for a request without a namespace.
    #[error(
        "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
    )]
    NoNamespace,
    /// No object is selected, and the binding denies.
    #[error("no params found for policy binding with `Deny` parameterNotFoundAction")]
    NotFound,
}

/// Dependencies of policy evaluation.
pub(crate) trait PolicyEnvironment {
    /// The CEL variables for the write, with the object in an API version.
    ///
    /// # Errors
    /// The object cannot be converted to that version.
    fn activation(&self, version: &str, object: &Value) -> Result<Activation, ApiError>;

    /// The objects of a policy's `paramKind` that a binding's `paramRef` selects.
    ///
    /// # Errors
    /// The reference is invalid or cannot be resolved.
    fn params(&self, kind: &Value, reference: &Value) -> Result<Vec<Arc<Value>>, ParamsError>;

    /// The object in an API version.
    ///
    /// # Errors
    /// The object cannot be converted.
    fn in_version(&self, version: &str, object: &Value) -> Result<Value, ApiError>;

    /// A changed object of an API version, decoded, in the version of the request and with
    /// defaults.
    ///
    /// # Errors
    /// The object cannot be decoded or converted.
    fn admitted(&self, version: &str, object: Value) -> Result<Value, ApiError>;

    /// The schema of the objects in an API version.
    ///
    /// # Errors
    /// The version is not served.
    fn schema(&self, version: &str) -> Result<Option<Arc<Schema>>, ApiError>;
}

/// The parameters of a binding; a single null if policy or binding has none.
pub(super) fn params(
    environment: &dyn PolicyEnvironment,
    policy: &Value,
    binding: &Value,
) -> Result<Vec<Arc<Value>>, ParamsError> {
    let (kind, reference) = (policy.at("/spec/paramKind"), binding.at("/spec/paramRef"));
    if kind.is_null() || reference.is_null() {
        return Ok(vec![Arc::new(Value::Null)]);
    }
    let found = environment.params(kind, reference)?;
    if found.is_empty() && reference.text("/parameterNotFoundAction") == "Deny" {
        return Err(ParamsError::NotFound);
    }
    Ok(found)
}

/// The namespace of a request; null for cluster-scoped objects.
///
/// # Errors
/// 404 when it does not exist.
pub(super) fn namespace_object(subject: &AdmissionAttributes<'_>) -> Result<Arc<Value>, ApiError> {
    let r = subject.request;
    if r.namespace.is_empty() || (r.group.is_empty() && r.resource == "namespaces") {
        return Ok(Arc::new(Value::Null));
    }
    let found = subject.reader.get("", "namespaces", "", r.namespace);
    found.ok_or_else(|| ApiError::not_found("", "namespaces", r.namespace))
}
