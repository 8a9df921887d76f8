//! Builds `AdmissionReview` requests and verifies responses.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::admission::matching::{AdmissionAttributes, operation_name};
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::status_reason::StatusReason;
use kueue_lab_json::ValueExt;

/// The supported AdmissionReview versions, preferred first.
const SUPPORTED_REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// The inputs of an AdmissionReview request.
pub(crate) struct AdmissionReviewBuilder<'a> {
    pub(crate) subject: &'a AdmissionAttributes<'a>,
    /// The API version of the request, the object and the old object.
    pub(crate) version: &'a str,
    pub(crate) object: &'a Value,
    pub(crate) old: &'a Value,
    pub(crate) uid: &'a str,
}

/// The first supported AdmissionReview version of a webhook.
pub(crate) fn review_version(hook: &Value) -> &'static str {
    let mut known = hook.list("/admissionReviewVersions").iter();
    known
        .find_map(|v| SUPPORTED_REVIEW_VERSIONS.into_iter().find(|s| v == s))
        .unwrap_or("v1")
}

impl AdmissionReviewBuilder<'_> {
    /// The `request` of an AdmissionReview, which is also the CEL variable `request`.
    pub(crate) fn admission_request(&self) -> Value {
        let (r, user) = (self.subject.request, self.subject.user);
        let own_kind = r.kind_group != r.group || r.kind_version != r.version;
        let kind = |version: &str| {
            let version = if own_kind { r.kind_version } else { version };
            json!({"group": r.kind_group, "version": version, "kind": r.kind})
        };
        let resource =
            |version: &str| json!({"group": r.group, "version": version, "resource": r.resource});
        let mut request = json!({
            "uid": self.uid,
            "kind": kind(self.version),
            "resource": resource(self.version),
            "requestKind": kind(r.version),
            "requestResource": resource(r.version),
            "operation": operation_name(r.operation),
            "userInfo": {"username": user.name, "groups": user.groups},
            "object": self.object,
            "oldObject": self.old,
            "dryRun": r.dry_run,
            "options": self.subject.options,
        });
        let texts = [
            ("subResource", r.subresource),
            ("requestSubResource", r.subresource),
            ("namespace", r.namespace),
            ("name", r.name),
        ];
        for (field, text) in texts {
            if !text.is_empty() {
                request[field] = text.into();
            }
        }
        if !user.uid.is_empty() {
            request["userInfo"]["uid"] = user.uid.as_str().into();
        }
        if !user.extra.is_empty() {
            request["userInfo"]["extra"] = json!(user.extra);
        }
        request
    }

    /// The AdmissionReview object.
    pub(crate) fn admission_review(&self, version: &str) -> Value {
        json!({
            "kind": "AdmissionReview",
            "apiVersion": format!("admission.k8s.io/{version}"),
            "request": self.admission_request(),
        })
    }
}

/// The verified response of a webhook.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct AdmissionResponse {
    pub(crate) warnings: Vec<String>,
    /// A JSON patch; empty if there is none.
    pub(crate) patch: Vec<u8>,
    /// The error when the webhook denies the request.
    pub(crate) rejection: Option<ApiError>,
}

/// A response of a webhook that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReviewResponseError {
    /// There is none.
    #[error("received invalid webhook response: webhook response was absent")]
    Absent,
    /// The review has another version or kind.
    #[error(
        "received invalid webhook response: expected webhook response of {wanted}, Kind=AdmissionReview, got {version}, Kind={kind}"
    )]
    ApiVersion {
        /// The expected API version.
        wanted: String,
        /// The API version.
        version: String,
        /// The kind.
        kind: String,
    },
    /// The response is that of another request.
    #[error("received invalid webhook response: expected response.uid={wanted:?}, got {got:?}")]
    Uid {
        /// The UID of the request.
        wanted: String,
        /// The UID of the response.
        got: String,
    },
    /// A validating webhook patches the object.
    #[error("received invalid webhook response: validating webhook may not return response.patch")]
    PatchOfValidating,
    /// The patch has no type.
    #[error(
        "received invalid webhook response: webhook returned response.patch but not response.patchType"
    )]
    NoPatchType,
    /// A validating webhook has a patch type.
    #[error(
        "received invalid webhook response: validating webhook may not return response.patchType"
    )]
    PatchTypeOfValidating,
    /// The patch type has no patch.
    #[error(
        "received invalid webhook response: webhook returned response.patchType but not response.patch"
    )]
    NoPatch,
    /// The patch type is not known.
    #[error("unsupported patch type {0:?}")]
    PatchType(String),
    /// The patch is not base64.
    #[error("received undecodable patch in webhook response: {0}")]
    Decode(#[from] base64::DecodeError),
}

/// Verifies the response of the webhook `name` to the review `uid`.
///
/// # Errors
/// The response is invalid.
pub(crate) fn verify_response(
    review: &Value,
    version: &str,
    uid: &str,
    name: &str,
    mutating: bool,
) -> Result<AdmissionResponse, ReviewResponseError> {
    let response = review.at("/response");
    if !response.is_object() {
        return Err(ReviewResponseError::Absent);
    }
    let strict = version == "v1";
    let wanted = format!("admission.k8s.io/{version}");
    let given = (review.text("/apiVersion"), review.text("/kind"));
    if strict && given != (wanted.as_str(), "AdmissionReview") {
        return Err(ReviewResponseError::ApiVersion {
            wanted,
            version: given.0.to_owned(),
            kind: given.1.to_owned(),
        });
    }
    if strict && response.text("/uid") != uid {
        return Err(ReviewResponseError::Uid {
            wanted: uid.to_owned(),
            got: response.text("/uid").to_owned(),
        });
    }
    let patch = response.text("/patch");
    if strict && !patch.is_empty() && !mutating {
        return Err(ReviewResponseError::PatchOfValidating);
    }
    if strict && !patch.is_empty() && response.text("/patchType").is_empty() {
        return Err(ReviewResponseError::NoPatchType);
    }
    let has_type = response.has("/patchType");
    if strict && has_type && !mutating {
        return Err(ReviewResponseError::PatchTypeOfValidating);
    }
    if strict && has_type && patch.is_empty() {
        return Err(ReviewResponseError::NoPatch);
    }
    // Of v1beta1 any patch is a JSON patch.
    let patch_type = response.text("/patchType");
    if strict && !patch.is_empty() && patch_type != "JSONPatch" {
        return Err(ReviewResponseError::PatchType(patch_type.to_owned()));
    }
    let warnings = response.list("/warnings").iter();
    Ok(AdmissionResponse {
        warnings: warnings
            .filter_map(|w| Some(w.as_str()?.to_string()))
            .collect(),
        patch: STANDARD.decode(patch)?,
        rejection: (!response.flag("/allowed"))
            .then(|| to_status_error(name, response.at("/status"))),
    })
}

/// The error of a denied request, from the webhook's status.
fn to_status_error(name: &str, status: &Value) -> ApiError {
    let denied = format!("admission webhook {name:?} denied the request");
    let message = match (status.text("/message"), status.text("/reason")) {
        ("", "") => format!("{denied} without explanation"),
        ("", reason) => format!("{denied}: {reason}"),
        (message, _) => format!("{denied}: {message}"),
    };
    let code = u16::try_from(status.int("/code")).unwrap_or_default();
    let code = if (400..600).contains(&code) {
        code
    } else {
        400
    };
    let mut error = ApiError::new(code, StatusReason::named(status.text("/reason")), message);
    if status.has("/details") {
        error.details = status.at("/details").clone();
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_validated() {
        let answer = |response: Value| {
            let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                "response": response});
            verify_response(&review, "v1", "u1", "hook.example.dev", true)
        };
        assert_eq!(
            answer(json!({"uid": "u1", "allowed": true})),
            Ok(AdmissionResponse::default())
        );
        let wrong = answer(json!({"uid": "u2", "allowed": true})).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "received invalid webhook response: expected response.uid=\"u1\", got \"u2\""
        );
        let patched =
            json!({"uid": "u1", "allowed": true, "patch": "W10=", "patchType": "JSONPatch"});
        assert_eq!(answer(patched).unwrap().patch, b"[]");
        assert!(answer(json!({"uid": "u1", "allowed": true, "patch": "W10="})).is_err());
        assert!(answer(Value::Null).is_err());
    }

    #[test]
    fn denials_name_the_webhook_and_the_reason() {
        let rejected = |status: Value| {
            let error = to_status_error("hook.example.dev", &status);
            (error.code, error.reason, error.message)
        };
        assert_eq!(
            rejected(json!({"code": 403, "reason": "Forbidden", "message": "no queue"})),
            (
                403,
                StatusReason::Forbidden,
                "admission webhook \"hook.example.dev\" denied the request: no queue".into()
            )
        );
        assert_eq!(
            rejected(json!({"code": 200})),
            (
                400,
                StatusReason::Unknown,
                "admission webhook \"hook.example.dev\" denied the request without explanation"
                    .into()
            )
        );
    }
}
