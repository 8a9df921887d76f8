//! Validation of `integrations`.

use std::collections::BTreeSet;

use super::super::Configuration;
use super::super::integration_frameworks::{FRAMEWORKS, Framework, gvk_from_text};
use super::managed_jobs_namespace_selector::prohibited_namespaces;
use crate::feature_gates::{Feature, FeatureGates};
use crate::field::{FieldError, FieldErrors, Path};

/// The framework behind [`Feature::SparkApplicationIntegration`].
const SPARK_APPLICATION: &str = "sparkoperator.k8s.io/sparkapplication";

pub(super) fn validate(c: &Configuration, gates: &FeatureGates) -> FieldErrors {
    let path = Path::new("integrations");
    let Some(integrations) = &c.integrations else {
        return vec![FieldError::required(&path, "cannot be empty")];
    };
    if integrations.frameworks.is_empty() {
        return vec![FieldError::required(
            &path.child("frameworks"),
            "cannot be empty",
        )];
    }
    let mut errors = FieldErrors::new();
    let mut managed = BTreeSet::new();
    for (i, name) in integrations.frameworks.iter().enumerate() {
        let path = path.child("frameworks").index(i);
        match Framework::named(name) {
            None => {
                let names: Vec<&str> = FRAMEWORKS.iter().map(|f| f.name).collect();
                errors.push(FieldError::not_supported(&path, name, &names));
            }
            Some(framework) if !managed.insert(framework.gvk()) => {
                errors.push(FieldError::duplicate(&path, name));
            }
            // Upstream's manager does not start.
            Some(framework)
                if framework.name == SPARK_APPLICATION
                    && !gates.enabled(Feature::SparkApplicationIntegration) =>
            {
                let gate = Feature::SparkApplicationIntegration;
                let detail = format!(
                    "{name} integration is alpha feature. please enable {gate} featuregate"
                );
                errors.push(FieldError::invalid(&path, name, detail));
            }
            Some(_) => {}
        }
    }
    for (i, name) in integrations.external_frameworks.iter().enumerate() {
        let path = path.child("externalFrameworks").index(i);
        match gvk_from_text(name) {
            None => {
                let detail = "must be format, 'Kind.version.group.com'";
                errors.push(FieldError::invalid(&path, name, detail));
            }
            Some(gvk) => {
                if !managed.insert(gvk) {
                    errors.push(FieldError::duplicate(&path, name));
                }
            }
        }
    }
    if integrations.frameworks.iter().any(|f| f == "pod") {
        let path = Path::new("managedJobsNamespaceSelector");
        match &c.managed_jobs_namespace_selector {
            Some(selector) => errors.extend(prohibited_namespaces(c, selector, &path)),
            None => errors.push(FieldError::required(
                &path,
                "cannot be empty when pod integration is enabled",
            )),
        }
    }
    errors
}
