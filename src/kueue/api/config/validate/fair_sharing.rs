//! Validation of `fairSharing` and `admissionFairSharing`.

use super::super::{Configuration, Duration};
use crate::field::{FieldError, FieldErrors, Path};
use crate::meta_validation::NOT_NEGATIVE;

pub(super) fn fair_sharing(c: &Configuration) -> FieldErrors {
    let Some(sharing) = &c.fair_sharing else {
        return FieldErrors::new();
    };
    let path = Path::new("fairSharing").child("preemptionStrategies");
    let (last, first) = ("LessThanOrEqualToFinalShare", "LessThanInitialShare");
    let given: Vec<&str> = sharing
        .preemption_strategies
        .iter()
        .map(String::as_str)
        .collect();
    if given.is_empty() {
        vec![FieldError::required(&path, "must be specified")]
    } else if given == [last] || given == [first] || given == [last, first] {
        FieldErrors::new()
    } else {
        let sets = [last.to_owned(), first.to_owned(), format!("{last},{first}")];
        vec![FieldError::not_supported(&path, &given, &sets)]
    }
}

pub(super) fn admission_fair_sharing(c: &Configuration) -> FieldErrors {
    let Some(sharing) = &c.admission_fair_sharing else {
        return FieldErrors::new();
    };
    let path = Path::new("admissionFairSharing");
    let half_life = sharing.usage_half_life_time;
    let mut errors = FieldErrors::new();
    if half_life.is_negative() {
        errors.push(FieldError::invalid(
            &path.child("usageHalfLifeTime"),
            &half_life,
            NOT_NEGATIVE,
        ));
    }
    if sharing.usage_sampling_interval <= Duration::ZERO {
        // Upstream prints the value of the other field here.
        let path = path.child("usageSamplingInterval");
        errors.push(FieldError::invalid(
            &path,
            &half_life,
            "must be greater than 0",
        ));
    }
    for (name, weight) in &sharing.resource_weights {
        if *weight < 0.0 {
            let path = path.child("resourceWeights").key(name);
            errors.push(FieldError::invalid(
                &path,
                &sharing.resource_weights,
                NOT_NEGATIVE,
            ));
        }
    }
    errors
}
