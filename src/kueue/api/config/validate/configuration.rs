//! Validation of a whole configuration.

use super::super::Configuration;
use super::{
    custom_metric_labels, device_class_mappings, fair_sharing, integrations,
    internal_cert_management, managed_jobs_namespace_selector, multi_kueue,
    object_retention_policies, resources, tls, visibility_server, wait_for_pods_ready,
};
use crate::feature_gates::FeatureGates;
use crate::field::FieldErrors;

/// Validates a configuration with defaults applied.
pub fn validate(c: &Configuration, gates: &FeatureGates) -> FieldErrors {
    [
        wait_for_pods_ready::validate(c, gates),
        integrations::validate(c, gates),
        multi_kueue::validate(c),
        fair_sharing::fair_sharing(c),
        fair_sharing::admission_fair_sharing(c),
        internal_cert_management::validate(c),
        resources::transformations(c),
        device_class_mappings::validate(c, gates),
        managed_jobs_namespace_selector::validate(c),
        object_retention_policies::validate(c),
        tls::validate(c),
        visibility_server::validate(c),
        custom_metric_labels::validate(c),
        resources::quota_check_strategy(c, gates),
    ]
    .into_iter()
    .flatten()
    .collect()
}
