//! Compiles the CEL selectors of requests and classes, with field errors.
//!
//! Must not depend on requests.

use k8s_openapi::api::resource::v1::DeviceSelector;

use kueue_lab_api::field::{FieldError, FieldErrors, Path};
use kueue_lab_cel::CelSelector;

/// Compiles a list of CEL selectors.
///
/// # Errors
/// Of all selectors that do not compile, at the index in `path`.
pub(super) fn compile_cel_selectors(
    selectors: Option<&Vec<DeviceSelector>>,
    path: &Path,
    context: &str,
) -> Result<Vec<CelSelector>, FieldErrors> {
    let mut compiled = Vec::new();
    let mut errors = FieldErrors::new();
    for (i, selector) in selectors.into_iter().flatten().enumerate() {
        let Some(cel) = &selector.cel else { continue };
        match CelSelector::compile(&cel.expression) {
            Ok(selector) => compiled.push(selector),
            Err(error) => {
                let path = path.index(i).child("cel").child("expression");
                let detail = format!("{context}: {error}");
                errors.push(FieldError::invalid(&path, &cel.expression, detail));
            }
        }
    }
    if errors.is_empty() {
        Ok(compiled)
    } else {
        Err(errors)
    }
}
