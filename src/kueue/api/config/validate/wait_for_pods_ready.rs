//! Validation of `waitForPodsReady`.

use super::super::{Configuration, Duration};
use crate::feature_gates::{Feature, FeatureGates};
use crate::field::{FieldError, FieldErrors, Path};
use crate::meta_validation::NOT_NEGATIVE;

pub(super) fn validate(c: &Configuration, gates: &FeatureGates) -> FieldErrors {
    let Some(waiting) = &c.wait_for_pods_ready else {
        return FieldErrors::new();
    };
    if gates.enabled(Feature::DisableWaitForPodsReady) {
        return FieldErrors::new();
    }
    let path = Path::new("waitForPodsReady");
    let mut errors = FieldErrors::new();
    if waiting.timeout == Duration::ZERO {
        errors.push(FieldError::required(
            &path.child("timeout"),
            "must be specified",
        ));
    }
    let durations = [
        ("timeout", Some(waiting.timeout)),
        ("recoveryTimeout", waiting.recovery_timeout),
    ];
    for (name, duration) in durations {
        if let Some(duration) = duration.filter(|s| s.is_negative()) {
            errors.push(FieldError::invalid(
                &path.child(name),
                &duration,
                NOT_NEGATIVE,
            ));
        }
    }
    if let Some(strategy) = &waiting.requeuing_strategy {
        let path = path.child("requeuingStrategy");
        let known = ["Creation", "Eviction"];
        if let Some(timestamp) = strategy.timestamp.as_deref().filter(|t| !known.contains(t)) {
            errors.push(FieldError::not_supported(
                &path.child("timestamp"),
                timestamp,
                &known,
            ));
        }
        for (name, number) in [
            ("backoffLimitCount", strategy.backoff_limit_count),
            ("backoffBaseSeconds", strategy.backoff_base_seconds),
            ("backoffMaxSeconds", strategy.backoff_max_seconds),
        ] {
            if let Some(number) = number.filter(|n| *n < 0) {
                errors.push(FieldError::invalid(
                    &path.child(name),
                    &number,
                    NOT_NEGATIVE,
                ));
            }
        }
    }
    errors
}
