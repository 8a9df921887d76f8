//! [`ClusterObjects`]: Namespaces, LimitRanges and RuntimeClasses.
//!
//! Must not depend on queues.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{LimitRange, Namespace};
use k8s_openapi::api::node::v1::RuntimeClass;

use super::kube::limit_range::LimitRangeSummary;
use super::resources::ResourceList;
use kueue_lab_component_helpers::label_selector::Labels;

/// The latest version of Namespaces, LimitRanges and RuntimeClasses.
#[derive(Clone, Debug, Default)]
pub struct ClusterObjects {
    namespaces: BTreeMap<String, Labels>,
    limit_ranges: BTreeMap<String, BTreeMap<String, LimitRange>>,
    summaries: BTreeMap<String, LimitRangeSummary>,
    overheads: BTreeMap<String, Option<ResourceList>>,
}

impl ClusterObjects {
    /// Adds or updates a Namespace. Returns its previous labels, if it existed.
    pub fn upsert_namespace(&mut self, namespace: &Namespace) -> Option<Labels> {
        let name = namespace.metadata.name.clone().unwrap_or_default();
        self.namespaces
            .insert(name, namespace.metadata.labels.clone().unwrap_or_default())
    }

    /// Deletes a Namespace.
    pub(crate) fn remove_namespace(&mut self, name: &str) {
        self.namespaces.remove(name);
    }

    /// The labels of a Namespace, if it exists.
    pub fn namespace(&self, name: &str) -> Option<&Labels> {
        self.namespaces.get(name)
    }

    /// Adds or updates a LimitRange.
    pub fn upsert_limit_range(&mut self, range: LimitRange) {
        let namespace = range.metadata.namespace.clone().unwrap_or_default();
        let name = range.metadata.name.clone().unwrap_or_default();
        self.limit_ranges
            .entry(namespace.clone())
            .or_default()
            .insert(name, range);
        self.summarize(&namespace);
    }

    /// Deletes a LimitRange.
    pub(crate) fn remove_limit_range(&mut self, namespace: &str, name: &str) {
        if let Some(ranges) = self.limit_ranges.get_mut(namespace) {
            ranges.remove(name);
        }
        self.summarize(namespace);
    }

    fn summarize(&mut self, namespace: &str) {
        let ranges = self.limit_ranges.get(namespace);
        let summary = LimitRangeSummary::of(ranges.into_iter().flat_map(BTreeMap::values));
        if summary.is_empty() {
            self.summaries.remove(namespace);
        } else {
            self.summaries.insert(namespace.to_owned(), summary);
        }
    }

    /// The summary of the LimitRanges of a namespace, if any constrains pods.
    pub(crate) fn limit_range_summary(&self, namespace: &str) -> Option<&LimitRangeSummary> {
        self.summaries.get(namespace)
    }

    /// Adds or updates a RuntimeClass.
    pub fn upsert_runtime_class(&mut self, class: &RuntimeClass) {
        let name = class.metadata.name.clone().unwrap_or_default();
        let overhead = class
            .overhead
            .as_ref()
            .map(|o| o.pod_fixed.clone().unwrap_or_default());
        self.overheads.insert(name, overhead);
    }

    /// Deletes a RuntimeClass.
    pub(crate) fn remove_runtime_class(&mut self, name: &str) {
        self.overheads.remove(name);
    }

    /// The pod overhead of a RuntimeClass, if it exists and has one.
    pub fn overhead(&self, runtime_class: &str) -> Option<&ResourceList> {
        self.overheads.get(runtime_class)?.as_ref()
    }
}
