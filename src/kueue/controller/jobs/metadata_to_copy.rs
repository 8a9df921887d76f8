//! [`MetadataToCopy`]: the labels and annotations that a Workload copies from its job.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::error::JobError;
use crate::settings::Settings;
use kueue_lab_api::config::{ControllerMetricsCustomLabel, Feature};

/// The keys of the labels and annotations that a Workload copies from its job:
/// `integrations.labelKeysToCopy` and the sources of `metrics.customLabels` with the source kind
/// `Workload`.
#[derive(Debug, Default)]
pub(super) struct MetadataToCopy {
    /// The keys of labels.
    pub(super) label_keys: BTreeSet<String>,
    /// The keys of annotations.
    pub(super) annotation_keys: BTreeSet<String>,
}

impl MetadataToCopy {
    /// The keys that a configuration names.
    pub(super) fn new(settings: &Settings) -> Self {
        let configuration = &settings.configuration;
        let mut copied = match settings.enabled(Feature::CustomMetricLabels) {
            true => Self::workload_custom_label_sources(&configuration.metrics.custom_labels),
            false => Self::default(),
        };
        let integrations = configuration.integrations.as_ref();
        let keys = integrations.map(|i| i.label_keys_to_copy.iter().cloned());
        copied.label_keys.extend(keys.into_iter().flatten());
        copied
    }

    /// The sources of the custom labels that are read from Workloads.
    fn workload_custom_label_sources(labels: &[ControllerMetricsCustomLabel]) -> Self {
        let mut sources = Self::default();
        let of_workloads = labels
            .iter()
            .filter(|label| label.source_kind.as_deref() == Some("Workload"));
        for label in of_workloads {
            if !label.source_annotation_key.is_empty() {
                let key = label.source_annotation_key.clone();
                sources.annotation_keys.insert(key);
            } else if !label.source_label_key.is_empty() {
                sources.label_keys.insert(label.source_label_key.clone());
            } else {
                sources.label_keys.insert(label.name.clone());
            }
        }
        sources
    }

    /// The labels of an object that are copied.
    pub(super) fn labels(&self, object: &ObjectMeta) -> BTreeMap<String, String> {
        filter_keys(object.labels.as_ref(), &self.label_keys)
    }

    /// The annotations of an object that are copied.
    pub(super) fn annotations(&self, object: &ObjectMeta) -> BTreeMap<String, String> {
        filter_keys(object.annotations.as_ref(), &self.annotation_keys)
    }

    /// Copies the labels and annotations of the pods of a group to its Workload.
    ///
    /// # Errors
    /// Pods have different values of a label or an annotation.
    pub(super) fn copy_from_pods(
        &self,
        pods: &[Pod],
        workload: &mut ObjectMeta,
    ) -> Result<(), JobError> {
        let pods = || pods.iter().map(|pod| &pod.metadata);
        let labels = equal_values(pods().map(|pod| self.labels(pod)), "label")?;
        let annotations = equal_values(pods().map(|pod| self.annotations(pod)), "annotation")?;
        workload.labels.get_or_insert_default().extend(labels);
        let present = workload.annotations.get_or_insert_default();
        present.extend(annotations);
        Ok(())
    }
}

/// The values of all pods.
///
/// # Errors
/// Pods have different values of one key; `what` names it.
fn equal_values(
    values: impl Iterator<Item = BTreeMap<String, String>>,
    what: &str,
) -> Result<BTreeMap<String, String>, JobError> {
    let mut merged = BTreeMap::new();
    for (key, value) in values.flatten() {
        if merged.get(&key).is_some_and(|known| *known != value) {
            let message = format!("constructing workload: pods have different {what} values");
            return Err(JobError::Retryable(message));
        }
        merged.insert(key, value);
    }
    Ok(merged)
}

fn filter_keys(
    map: Option<&BTreeMap<String, String>>,
    keys: &BTreeSet<String>,
) -> BTreeMap<String, String> {
    let entries = map.into_iter().flatten();
    entries
        .filter(|(key, _)| keys.contains(*key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::ControllerConfig;

    fn settings(gate: bool) -> Settings {
        let gate = format!("featureGates: {{CustomMetricLabels: {gate}}}\n");
        let text = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n\
            integrations: {frameworks: [batch/job], labelKeysToCopy: [team]}\n\
            metrics:\n  customLabels:\n\
            \x20 - {name: app, sourceKind: Workload, sourceLabelKey: example.com/app, trackedValues: [a]}\n\
            \x20 - {name: note, sourceKind: Workload, sourceAnnotationKey: example.com/note, trackedValues: [a]}\n\
            \x20 - {name: queue, sourceKind: ClusterQueue}\n";
        let loaded = kueue_lab_api::config::load(&format!("{text}{gate}"));
        Settings::new(ControllerConfig::from(loaded.expect("a configuration")))
    }

    fn keys(keys: &BTreeSet<String>) -> Vec<&str> {
        keys.iter().map(String::as_str).collect()
    }

    #[test]
    fn sources_of_custom_labels_are_copied_with_the_feature_gate() {
        let with = MetadataToCopy::new(&settings(true));
        assert_eq!(keys(&with.label_keys), ["example.com/app", "team"]);
        assert_eq!(keys(&with.annotation_keys), ["example.com/note"]);
        let without = MetadataToCopy::new(&settings(false));
        assert_eq!(keys(&without.label_keys), ["team"]);
        assert!(without.annotation_keys.is_empty());
    }

    #[test]
    fn a_custom_label_without_a_key_has_the_key_of_its_name() {
        let label = |kind: Option<&str>| ControllerMetricsCustomLabel {
            name: "kind".to_owned(),
            source_kind: kind.map(str::to_owned),
            ..ControllerMetricsCustomLabel::default()
        };
        let sources = MetadataToCopy::workload_custom_label_sources(&[label(Some("Workload"))]);
        assert_eq!(keys(&sources.label_keys), ["kind"]);
        let of_queues = MetadataToCopy::workload_custom_label_sources(&[label(None)]);
        assert!(of_queues.label_keys.is_empty());
    }

    #[test]
    fn other_labels_are_not_copied() {
        let map = |key: &str| {
            let other = ("other".to_owned(), "x".to_owned());
            Some(BTreeMap::from([(key.to_owned(), "a".to_owned()), other]))
        };
        let object = ObjectMeta {
            labels: map("team"),
            annotations: map("example.com/note"),
            ..ObjectMeta::default()
        };
        let copied = MetadataToCopy::new(&settings(true));
        assert_eq!(
            copied.labels(&object).into_keys().collect::<Vec<_>>(),
            ["team"]
        );
        assert_eq!(
            copied.annotations(&object).into_keys().collect::<Vec<_>>(),
            ["example.com/note"]
        );
    }

    #[test]
    fn pods_of_a_group_must_agree() {
        let pod = |note: &str| Pod {
            metadata: ObjectMeta {
                annotations: Some(BTreeMap::from([(
                    "example.com/note".to_owned(),
                    note.to_owned(),
                )])),
                ..ObjectMeta::default()
            },
            ..Pod::default()
        };
        let copied = MetadataToCopy::new(&settings(true));
        let mut workload = ObjectMeta::default();
        let equal = copied.copy_from_pods(&[pod("a"), pod("a")], &mut workload);
        assert!(equal.is_ok());
        assert_eq!(
            workload.annotations.unwrap_or_default()["example.com/note"],
            "a"
        );
        let different = copied.copy_from_pods(&[pod("a"), pod("b")], &mut ObjectMeta::default());
        assert_eq!(
            different.expect_err("different values").to_string(),
            "constructing workload: pods have different annotation values"
        );
    }
}
