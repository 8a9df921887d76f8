//! [`PodSetInfo`]: node selectors, tolerations and more that admission adds to a pod set: merged
//! into the pod template when the job starts, and removed when it stops.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PodSchedulingGate, PodSpec, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::child_job_set::ChildJobSetError;
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{PodSet, PodSetAssignment, PodSetUpdate, ResourceFlavor};

type Map = BTreeMap<String, String>;

/// The error of pod set infos that cannot be applied to a job; retrying does not help, except for
/// [`Self::JobSet`] and [`Self::NoRuntimePatch`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PodSetInfoError {
    /// The number of pod sets differs.
    #[error("invalid podset infos: expecting {want} podset, got {got}")]
    Length {
        /// Pod sets of the job.
        want: usize,
        /// Pod sets of the Workload.
        got: usize,
    },
    /// The number of pod sets of the components of an AppWrapper differs.
    #[error("invalid podset infos: expecting {want} podsets, got {got}")]
    PodSets {
        /// Pod sets of the components.
        want: usize,
        /// Pod sets of the Workload.
        got: usize,
    },
    /// No info for the pod set of a group member.
    #[error("invalid podset infos: podSetInfo with the name '{0}' is not found")]
    NotFound(String),
    /// A key has a different value.
    #[error(
        "invalid admission check PodSetUpdate: conflict for {field}: conflict for key={key}, value1={value1}, value2={value2}"
    )]
    Conflict {
        /// The map of the template.
        field: &'static str,
        /// The key.
        key: String,
        /// The existing value.
        value1: String,
        /// The value to add.
        value2: String,
    },
    /// A conflict in a PodSetUpdate of an admission check.
    #[error("in admission check {check:?}: {source}")]
    InCheck {
        /// Name of the AdmissionCheck.
        check: String,
        /// The conflict.
        source: Box<PodSetInfoError>,
    },
    /// The JobSet of a TrainJob is not known; retried.
    #[error(transparent)]
    JobSet(#[from] ChildJobSetError),
    /// A TrainJob does not have Kueue's runtime patch; retried.
    #[error("kueue runtime patch not found")]
    NoRuntimePatch,
}

/// A ResourceFlavor that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ResourceFlavor.kueue.x-k8s.io \"{0}\" not found")]
pub(crate) struct FlavorNotFoundError(String);

/// Additions to one pod set, or its original values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PodSetInfo {
    /// Name of the pod set.
    pub name: String,
    /// Number of pods.
    pub count: i32,
    /// Annotations of the pod template.
    pub annotations: Map,
    /// Labels of the pod template.
    pub labels: Map,
    /// Node selector.
    pub node_selector: Map,
    /// Tolerations.
    pub tolerations: Vec<Toleration>,
    /// Scheduling gates.
    pub scheduling_gates: Vec<PodSchedulingGate>,
}

impl PodSetInfo {
    /// The info of an assignment: node labels and tolerations of its flavors, in the order of
    /// resources, and the topology scheduling gate.
    pub(crate) fn from_assignment<'f>(
        assignment: &PodSetAssignment,
        pod_set: &PodSet,
        tas: bool,
        flavor: impl Fn(&str) -> Option<&'f ResourceFlavor>,
    ) -> Result<Self, FlavorNotFoundError> {
        let mut info = Self {
            name: assignment.name.clone(),
            count: assignment.count.unwrap_or(pod_set.count),
            ..Self::default()
        };
        if tas && assignment.topology_assignment.is_some() {
            let requested = pod_set.topology_request.as_ref().is_some_and(|r| {
                r.preferred.is_some() || r.required.is_some() || r.unconstrained.is_some()
            });
            if !requested {
                let key = c::POD_SET_UNCONSTRAINED_TOPOLOGY_ANNOTATION.to_owned();
                info.annotations.insert(key, "true".to_owned());
            }
            info.scheduling_gates
                .push(gate(c::TOPOLOGY_SCHEDULING_GATE));
        }
        let mut done: Vec<&str> = Vec::new();
        for name in assignment.flavors.values() {
            if done.contains(&name.as_str()) {
                continue;
            }
            let found = flavor(name).ok_or_else(|| FlavorNotFoundError(name.clone()))?;
            info.node_selector.extend(found.spec.node_labels.clone());
            info.tolerations
                .extend(found.spec.tolerations.iter().cloned());
            done.push(name);
        }
        Ok(info)
    }

    /// The info of a PodSetUpdate.
    pub(crate) fn from_update(update: &PodSetUpdate) -> Self {
        Self {
            annotations: update.annotations.clone(),
            labels: update.labels.clone(),
            node_selector: update.node_selector.clone(),
            tolerations: update.tolerations.clone(),
            ..Self::default()
        }
    }

    /// The original values of a pod set.
    pub(crate) fn from_pod_set(pod_set: &PodSet) -> Self {
        let meta = pod_set.template.metadata.clone().unwrap_or_default();
        let spec = pod_set.template.spec.clone().unwrap_or_default();
        Self {
            name: pod_set.name.clone(),
            count: pod_set.count,
            annotations: meta.annotations.unwrap_or_default(),
            labels: meta.labels.unwrap_or_default(),
            node_selector: spec.node_selector.unwrap_or_default(),
            tolerations: spec.tolerations.unwrap_or_default(),
            scheduling_gates: spec.scheduling_gates.unwrap_or_default(),
        }
    }

    /// Merges another info.
    ///
    /// # Errors
    /// A key has a different value; then nothing is changed.
    pub(crate) fn merge(&mut self, other: &Self) -> Result<(), PodSetInfoError> {
        no_conflict("annotations", &self.annotations, &other.annotations)?;
        no_conflict("labels", &self.labels, &other.labels)?;
        no_conflict("nodeSelector", &self.node_selector, &other.node_selector)?;
        self.annotations.extend(other.annotations.clone());
        self.labels.extend(other.labels.clone());
        self.node_selector.extend(other.node_selector.clone());
        for toleration in &other.tolerations {
            if !self
                .tolerations
                .iter()
                .any(|t| same_toleration(t, toleration))
            {
                self.tolerations.push(toleration.clone());
            }
        }
        for gate in &other.scheduling_gates {
            if !self.scheduling_gates.contains(gate) {
                self.scheduling_gates.push(gate.clone());
            }
        }
        Ok(())
    }
}

/// Whether two tolerations are equal except for `tolerationSeconds`.
fn same_toleration(a: &Toleration, b: &Toleration) -> bool {
    let operator = |t: &Toleration| match t.operator.as_deref() {
        None | Some("") => "Equal".to_owned(),
        Some(operator) => operator.to_owned(),
    };
    let text = |s: &Option<String>| s.clone().unwrap_or_default();
    operator(a) == operator(b)
        && text(&a.key) == text(&b.key)
        && text(&a.value) == text(&b.value)
        && text(&a.effect) == text(&b.effect)
}

/// A scheduling gate.
pub(crate) fn gate(name: &str) -> PodSchedulingGate {
    PodSchedulingGate {
        name: name.to_owned(),
    }
}

fn no_conflict(field: &'static str, existing: &Map, added: &Map) -> Result<(), PodSetInfoError> {
    for (key, value1) in existing {
        if let Some(value2) = added.get(key).filter(|v| *v != value1) {
            return Err(PodSetInfoError::Conflict {
                field,
                key: key.clone(),
                value1: value1.clone(),
                value2: value2.clone(),
            });
        }
    }
    Ok(())
}

/// Merges an info into a pod or pod template.
///
/// # Errors
/// A key has a different value; then nothing is changed.
pub(crate) fn merge_into(
    meta: &mut ObjectMeta,
    spec: &mut PodSpec,
    info: &PodSetInfo,
    gates: &FeatureGates,
) -> Result<(), PodSetInfoError> {
    let mut now = PodSetInfo {
        annotations: meta.annotations.clone().unwrap_or_default(),
        labels: meta.labels.clone().unwrap_or_default(),
        node_selector: spec.node_selector.clone().unwrap_or_default(),
        tolerations: spec.tolerations.clone().unwrap_or_default(),
        scheduling_gates: spec.scheduling_gates.clone().unwrap_or_default(),
        ..PodSetInfo::default()
    };
    // An elastic job may be admitted with another slice or chain of slices than before.
    if gates.enabled(Feature::ElasticJobsViaWorkloadSlices) {
        let elastic = info
            .annotations
            .contains_key(c::WORKLOAD_SLICE_NAME_ANNOTATION);
        for key in [c::WORKLOAD_SLICE_NAME_ANNOTATION, c::WORKLOAD_ANNOTATION] {
            if elastic && info.annotations.contains_key(key) {
                now.annotations.remove(key);
            }
        }
    }
    now.merge(info)?;
    put(meta, spec, &now);
    Ok(())
}

/// Restores a pod template.
pub(crate) fn restore_pod_spec(meta: &mut ObjectMeta, spec: &mut PodSpec, info: &PodSetInfo) {
    put(meta, spec, info);
}

fn put(meta: &mut ObjectMeta, spec: &mut PodSpec, info: &PodSetInfo) {
    put_map(&mut meta.annotations, &info.annotations);
    put_map(&mut meta.labels, &info.labels);
    put_map(&mut spec.node_selector, &info.node_selector);
    put_list(&mut spec.tolerations, &info.tolerations);
    put_list(&mut spec.scheduling_gates, &info.scheduling_gates);
}

/// Sets a map; an equal one, or an absent one for an empty value, is left as it is.
fn put_map(field: &mut Option<Map>, value: &Map) {
    if field.as_ref().is_some_and(|m| m != value) || (field.is_none() && !value.is_empty()) {
        *field = (!value.is_empty()).then(|| value.clone());
    }
}

fn put_list<T: Clone + PartialEq>(field: &mut Option<Vec<T>>, value: &[T]) {
    if field.as_ref().is_some_and(|l| l != value) || (field.is_none() && !value.is_empty()) {
        *field = (!value.is_empty()).then(|| value.to_vec());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> Map {
        let pairs = pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        pairs.collect()
    }

    fn toleration(key: &str) -> Toleration {
        Toleration {
            key: Some(key.into()),
            ..Default::default()
        }
    }

    #[test]
    fn restore_reverts_merge() {
        let gates = FeatureGates::default();
        let mut meta = ObjectMeta {
            labels: Some(map(&[("a", "1")])),
            ..Default::default()
        };
        let mut spec = PodSpec {
            tolerations: Some(vec![toleration("x")]),
            ..Default::default()
        };
        let before = PodSetInfo {
            labels: map(&[("a", "1")]),
            tolerations: vec![toleration("x")],
            ..Default::default()
        };
        let (meta0, spec0) = (meta.clone(), spec.clone());
        let info = PodSetInfo {
            labels: map(&[("b", "2")]),
            node_selector: map(&[("gpu", "a100")]),
            tolerations: vec![toleration("x"), toleration("y")],
            scheduling_gates: vec![gate("g")],
            ..Default::default()
        };
        merge_into(&mut meta, &mut spec, &info, &gates).unwrap();
        assert_eq!(meta.labels, Some(map(&[("a", "1"), ("b", "2")])));
        assert_eq!(
            spec.tolerations,
            Some(vec![toleration("x"), toleration("y")])
        );
        assert_eq!(spec.node_selector, Some(map(&[("gpu", "a100")])));
        restore_pod_spec(&mut meta, &mut spec, &before);
        assert_eq!((meta, spec), (meta0, spec0));
    }

    #[test]
    fn conflicting_value_is_an_error_and_changes_nothing() {
        let gates = FeatureGates::default();
        let mut meta = ObjectMeta {
            labels: Some(map(&[("a", "1")])),
            ..Default::default()
        };
        let before = meta.clone();
        let info = PodSetInfo {
            annotations: map(&[("n", "v")]),
            labels: map(&[("a", "2")]),
            ..Default::default()
        };
        let error = merge_into(&mut meta, &mut PodSpec::default(), &info, &gates).unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid admission check PodSetUpdate: conflict for labels: conflict for key=a, value1=1, value2=2"
        );
        assert_eq!(meta, before);
    }

    #[test]
    fn workload_annotation_is_overwritten_only_on_elastic_jobs() {
        let gates = FeatureGates::default();
        let with = |pairs: &[(&str, &str)]| PodSetInfo {
            annotations: map(pairs),
            ..Default::default()
        };
        let try_it = |info: &PodSetInfo| {
            let stale = map(&[(c::WORKLOAD_ANNOTATION, "old")]);
            let mut meta = ObjectMeta {
                annotations: Some(stale),
                ..Default::default()
            };
            merge_into(&mut meta, &mut PodSpec::default(), info, &gates).is_ok()
        };
        assert!(!try_it(&with(&[(c::WORKLOAD_ANNOTATION, "new")])));
        assert!(try_it(&with(&[
            (c::WORKLOAD_ANNOTATION, "new"),
            (c::WORKLOAD_SLICE_NAME_ANNOTATION, "first"),
        ])));
    }
}
