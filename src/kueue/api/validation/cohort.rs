//! Validation of Cohort.

use super::resource_groups::{QuotaOwner, fair_sharing, resource_groups};
use crate::field::{FieldErrors, Path};
use crate::v1beta2::Cohort;

/// Validates a new or updated Cohort.
pub fn cohort(cohort: &Cohort) -> FieldErrors {
    let spec = &cohort.spec;
    let path = Path::new("spec");
    let owner = QuotaOwner {
        has_parent: spec.parent().is_some(),
        parent: "parent",
        limits_lending_to_nominal: false,
    };
    let mut errors = fair_sharing(spec.fair_sharing.as_ref(), &path.child("fairSharing"));
    errors.extend(resource_groups(
        &spec.resource_groups,
        owner,
        &path.child("resourceGroups"),
    ));
    errors
}
