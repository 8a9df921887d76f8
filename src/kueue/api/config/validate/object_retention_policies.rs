//! Validation of `objectRetentionPolicies`.

use super::super::Configuration;
use crate::field::{FieldError, FieldErrors, Path};
use crate::meta_validation::NOT_NEGATIVE;

pub(super) fn validate(c: &Configuration) -> FieldErrors {
    let path = Path::new("objectRetentionPolicies").child("workloads");
    let policy = c
        .object_retention_policies
        .as_ref()
        .and_then(|p| p.workloads.as_ref());
    let spans = policy.into_iter().flat_map(|p| {
        [
            ("afterFinished", p.after_finished),
            ("afterDeactivatedByKueue", p.after_deactivated_by_kueue),
        ]
    });
    let negative = spans.filter_map(|(name, s)| Some((name, s.filter(|s| s.is_negative())?)));
    negative
        .map(|(name, s)| FieldError::invalid(&path.child(name), &s, NOT_NEGATIVE))
        .collect()
}
