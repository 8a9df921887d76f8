//! `DeleteOptions`, from the body and the query.

use serde_json::{Value, json};

use super::deletion_effect::{FOREGROUND, ORPHAN};
use super::request_context::RequestContext;
use crate::protobuf;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::object_meta;
use kueue_lab_apimachinery::schema::strict_json;
use kueue_lab_field::FieldError;

/// Options of a delete.
#[derive(Clone, Debug, Default)]
pub(super) struct DeleteOptions {
    pub(super) grace_period_seconds: Option<i64>,
    pub(super) propagation_policy: Option<String>,
    pub(super) orphan_dependents: Option<bool>,
    pub(super) uid: Option<String>,
    pub(super) resource_version: Option<String>,
    pub(super) dry_run: bool,
}

impl DeleteOptions {
    /// Reads the options from the body, or from the query if the body is empty.
    pub(super) fn from_request(call: &RequestContext<'_>) -> Result<Self, ApiError> {
        let body = &call.request.body;
        if body.is_empty() {
            return Self::from_query(call);
        }
        let value: Value = match call.content_type() {
            "application/yaml" => {
                strict_json::parse_yaml(body)
                    .map_err(|e| ApiError::bad_request(e.to_string()))?
                    .value
            }
            protobuf::MEDIA_TYPE => {
                protobuf::decode(body).map_err(|e| ApiError::bad_request(e.to_string()))?
            }
            _ => {
                strict_json::parse(body)
                    .map_err(|e| ApiError::bad_request(e.to_string()))?
                    .value
            }
        };
        Self::from_value(&value)
    }

    /// The options as an object.
    pub(super) fn to_value(&self) -> Value {
        let mut options = json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"});
        if let Some(seconds) = self.grace_period_seconds {
            options["gracePeriodSeconds"] = seconds.into();
        }
        let preconditions = [
            ("uid", &self.uid),
            ("resourceVersion", &self.resource_version),
        ];
        for (field, value) in preconditions {
            if let Some(value) = value {
                options["preconditions"][field] = value.as_str().into();
            }
        }
        if let Some(orphan) = self.orphan_dependents {
            options["orphanDependents"] = orphan.into();
        }
        if let Some(policy) = &self.propagation_policy {
            options["propagationPolicy"] = policy.as_str().into();
        }
        if self.dry_run {
            options["dryRun"] = json!(["All"]);
        }
        options
    }

    fn from_query(call: &RequestContext<'_>) -> Result<Self, ApiError> {
        let query = &call.query;
        let text = |key: &str| Some(query.text(key).to_string()).filter(|t| !t.is_empty());
        let options = Self {
            grace_period_seconds: query.integer("gracePeriodSeconds")?,
            propagation_policy: text("propagationPolicy"),
            orphan_dependents: query.flag("orphanDependents"),
            dry_run: query.dry_run()?,
            ..Self::default()
        };
        options.validated()
    }

    pub(super) fn from_value(value: &Value) -> Result<Self, ApiError> {
        let text = |path: &str| {
            value
                .pointer(path)
                .and_then(Value::as_str)
                .map(str::to_string)
        };
        let dry_run = value.get("dryRun").and_then(Value::as_array);
        let options = Self {
            grace_period_seconds: value.get("gracePeriodSeconds").and_then(Value::as_i64),
            propagation_policy: text("/propagationPolicy"),
            orphan_dependents: value.get("orphanDependents").and_then(Value::as_bool),
            uid: text("/preconditions/uid"),
            resource_version: text("/preconditions/resourceVersion"),
            dry_run: dry_run.is_some_and(|d| !d.is_empty()),
        };
        options.validated()
    }

    /// Rejects contradictory options.
    fn validated(self) -> Result<Self, ApiError> {
        let mut errors = Vec::new();
        if let Some(policy) = &self.propagation_policy {
            if self.orphan_dependents.is_some() {
                let reason = "orphanDependents and deletionPropagation cannot be both set";
                errors.push(FieldError::invalid(
                    "propagationPolicy",
                    policy.as_str(),
                    reason,
                ));
            }
            if !matches!(policy.as_str(), "Foreground" | "Background" | "Orphan") {
                let known = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(FieldError::not_supported(
                    "propagationPolicy",
                    policy.as_str(),
                    &known,
                ));
            }
        }
        if errors.is_empty() {
            return Ok(self);
        }
        Err(ApiError::invalid(
            "meta.k8s.io",
            "DeleteOptions",
            "",
            &errors,
        ))
    }

    /// The finalizers of an object after deletion is requested with these options.
    pub(super) fn deletion_finalizers(
        &self,
        call: &RequestContext<'_>,
        object: &Value,
    ) -> Vec<String> {
        let mut kept = object_meta::finalizers(object);
        let had = |f: &str| kept.iter().any(|k| k == f);
        let (had_orphan, had_foreground) = (had(ORPHAN), had(FOREGROUND));
        let (orphan, foreground) =
            match (self.orphan_dependents, self.propagation_policy.as_deref()) {
                (Some(orphan), _) => (orphan, false),
                (None, Some("Orphan")) => (true, false),
                (None, Some("Foreground")) => (false, true),
                (None, Some(_)) => (false, false),
                (None, None) if had_orphan || had_foreground => (had_orphan, had_foreground),
                (None, None) => (
                    call.served.kind.strategy.orphans_dependents_by_default(),
                    false,
                ),
            };
        kept.retain(|f| f != ORPHAN && f != FOREGROUND);
        kept.extend(orphan.then(|| ORPHAN.to_string()));
        kept.extend(foreground.then(|| FOREGROUND.to_string()));
        kept
    }
}
