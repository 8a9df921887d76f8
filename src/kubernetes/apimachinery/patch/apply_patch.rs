//! JSON patch, JSON merge patch and strategic merge patch requests.

use serde_json::{Value, json};

use super::field_validation::FieldValidation;
use super::{json_merge_patch, json_patch, strategic_merge_patch};
use crate::api_error::ApiError;
use crate::schema::decode::{DecodeError, DecodeSource};
use crate::schema::{Schema, go_format};
use crate::status_reason::StatusReason;
use kueue_lab_field::FieldError;

/// Patch types other than server-side apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchType {
    /// RFC 6902, `application/json-patch+json`.
    Json,
    /// RFC 7386, `application/merge-patch+json`.
    Merge,
    /// `application/strategic-merge-patch+json`; built-in kinds only.
    Strategic,
}

/// Result of a patch.
#[derive(Debug)]
pub struct Patched {
    /// The patched object after decoding.
    pub object: Value,
    /// Texts for `Warning` headers.
    pub warnings: Vec<String>,
}

/// Decoder for patched objects of the kind (`schema::decode::decode`): normalizes the object in
/// place and returns the paths of unknown fields, or a decoding error.
pub(crate) type Decode<'a> =
    &'a dyn Fn(&mut Value, DecodeSource) -> Result<Vec<String>, DecodeError>;

/// Applies a patch to an object. `schema` is the schema of the kind, for strategic merge and error
/// messages.
///
/// # Errors
/// The patch is malformed, does not apply, or results in an object that cannot be decoded.
pub fn patch(
    patch_type: PatchType,
    schema: &Schema,
    decode: Decode<'_>,
    current: &Value,
    body: &[u8],
    validation: FieldValidation,
) -> Result<Patched, ApiError> {
    let strict = validation != FieldValidation::Ignore;
    let mut shown = None;
    let (mut object, mut errors, source) = match patch_type {
        PatchType::Json => {
            let (object, errors) = json_patch::apply(current, body, strict)?;
            (object, errors, DecodeSource::Json)
        }
        PatchType::Merge => {
            let (patch, errors) = json_merge_patch::read(body, strict)?;
            let mut object = current.clone();
            json_merge_patch::apply(&mut object, &patch);
            shown = Some(patch);
            (object, errors, DecodeSource::Json)
        }
        PatchType::Strategic => {
            let (patch, errors) = strategic_merge_patch::read(body)?;
            let object = strategic_merge_patch::apply(schema, current.clone(), patch.clone())?;
            shown = Some(patch);
            (object, errors, DecodeSource::Unstructured)
        }
    };
    let before = object.clone();
    let invalid = |text: String| {
        let bad = match (patch_type, &shown) {
            (PatchType::Strategic, Some(patch)) => go_format::go_text(patch),
            (_, patch) => go_format::patched_text(schema, &before, patch.as_ref()),
        };
        ApiError::invalid("", "", "", &[FieldError::invalid("patch", bad, text)])
    };
    let unknown = decode(&mut object, source).map_err(|error| invalid(error.to_string()))?;
    errors.extend(unknown.iter().map(|path| format!("unknown field {path:?}")));
    match validation {
        FieldValidation::Strict if !errors.is_empty() => Err(invalid(format!(
            "strict decoding error: {}",
            errors.join(", ")
        ))),
        FieldValidation::Warn => Ok(Patched {
            object,
            warnings: errors,
        }),
        _ => Ok(Patched {
            object,
            warnings: Vec::new(),
        }),
    }
}

/// The 422 response to a JSON patch that does not apply; as upstream, without a cause.
pub(crate) fn unprocessable() -> ApiError {
    ApiError {
        details: json!({}),
        ..ApiError::new(
            422,
            StatusReason::Invalid,
            "the server rejected our request due to an error in our request",
        )
    }
}
