//! [`CustomLabels`]: the labels of `metrics.customLabels`.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::labels::CustomValues;
use kueue_lab_api::config::{ControllerMetricsCustomLabel, Feature};
use kueue_lab_controller::Settings;

/// The value of a label whose source has a value that is not tracked.
const UNTRACKED_VALUE: &str = "kueue.x-k8s.io/_UNTRACKED_VALUE_";

/// The kind of the object that a label comes from, in the order of the labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SourceKind {
    /// ClusterQueue.
    ClusterQueue,
    /// Cohort.
    Cohort,
    /// LocalQueue.
    LocalQueue,
    /// Workload.
    Workload,
}

impl SourceKind {
    fn named(name: Option<&str>) -> Option<Self> {
        match name {
            None | Some("" | "ClusterQueue") => Some(Self::ClusterQueue),
            Some("Cohort") => Some(Self::Cohort),
            Some("LocalQueue") => Some(Self::LocalQueue),
            Some("Workload") => Some(Self::Workload),
            Some(_) => None,
        }
    }
}

/// A label and its source.
struct CustomLabel {
    name: Arc<str>,
    source: ControllerMetricsCustomLabel,
}

/// The configured custom labels by kind of their source. Clones share them.
#[derive(Clone, Default)]
pub(super) struct CustomLabels(Arc<BTreeMap<SourceKind, Vec<CustomLabel>>>);

impl CustomLabels {
    /// The custom labels of a configuration; none without the gate CustomMetricLabels.
    pub(super) fn new(settings: &Settings) -> Self {
        match settings.enabled(Feature::CustomMetricLabels) {
            true => Self::of(&settings.configuration.metrics.custom_labels),
            false => Self::default(),
        }
    }

    fn of(labels: &[ControllerMetricsCustomLabel]) -> Self {
        let mut by_kind: BTreeMap<SourceKind, Vec<CustomLabel>> = BTreeMap::new();
        for source in labels {
            // Validation of the configuration rejects other kinds.
            if let Some(kind) = SourceKind::named(source.source_kind.as_deref()) {
                by_kind.entry(kind).or_default().push(CustomLabel {
                    name: format!("custom_{}", source.name).into(),
                    source: source.clone(),
                });
            }
        }
        Self(Arc::new(by_kind))
    }

    /// Whether a kind has custom labels.
    pub(super) fn has(&self, kind: SourceKind) -> bool {
        self.0.contains_key(&kind)
    }

    /// The labels with the values of an object; empty values without one.
    pub(super) fn values(&self, kind: SourceKind, meta: Option<&ObjectMeta>) -> CustomValues {
        let labels = self.0.get(&kind).into_iter().flatten();
        labels
            .map(|label| {
                let value = meta.map(|meta| value(&label.source, meta));
                (label.name.clone(), value.unwrap_or_default())
            })
            .collect()
    }
}

fn value(source: &ControllerMetricsCustomLabel, meta: &ObjectMeta) -> String {
    let (map, key) = if !source.source_annotation_key.is_empty() {
        (&meta.annotations, &source.source_annotation_key)
    } else if !source.source_label_key.is_empty() {
        (&meta.labels, &source.source_label_key)
    } else {
        (&meta.labels, &source.name)
    };
    let value = map.as_ref().and_then(|map| map.get(key)).cloned();
    let value = value.unwrap_or_default();
    match source.tracked_values.is_empty() || source.tracked_values.contains(&value) {
        true => value,
        false => UNTRACKED_VALUE.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_from_labels_and_annotations() {
        let label = |name: &str, kind: Option<&str>| ControllerMetricsCustomLabel {
            name: name.to_owned(),
            source_kind: kind.map(str::to_owned),
            ..Default::default()
        };
        let annotated = ControllerMetricsCustomLabel {
            source_annotation_key: "a/cost".to_owned(),
            ..label("cost", None)
        };
        let tracked = ControllerMetricsCustomLabel {
            tracked_values: vec!["gold".to_owned()],
            ..label("tier", None)
        };
        let labels = [
            label("team", Some("LocalQueue")),
            label("dept", None),
            annotated,
            tracked,
        ];
        let labels = CustomLabels::of(&labels);
        let meta: ObjectMeta = serde_json::from_value(serde_json::json!({
            "labels": {"dept": "ml", "team": "x", "tier": "silver"}, "annotations": {"a/cost": "7"},
        }))
        .unwrap();
        let pairs = |values: CustomValues| -> Vec<(String, String)> {
            values
                .into_iter()
                .map(|(name, value)| (name.to_string(), value))
                .collect()
        };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            pairs(labels.values(SourceKind::ClusterQueue, Some(&meta))),
            [
                pair("custom_dept", "ml"),
                pair("custom_cost", "7"),
                pair("custom_tier", UNTRACKED_VALUE),
            ]
        );
        assert_eq!(
            pairs(labels.values(SourceKind::LocalQueue, None)),
            [pair("custom_team", "")]
        );
        assert!(!labels.has(SourceKind::Workload));
    }
}
