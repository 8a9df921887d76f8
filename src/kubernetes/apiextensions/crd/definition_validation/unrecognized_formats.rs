//! Warnings for formats that are not recognized.

use serde_json::Value;

use super::schema_accessors;
use crate::crd::formats;
use kueue_lab_json::ValueExt;

/// Warnings for unrecognized formats in the schemas that the old object does not contain.
pub fn warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let before = old.map(unknown_formats).unwrap_or_default();
    unknown_formats(new)
        .into_iter()
        .filter(|f| !before.contains(f))
        .map(|f| format!("unrecognized format {f:?}"))
        .collect()
}

fn unknown_formats(definition: &Value) -> Vec<String> {
    let mut out = Vec::new();
    for version in definition.list("/spec/versions") {
        schema_accessors::each(version.at("/schema/openAPIV3Schema"), &mut |schema| {
            let format = schema.text("/format");
            if !format.is_empty() && formats::supported(schema.text("/type"), format).is_empty() {
                out.push(format.to_string());
            }
        });
    }
    out
}
