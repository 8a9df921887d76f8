//! Seccomp profiles.

use std::collections::BTreeSet;

use kueue_lab_json::ValueExt;
use serde_json::Value;

use super::super::evaluator::PodFields;
use super::check::Violation;
use super::containers::{BadSetters, named_containers, pluralize, quoted};

const REASON: &str = "seccompProfile";
const POD_ANNOTATION: &str = "seccomp.security.alpha.kubernetes.io/pod";
const CONTAINER_ANNOTATION: &str = "container.seccomp.security.alpha.kubernetes.io/";

fn is_valid_annotation(value: &str) -> bool {
    ["runtime/default", "docker/default"].contains(&value) || value.starts_with("localhost/")
}

fn is_valid_type(profile: &Value) -> bool {
    ["Localhost", "RuntimeDefault"].contains(&profile.text("/type"))
}

/// The annotations of version 1.0 do not disable the profile.
pub(super) fn annotations(pod: PodFields<'_>) -> Option<Violation> {
    let container = |c: &Value| format!("{CONTAINER_ANNOTATION}{}", c.text("/name"));
    let keys = pod.containers().map(container);
    let forbidden: BTreeSet<String> = std::iter::once(POD_ANNOTATION.to_owned())
        .chain(keys)
        .filter_map(|key| {
            let value = pod.metadata.at("/annotations").get(&key)?.as_str()?;
            (!is_valid_annotation(value)).then(|| format!("{key}={value:?}"))
        })
        .collect();
    if forbidden.is_empty() {
        return None;
    }
    let annotations = pluralize("annotation", "annotations", forbidden.len());
    let list = Vec::from_iter(forbidden).join(", ");
    Violation::new(REASON, format!("forbidden {annotations} {list}"))
}

/// No profile is disabled.
pub(super) fn baseline(pod: PodFields<'_>) -> Option<Violation> {
    let bad = BadSetters::of(pod, "/seccompProfile", |profile| {
        (!is_valid_type(profile)).then(|| profile.text("/type"))
    });
    if bad.is_empty() {
        return None;
    }
    let detail = format!(
        "{} must not set securityContext.seccompProfile.type to {}",
        bad.joined(),
        quoted(&bad.values)
    );
    Violation::new(REASON, detail)
}

/// Each container has a profile, of its own or of the pod.
pub(super) fn restricted(pod: PodFields<'_>) -> Option<Violation> {
    if let Some(explicit) = baseline(pod) {
        return Some(explicit);
    }
    const PROFILE: &str = "/securityContext/seccompProfile";
    if is_valid_type(pod.spec.at(PROFILE)) {
        return None;
    }
    let names = pod.names_of(|container| !container.has(PROFILE));
    if names.is_empty() {
        return None;
    }
    let detail = format!(
        "pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
        named_containers(&names)
    );
    Violation::new(REASON, detail)
}
