//! Field management (`managedFields`) and server-side apply.

use std::sync::Arc;

use serde_json::Value;

use super::patch::APPLY;
use super::request_context::RequestContext;
use super::write_options::WriteOptions;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::fieldmanager::field_set::FieldSet;
use kueue_lab_apimachinery::fieldmanager::{self, FieldManager, VersionConverter, reset_fields};
use kueue_lab_apimachinery::patch::FieldValidation;
use kueue_lab_apimachinery::schema::Schema;
use kueue_lab_apimachinery::schema::decode::{DecodeSource, decode};
use kueue_lab_apimachinery::schema::strict_json::{self, ParsedBody};
use kueue_lab_apimachinery::status_reason::StatusReason;

impl VersionConverter for RequestContext<'_> {
    fn convert(&self, object: &Value, api_version: &str) -> Option<(Value, Arc<Schema>)> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let served = self
            .core
            .registry
            .find(group, version, &self.path.resource)?;
        let object = self
            .core
            .version_converter()
            .converted_to(&served, object)
            .ok()?;
        Some((object, served.schema()?))
    }
}

/// Updates `managedFields` of `new` after a create or update; apply has already done so.
pub(super) fn update_managed_fields(
    call: &RequestContext<'_>,
    options: &WriteOptions,
    live: Option<&Value>,
    new: &mut Value,
) {
    if call.content_type() == APPLY {
        return;
    }
    if let Some(schema) = call.served.schema() {
        let reset = reset_field_set(call, &schema);
        fieldmanager::update(&writer(call, options, &schema, &reset), live, new);
    }
}

/// Applies the configuration in the request body to the live object.
pub(super) fn server_side_apply(
    call: &RequestContext<'_>,
    schema: &Schema,
    options: &WriteOptions,
    live: Option<&Value>,
) -> Result<Value, ApiError> {
    let ParsedBody {
        value: config,
        duplicates,
    } = strict_json::parse_yaml(&call.request.body)
        .map_err(|e| ApiError::bad_request(format!("error decoding YAML: {e}")))?;
    if !config.is_object() {
        return Err(ApiError::bad_request("error decoding YAML: not an object"));
    }
    let object = apply_configuration(call, schema, options, live, &config)?;
    for path in &duplicates {
        let text = format!("duplicate field {path:?}");
        match options.field_validation {
            FieldValidation::Strict => {
                let text = format!("error strict decoding YAML: {text}");
                return Err(ApiError::bad_request(text));
            }
            FieldValidation::Warn => call.warn(text),
            FieldValidation::Ignore => {}
        }
    }
    Ok(object)
}

/// Applies a configuration to the live object.
pub(super) fn apply_configuration(
    call: &RequestContext<'_>,
    schema: &Schema,
    options: &WriteOptions,
    live: Option<&Value>,
    config: &Value,
) -> Result<Value, ApiError> {
    let reset = reset_field_set(call, schema);
    let writer = writer(call, options, schema, &reset);
    let force = options.force.unwrap_or(false);
    let mut object = fieldmanager::apply(&writer, live, config, force)?.object;
    decode(schema, &mut object, DecodeSource::Unstructured).map_err(|reason| {
        let kind = format!(
            "{}, Kind={}",
            call.served.api_version, call.served.kind.kind
        );
        let (namespace, name) = (call.namespace(), &call.path.name);
        ApiError::new(
            500,
            StatusReason::Unknown,
            format!(
                "failed to convert new object ({namespace}/{name}; {kind}) to proper version: \
                 unable to convert unstructured object to {kind}: {reason}"
            ),
        )
    })?;
    Ok(object)
}

fn writer<'a>(
    call: &'a RequestContext<'a>,
    options: &'a WriteOptions,
    schema: &'a Schema,
    reset: &'a FieldSet,
) -> FieldManager<'a> {
    FieldManager {
        manager: &options.field_manager,
        api_version: &call.served.api_version,
        kind: &call.served.kind.kind,
        subresource: &call.path.subresource,
        schema,
        versions: call,
        reset_fields: reset,
        now: call.core.clock.now(),
    }
}

/// The fields this endpoint never changes, as `resetFields`.
fn reset_field_set(call: &RequestContext<'_>, schema: &Schema) -> FieldSet {
    let kind = &call.served.kind;
    let custom = schema.is_custom();
    match (call.path.subresource.as_str(), &*kind.group, &*kind.kind) {
        ("status", ..) if custom => reset_fields(&[&["metadata"], &["spec"]]),
        ("status", "apps", _) => reset_fields(&[&["spec"], &["metadata", "labels"]]),
        ("status", "", "Pod") => reset_fields(&[
            &["spec"],
            &["metadata", "deletionTimestamp"],
            &["metadata", "ownerReferences"],
        ]),
        ("status", ..) => reset_fields(&[&["spec"]]),
        _ if kind.subresource("status").is_some() => reset_fields(&[&["status"]]),
        _ => FieldSet::default(),
    }
}
