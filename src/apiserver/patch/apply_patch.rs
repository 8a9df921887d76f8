//! Applies a patch of any type but apply.

use serde_json::{Value, json};

use super::field_validation::FieldValidation;
use super::{json_merge_patch, json_patch, strategic_merge_patch};
use crate::apimachinery::api_error::ApiError;
use crate::apimachinery::field_error::FieldError;
use crate::schema::decode::DecodeSource;
use crate::schema::{Schema, go_format};

/// The kinds of patch that are computed from the object alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchType {
    /// RFC 6902, `application/json-patch+json`.
    Json,
    /// RFC 7386, `application/merge-patch+json`.
    Merge,
    /// `application/strategic-merge-patch+json`, built-in kinds only.
    Strategic,
}

/// A patched object.
#[derive(Debug)]
pub struct Patched {
    /// The object, decoded.
    pub object: Value,
    /// Texts for `Warning` headers.
    pub warnings: Vec<String>,
}

/// How objects of the kind are decoded once patched: as `schema::decode::decode`, it settles the
/// object in place and returns the paths of unknown fields, or the text of what does not fit.
pub type Decode<'a> = &'a dyn Fn(&mut Value, DecodeSource) -> Result<Vec<String>, String>;

/// Applies a patch to an object. `schema` is the kind's, for strategic merge and error texts.
///
/// # Errors
/// The patch cannot be read or applied, or what comes out does not decode.
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
    let (mut object, mut faults, source) = match patch_type {
        PatchType::Json => {
            let (object, faults) = json_patch::apply(current, body, strict)?;
            (object, faults, DecodeSource::Json)
        }
        PatchType::Merge => {
            let (patch, faults) = json_merge_patch::read(body, strict)?;
            let mut object = current.clone();
            json_merge_patch::apply(&mut object, &patch);
            shown = Some(patch);
            (object, faults, DecodeSource::Json)
        }
        PatchType::Strategic => {
            let (patch, faults) = strategic_merge_patch::read(body)?;
            let object = strategic_merge_patch::apply(schema, current.clone(), patch.clone())?;
            shown = Some(patch);
            (object, faults, DecodeSource::Unstructured)
        }
    };
    let before = object.clone();
    let refuse = |text: String| {
        let bad = match (patch_type, &shown) {
            (PatchType::Strategic, Some(patch)) => go_format::go_text(patch),
            (_, touched) => go_format::patched_text(schema, &before, touched.as_ref()),
        };
        ApiError::invalid("", "", "", &[FieldError::invalid("patch", bad, text)])
    };
    let unknown = decode(&mut object, source).map_err(&refuse)?;
    faults.extend(unknown.iter().map(|path| format!("unknown field {path:?}")));
    match validation {
        FieldValidation::Strict if !faults.is_empty() => Err(refuse(format!(
            "strict decoding error: {}",
            faults.join(", ")
        ))),
        FieldValidation::Warn => Ok(Patched {
            object,
            warnings: faults,
        }),
        _ => Ok(Patched {
            object,
            warnings: Vec::new(),
        }),
    }
}

/// The 422 the server gives for a JSON patch that cannot be applied; it does not say why.
pub(crate) fn unprocessable() -> ApiError {
    ApiError {
        details: json!({}),
        ..ApiError::new(
            422,
            "Invalid",
            "the server rejected our request due to an error in our request",
        )
    }
}
