//! Status of an established CustomResourceDefinition.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::condition::Condition;
use crate::registry::CrdSpec;
use kueue_lab_apimachinery::object_meta;

/// The status of a CustomResourceDefinition whose names conflict with no other.
pub(crate) fn established_status(definition: &CrdSpec, now: Timestamp) -> Value {
    let now = object_meta::metav1_time(now);
    let mut status = json!({
        "acceptedNames": definition.names.to_value(),
        "storedVersions": [definition.storage_version()],
    });
    for (kind, reason, message) in [
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        (
            "Established",
            "InitialNamesAccepted",
            "the initial names have been accepted",
        ),
    ] {
        let message = message.to_string();
        Condition {
            condition_type: kind,
            status: true,
            reason,
            message,
        }
        .set(&mut status, &now);
    }
    status
}
