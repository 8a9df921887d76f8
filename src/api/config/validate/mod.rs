//! Validation of a configuration, with upstream's messages.

mod custom_metric_labels;
mod device_class_mappings;
mod multi_kueue;
mod tls;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::feature_gates::{Feature, FeatureGates};
use super::integration_frameworks::{FRAMEWORKS, Framework, gvk_from_text};
use super::{Configuration, Duration};
use crate::field::{FieldError, FieldErrors, Path};
use crate::name_validation;
use crate::validation::meta::{NOT_NEGATIVE, label_selector, selector_matches};

/// Validates a configuration with defaults applied.
pub fn validate(configuration: &Configuration, gates: &FeatureGates) -> FieldErrors {
    let c = configuration;
    [
        wait_for_pods_ready(c, gates),
        integrations(c),
        multi_kueue::validate(c),
        fair_sharing(c),
        admission_fair_sharing(c),
        internal_certificates(c),
        transformations(c),
        device_class_mappings::validate(c, gates),
        namespace_selector(c),
        retention(c),
        tls::validate(c),
        visibility_server(c),
        custom_metric_labels::validate(c),
        quota_check(c, gates),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn wait_for_pods_ready(c: &Configuration, gates: &FeatureGates) -> FieldErrors {
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
    let spans = [
        ("timeout", Some(waiting.timeout)),
        ("recoveryTimeout", waiting.recovery_timeout),
    ];
    for (name, span) in spans {
        if let Some(span) = span.filter(|s| s.is_negative()) {
            errors.push(FieldError::invalid(&path.child(name), &span, NOT_NEGATIVE));
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

fn integrations(c: &Configuration) -> FieldErrors {
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

fn namespace_selector(c: &Configuration) -> FieldErrors {
    let path = Path::new("managedJobsNamespaceSelector");
    let selector = c.managed_jobs_namespace_selector.as_ref();
    selector.map_or_else(FieldErrors::new, |s| prohibited_namespaces(c, s, &path))
}

/// `kube-system` and Kueue's namespace must not be managed.
fn prohibited_namespaces(c: &Configuration, selector: &LabelSelector, path: &Path) -> FieldErrors {
    let mut errors = label_selector(selector, path);
    let own = c.namespace.as_deref().filter(|n| !n.is_empty());
    for namespace in ["kube-system"].into_iter().chain(own) {
        let labels = [(
            "kubernetes.io/metadata.name".to_owned(),
            namespace.to_owned(),
        )];
        if selector_matches(selector, &BTreeMap::from(labels)) == Some(true) {
            let detail = format!("should not match the {namespace:?} namespace");
            errors.push(FieldError::invalid(path, selector, detail));
        }
    }
    errors
}

fn fair_sharing(c: &Configuration) -> FieldErrors {
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

fn admission_fair_sharing(c: &Configuration) -> FieldErrors {
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

fn internal_certificates(c: &Configuration) -> FieldErrors {
    let path = Path::new("internalCertManagement");
    let Some(certificates) = c
        .internal_cert_management
        .as_ref()
        .filter(|m| m.enable.unwrap_or(false))
    else {
        return FieldErrors::new();
    };
    let check = |name: &Option<String>, field: &str, rule: fn(&str) -> Vec<String>| {
        let name = name.as_ref()?;
        let wrong = rule(name);
        (!wrong.is_empty()).then(|| FieldError::invalid(&path.child(field), name, wrong.join(",")))
    };
    let service = check(
        &certificates.webhook_service_name,
        "webhookServiceName",
        name_validation::dns1035_label,
    );
    let secret = check(
        &certificates.webhook_secret_name,
        "webhookSecretName",
        name_validation::dns1123_subdomain,
    );
    service.into_iter().chain(secret).collect()
}

fn transformations(c: &Configuration) -> FieldErrors {
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

fn retention(c: &Configuration) -> FieldErrors {
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

fn visibility_server(c: &Configuration) -> FieldErrors {
    let Some(server) = &c.visibility_server else {
        return FieldErrors::new();
    };
    let path = Path::new("visibilityServer");
    let mut errors = FieldErrors::new();
    if let Some(address) = server
        .bind_address
        .as_deref()
        .filter(|a| a.parse::<IpAddr>().is_err())
    {
        let detail = "must be a valid IP address";
        errors.push(FieldError::invalid(
            &path.child("bindAddress"),
            address,
            detail,
        ));
    }
    if let Some(port) = server.bind_port.filter(|p| !(1..=65535).contains(p)) {
        let detail = "must be a valid port number (1-65535)";
        errors.push(FieldError::invalid(&path.child("bindPort"), &port, detail));
    }
    errors
}

fn quota_check(c: &Configuration, gates: &FeatureGates) -> FieldErrors {
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
