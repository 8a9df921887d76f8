//! Validation of `resources.transformations` and `resources.quotaCheckStrategy`.

use std::collections::BTreeSet;

use super::super::Configuration;
use crate::feature_gates::{Feature, FeatureGates};
use crate::field::{FieldError, FieldErrors, Path};

pub(super) fn transformations(c: &Configuration) -> FieldErrors {
    let path = Path::new("resources").child("transformations");
    let mut errors = FieldErrors::new();
    let mut seen = BTreeSet::new();
    let all = c.resources.iter().flat_map(|r| &r.transformations);
    for (i, transformation) in all.enumerate() {
        let path = path.index(i);
        let strategy = transformation.strategy.as_deref().unwrap_or_default();
        let known = ["Retain", "Replace"];
        if !known.contains(&strategy) {
            let path = path.child("strategy");
            errors.push(FieldError::not_supported(
                &path,
                &transformation.strategy,
                &known,
            ));
        }
        if !seen.insert(&transformation.input) {
            errors.push(FieldError::duplicate(
                &path.child("input"),
                &transformation.input,
            ));
        }
    }
    errors
}

pub(super) fn quota_check_strategy(c: &Configuration, gates: &FeatureGates) -> FieldErrors {
    let resources = c
        .resources
        .as_ref()
        .filter(|_| gates.enabled(Feature::QuotaCheckStrategy));
    let Some((resources, strategy)) =
        resources.and_then(|r| Some((r, r.quota_check_strategy.as_deref()?)))
    else {
        return FieldErrors::new();
    };
    let path = Path::new("resources").child("quotaCheckStrategy");
    let known = ["IgnoreUndeclared", "BlockUndeclared"];
    let mut errors = FieldErrors::new();
    if strategy == known[0] && !resources.exclude_resource_prefixes.is_empty() {
        let detail =
            "excludeResourcePrefixes is not allowed when quotaCheckStrategy is IgnoreUndeclared";
        errors.push(FieldError::invalid(&path, strategy, detail));
    }
    if !known.contains(&strategy) {
        errors.push(FieldError::not_supported(&path, strategy, &known));
    }
    errors
}
