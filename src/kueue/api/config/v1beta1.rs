//! Conversion of a v1beta1 configuration.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::Deserialize;

use super::{Configuration, Duration, defaults};
use crate::problem::Problem;
use kueue_lab_yaml::{self as yaml, Entry, Kind, Node, Position, TypeMismatch, UnknownField};

/// Settings that only v1beta1 has, removed from the document.
#[derive(Default)]
pub(super) struct V1beta1Settings {
    wait_for_pods_ready_enabled: bool,
    fair_sharing_enabled: bool,
    pod_options: Option<(PodOptions, Position)>,
    pub(super) warnings: Vec<Problem>,
    pub(super) unknown: Vec<UnknownField>,
}

/// The obsolete selection of managed pods.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodOptions {
    namespace_selector: Option<LabelSelector>,
    pod_selector: Option<LabelSelector>,
}

/// Settings that v1beta1 does not have.
const V1BETA2_ONLY: [&[&str]; 7] = [
    &["visibilityServer"],
    &["metrics", "customLabels", "sourceKind"],
    &["metrics", "customLabels", "trackedValues"],
    &["multiKueue", "clusterProfile"],
    &["multiKueue", "incrementalDispatcherConfig"],
    &["resources", "quotaCheckStrategy"],
    &["resources", "deviceClassMappings", "sources"],
];

/// Removes the v1beta1 settings from a document, so that the rest parses as v1beta2.
///
/// # Errors
/// A setting has the wrong type.
pub(super) fn extract(root: &mut Node) -> Result<V1beta1Settings, TypeMismatch> {
    let mut old = V1beta1Settings {
        wait_for_pods_ready_enabled: extract_enable(root, "waitForPodsReady")?,
        fair_sharing_enabled: extract_enable(root, "fairSharing")?,
        ..V1beta1Settings::default()
    };
    if let Some(entry) = root
        .get_mut("integrations")
        .and_then(|n| remove(n, "podOptions"))
    {
        let (options, unknown) = read_nested::<PodOptions>(&entry, "integrations.podOptions")?;
        old.unknown.extend(unknown);
        old.pod_options = Some((options, entry.at));
    }
    if let Some(entry) = remove(root, "queueVisibility") {
        old.warnings.push(Problem {
            at: entry.at,
            path: "queueVisibility".to_owned(),
            message: "no longer has an effect".to_owned(),
            remedy: Some("the visibility API lists pending workloads".to_owned()),
        });
    }
    for path in V1BETA2_ONLY {
        report_v1beta2_only(root, path, String::new(), &mut old.unknown);
    }
    Ok(old)
}

/// Removes a key of a mapping.
fn remove(node: &mut Node, key: &str) -> Option<Entry> {
    match &mut node.kind {
        Kind::Map(entries) => entries
            .iter()
            .position(|e| e.key == key)
            .map(|i| entries.remove(i)),
        _ => None,
    }
}

/// Removes `enable` of a block; without it the block has no effect.
fn extract_enable(root: &mut Node, block: &str) -> Result<bool, TypeMismatch> {
    let Some(entry) = root.get_mut(block).and_then(|n| remove(n, "enable")) else {
        return Ok(false);
    };
    read_nested::<bool>(&entry, &format!("{block}.enable")).map(|(on, _)| on)
}

/// Deserializes a part, with the paths of the document in errors.
fn read_nested<T: serde::de::DeserializeOwned>(
    entry: &Entry,
    path: &str,
) -> Result<(T, Vec<UnknownField>), TypeMismatch> {
    let below = |inner: String| {
        if inner.is_empty() {
            path.to_owned()
        } else {
            format!("{path}.{inner}")
        }
    };
    match yaml::read::<T>(&entry.value) {
        Ok((value, unknown)) => Ok((
            value,
            unknown
                .into_iter()
                .map(|u| UnknownField {
                    path: below(u.path),
                    ..u
                })
                .collect(),
        )),
        Err(error) => Err(TypeMismatch {
            path: below(error.path),
            ..error
        }),
    }
}

/// Reports a setting as unknown, in every item of the lists on its path.
fn report_v1beta2_only(node: &Node, path: &[&str], at: String, unknown: &mut Vec<UnknownField>) {
    let Some((name, rest)) = path.split_first() else {
        return;
    };
    for (i, item) in node.items().iter().enumerate() {
        report_v1beta2_only(item, path, format!("{at}[{i}]"), unknown);
    }
    let Some(entry) = node.entries().iter().find(|e| e.key == *name) else {
        return;
    };
    let path = if at.is_empty() {
        entry.key.clone()
    } else {
        format!("{at}.{}", entry.key)
    };
    if rest.is_empty() {
        unknown.push(UnknownField {
            path,
            at: entry.at,
            suggestion: None,
        });
    } else {
        report_v1beta2_only(&entry.value, rest, path, unknown);
    }
}

/// Applies the defaults of v1beta1 and converts to v1beta2: blocks that are not enabled are
/// removed, and features of v1beta2 are disabled.
pub(super) fn convert(configuration: &mut Configuration, old: V1beta1Settings) -> Vec<Problem> {
    let mut warnings = old.warnings;
    if let Some((options, at)) = old.pod_options {
        warnings.push(pod_options(configuration, options, at));
    }
    defaults::shared_by_versions(configuration);
    if old.wait_for_pods_ready_enabled {
        let waiting = configuration.wait_for_pods_ready.get_or_insert_default();
        defaults::wait_for_pods_ready(waiting, Duration::from_secs(5 * 60), true);
    } else {
        configuration.wait_for_pods_ready = None;
    }
    match &mut configuration.fair_sharing {
        Some(sharing) if old.fair_sharing_enabled => {
            if sharing.preemption_strategies.is_empty() {
                let both = ["LessThanOrEqualToFinalShare", "LessThanInitialShare"];
                sharing.preemption_strategies = both.map(str::to_owned).to_vec();
            }
        }
        sharing => *sharing = None,
    }
    warnings
}

/// Converts the namespace selector of pods to that of all jobs.
fn pod_options(configuration: &mut Configuration, options: PodOptions, at: Position) -> Problem {
    let warning = |message: &str| Problem {
        at,
        path: "integrations.podOptions".to_owned(),
        message: message.to_owned(),
        remedy: Some("write managedJobsNamespaceSelector".to_owned()),
    };
    let selector = options.namespace_selector;
    if options.pod_selector.is_some() && selector.is_none() {
        return warning("podSelector has no effect any more");
    }
    if configuration.managed_jobs_namespace_selector.is_some() {
        return warning("has no effect beside managedJobsNamespaceSelector");
    }
    configuration.managed_jobs_namespace_selector = selector;
    warning("namespaceSelector is read as managedJobsNamespaceSelector, which holds for all jobs")
}
