//! [`ApiError`]: API errors as `metav1.Status`, as `k8s.io/apimachinery/pkg/api/errors`.

use serde_json::{Value, json};

use crate::status_reason::StatusReason;
use kueue_lab_field::{FieldError, aggregate};

/// An API error, returned to the client as a `v1.Status`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// HTTP status code.
    pub code: u16,
    /// Machine-readable reason.
    pub reason: StatusReason,
    /// Human-readable message.
    pub message: String,
    /// The `details` object, or null.
    pub details: Value,
    /// `metadata.continue`: the token for an inconsistent continuation of an expired list.
    pub continue_token: Option<String>,
}

/// The qualified resource or kind in messages: `clusterqueues.kueue.x-k8s.io`, `pods`.
fn group_resource(group: &str, name: &str) -> String {
    if group.is_empty() {
        name.to_string()
    } else {
        format!("{name}.{group}")
    }
}

fn details(group: &str, kind: &str, name: &str) -> Value {
    let mut d = serde_json::Map::new();
    for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
        if !value.is_empty() {
            d.insert(key.into(), value.into());
        }
    }
    Value::Object(d)
}

impl ApiError {
    /// Any error, without details.
    pub fn new(code: u16, reason: StatusReason, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: Value::Null,
            continue_token: None,
        }
    }

    /// 404 for an object; `plural` is the resource name.
    pub fn not_found(group: &str, plural: &str, name: &str) -> Self {
        Self {
            code: 404,
            reason: StatusReason::NotFound,
            message: format!("{} {name:?} not found", group_resource(group, plural)),
            details: details(group, plural, name),
            continue_token: None,
        }
    }

    /// 404 for a path without a resource.
    pub fn no_such_resource() -> Self {
        Self {
            code: 404,
            reason: StatusReason::NotFound,
            message: "the server could not find the requested resource".into(),
            details: json!({}),
            continue_token: None,
        }
    }

    /// 409: an object with this name exists.
    pub fn already_exists(group: &str, plural: &str, name: &str) -> Self {
        Self {
            code: 409,
            reason: StatusReason::AlreadyExists,
            message: format!("{} {name:?} already exists", group_resource(group, plural)),
            details: details(group, plural, name),
            continue_token: None,
        }
    }

    /// 409: the write conflicts with the current state of the object.
    pub fn conflict(group: &str, plural: &str, name: &str, error: &str) -> Self {
        Self {
            code: 409,
            reason: StatusReason::Conflict,
            message: format!(
                "Operation cannot be fulfilled on {} {name:?}: {error}",
                group_resource(group, plural)
            ),
            details: details(group, plural, name),
            continue_token: None,
        }
    }

    /// 403; the message contains resource and object name if they are not empty.
    pub fn forbidden(group: &str, plural: &str, name: &str, error: &str) -> Self {
        let what = match (plural, name) {
            ("", _) => String::new(),
            (plural, "") => format!("{} is ", group_resource(group, plural)),
            (plural, name) => format!("{} {name:?} is ", group_resource(group, plural)),
        };
        Self {
            code: 403,
            reason: StatusReason::Forbidden,
            message: format!("{what}forbidden: {error}"),
            details: details(group, plural, name),
            continue_token: None,
        }
    }

    /// 422: field errors in the order of validation.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let all = aggregate(errors);
        let mut d = details(group, kind, name);
        d["causes"] = errors
            .iter()
            .map(|e| {
                let field = if e.path.is_empty() { "<nil>" } else { &e.path };
                json!({"reason": e.kind.reason(), "message": e.message(), "field": field})
            })
            .collect();
        Self {
            code: 422,
            reason: StatusReason::Invalid,
            message: format!("{} {name:?} is invalid: {all}", group_resource(group, kind)),
            details: d,
            continue_token: None,
        }
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, StatusReason::BadRequest, message)
    }

    /// 405.
    pub fn method_not_allowed() -> Self {
        Self {
            code: 405,
            reason: StatusReason::MethodNotAllowed,
            message: "the server does not allow this method on the requested resource".into(),
            details: json!({}),
            continue_token: None,
        }
    }

    /// 410: the requested resourceVersion or continue token is too old.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, StatusReason::Expired, message)
    }

    /// 500.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, StatusReason::InternalError, message)
    }

    /// The `v1.Status` object to send.
    pub fn to_status(&self) -> Value {
        let mut s = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if self.reason != StatusReason::Unknown {
            s["reason"] = self.reason.as_str().into();
        }
        if let Some(token) = &self.continue_token {
            s["metadata"]["continue"] = token.as_str().into();
        }
        if !self.details.is_null() {
            s["details"] = self.details.clone();
        }
        s
    }
}
