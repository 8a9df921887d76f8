//! Options of writes.

use serde_json::{Value, json};

use super::request_context::RequestContext;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::patch::FieldValidation;
use kueue_lab_field::FieldError;

/// Options of create, update, patch and apply.
#[derive(Clone, Debug, Default)]
pub(super) struct WriteOptions {
    pub(super) dry_run: bool,
    pub(super) field_manager: String,
    pub(super) field_validation: FieldValidation,
    pub(super) force: Option<bool>,
    /// The parameters `fieldManager` and `fieldValidation` as given, for webhooks.
    pub(super) given: [(&'static str, String); 2],
}

/// The maximum length of a field manager name.
const MANAGER_MAX: usize = 128;

impl WriteOptions {
    /// Parses the options of a request; `kind` names them in errors, such as `CreateOptions`.
    pub(super) fn from_request(call: &RequestContext<'_>, kind: &str) -> Result<Self, ApiError> {
        let query = &call.query;
        let mut options = Self {
            field_manager: call.field_manager(),
            ..Self::default()
        };
        let mut errors = Vec::new();
        options.force = query.flag("force");
        if kind == "PatchOptions" {
            let apply = call.content_type() == "application/apply-patch+yaml";
            if apply && query.text("fieldManager").is_empty() {
                errors.push(FieldError::required(
                    "fieldManager",
                    "is required for apply patch",
                ));
            }
            if !apply && options.force.is_some() {
                let reason = "may not be specified for non-apply patch";
                errors.push(FieldError::forbidden("force", reason));
            }
        }
        let manager = query.text("fieldManager");
        if manager.len() > MANAGER_MAX {
            errors.push(FieldError::too_long("fieldManager", MANAGER_MAX));
        }
        if let Some((i, c)) = manager.char_indices().find(|(_, c)| c.is_control()) {
            let reason = format!("invalid character {:?} (at position {i})", c.to_string());
            errors.push(FieldError::invalid("fieldManager", manager, reason));
        }
        let dry_run: Vec<&str> = query.all("dryRun").filter(|v| !v.is_empty()).collect();
        if dry_run.iter().any(|v| *v != "All") {
            let shown = format!(
                "[{}]",
                dry_run
                    .iter()
                    .map(|v| format!("{v:?}"))
                    .collect::<Vec<_>>()
                    .join(",")
            );
            let error = FieldError::not_supported("dryRun", "", &["All"]);
            errors.push(error.with_bad_value_text(shown));
        }
        options.dry_run = !dry_run.is_empty();
        let validation = query.text("fieldValidation");
        options.field_validation = FieldValidation::of(validation).unwrap_or_else(|| {
            let known = ["", "Ignore", "Warn", "Strict"];
            errors.push(FieldError::not_supported(
                "fieldValidation",
                validation,
                &known,
            ));
            FieldValidation::Strict
        });
        options.given = ["fieldManager", "fieldValidation"].map(|p| (p, query.text(p).into()));
        if errors.is_empty() {
            return Ok(options);
        }
        Err(ApiError::invalid("meta.k8s.io", kind, "", &errors))
    }

    /// The options as an object of the kind.
    pub(super) fn to_value(&self, kind: &str) -> Value {
        let mut options = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
        if self.dry_run {
            options["dryRun"] = json!(["All"]);
        }
        for (parameter, value) in &self.given {
            if !value.is_empty() {
                options[*parameter] = value.as_str().into();
            }
        }
        options
    }
}
