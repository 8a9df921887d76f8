//! Conflicts of the fields of a preset with other field managers, such as kubectl.

use std::sync::LazyLock;

use kube::core::Status;
use regex::Regex;

use crate::{Finding, Manifest};

/// The field manager of scenarios.
pub const SCENARIO_MANAGER: &str = "kueue-lab-scenario";

/// `conflict with "kubectl-edit" using kueue.x-k8s.io/v1beta2`
static MANAGER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"conflict with "([^"]+)""#).ok());

/// A field of the preset that another client changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FieldConflict {
    /// The field, such as `spec.cohortName`.
    pub(super) field: String,
    /// The field manager of the client.
    pub(super) manager: String,
}

impl FieldConflict {
    /// The warning if the value of the file replaces that of the client.
    pub(super) fn overwritten(&self, manifest: &Manifest) -> Finding {
        self.warning(manifest, "now has the value of the file again")
    }

    /// The warning if the value of the client stays.
    pub(super) fn kept(&self, manifest: &Manifest) -> Finding {
        self.warning(manifest, "differs from the file").remedy(
            "change the object in the file to replace the value, or copy the value into the file",
        )
    }

    fn warning(&self, manifest: &Manifest, effect: &str) -> Finding {
        let Self { field, manager } = self;
        manifest.warning(
            field,
            format!("{field} was changed by {manager} and {effect}"),
        )
    }
}

/// The fields of a conflict of server-side apply; `None` for other errors.
pub(super) fn field_conflicts(status: &Status) -> Option<Vec<FieldConflict>> {
    if status.reason != "Conflict" {
        return None;
    }
    let causes = status.details.as_ref()?.causes.iter();
    let of_cause = |cause: &kube::core::response::StatusCause| {
        let manager = MANAGER.as_ref()?.captures(&cause.message)?;
        // The changes of a scenario are undone at its end.
        (&manager[1] != SCENARIO_MANAGER).then(|| FieldConflict {
            field: cause.field.trim_start_matches('.').to_owned(),
            manager: manager[1].to_owned(),
        })
    };
    let conflicts: Vec<_> = causes
        .filter(|cause| cause.reason == "FieldManagerConflict")
        .filter_map(of_cause)
        .collect();
    Some(conflicts)
}

/// The warning about an object of the preset that another client deleted.
pub(super) fn deleted(manifest: &Manifest, created_again: bool) -> Finding {
    let finding = |message| manifest.warning("metadata.name", message);
    match created_again {
        true => finding("the object was deleted by another client and is created again"),
        false => finding("the object was deleted by another client")
            .remedy("change it in the file to create it again, or remove it from the file"),
    }
}
