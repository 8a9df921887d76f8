//! The label of managed objects.

use serde_json::Value;

/// The label of every managed object; its value is the name of the preset.
pub const PRESET_LABEL: &str = "kueue-lab.dev/preset";

/// Whether an object has the preset label.
pub(super) fn is_managed(object: &Value) -> bool {
    object["metadata"]["labels"][PRESET_LABEL].is_string()
}
