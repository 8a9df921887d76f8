//! What a pod set gets beyond what its job says: merged into the pod template when the job is
//! started, and taken out again when it is stopped.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PodSchedulingGate, PodSpec, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{PodSet, PodSetAssignment, PodSetUpdate, ResourceFlavor};

type Map = BTreeMap<String, String>;

/// Why a job cannot be started with what its Workload says; trying again does not help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PodSetInfoError {
    /// Not as many pod sets as the job has.
    #[error("invalid podset infos: expecting {want} podset, got {got}")]
    Length {
        /// Pod sets of the job.
        want: usize,
        /// Pod sets of the Workload.
        got: usize,
    },
    /// No pod set for a pod of a group.
    #[error("invalid podset infos: podSetInfo with the name '{0}' is not found")]
    NotFound(String),
    /// Another value is there already.
    #[error(
        "invalid admission check PodSetUpdate: conflict for {field}: conflict for key={key}, value1={value1}, value2={value2}"
    )]
    Conflict {
        /// Which map of the template.
        field: &'static str,
        /// The key.
        key: String,
        /// The value that is there.
        value1: String,
        /// The value that was to be added.
        value2: String,
    },
    /// The same, found in what a check asks for.
    #[error("in admission check {check:?}: {source}")]
    InCheck {
        /// Name of the check.
        check: String,
        /// The conflict.
        source: Box<PodSetInfoError>,
    },
}

/// What one pod set gets, or what it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodSetInfo {
    /// Name of the pod set.
    pub name: String,
    /// How many pods.
    pub count: i32,
    /// Annotations of the template.
    pub annotations: Map,
    /// Labels of the template.
    pub labels: Map,
    /// Node selector.
    pub node_selector: Map,
    /// Tolerations.
    pub tolerations: Vec<Toleration>,
    /// Scheduling gates.
    pub scheduling_gates: Vec<PodSchedulingGate>,
}

impl PodSetInfo {
    /// What an assignment gives: node labels and tolerations of the flavors, in the order of the
    /// resources, and the gate of topology-aware scheduling.
    pub fn from_assignment<'f>(
        assignment: &PodSetAssignment,
        pod_set: &PodSet,
        tas: bool,
        flavor: impl Fn(&str) -> Option<&'f ResourceFlavor>,
    ) -> Result<Self, String> {
        let mut info = Self {
            name: assignment.name.clone(),
            count: assignment.count.unwrap_or(pod_set.count),
            ..Self::default()
        };
        if tas && assignment.topology_assignment.is_some() {
            let asked = pod_set.topology_request.as_ref().is_some_and(|r| {
                r.preferred.is_some() || r.required.is_some() || r.unconstrained.is_some()
            });
            if !asked {
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
            let found = flavor(name)
                .ok_or_else(|| format!("ResourceFlavor.kueue.x-k8s.io \"{name}\" not found"))?;
            info.node_selector.extend(found.spec.node_labels.clone());
            info.tolerations
                .extend(found.spec.tolerations.iter().cloned());
            done.push(name);
        }
        Ok(info)
    }

    /// What an admission check asks for.
    pub fn from_update(update: &PodSetUpdate) -> Self {
        Self {
            annotations: update.annotations.clone(),
            labels: update.labels.clone(),
            node_selector: update.node_selector.clone(),
            tolerations: update.tolerations.clone(),
            ..Self::default()
        }
    }

    /// What the pod set was before anything was added.
    pub fn from_pod_set(pod_set: &PodSet) -> Self {
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

    /// Adds what another one says.
    ///
    /// # Errors
    /// A key has another value already; nothing is changed then.
    pub fn merge(&mut self, other: &Self) -> Result<(), PodSetInfoError> {
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

/// Whether two tolerations tolerate the same; for how long does not matter.
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

/// A scheduling gate of a name.
pub fn gate(name: &str) -> PodSchedulingGate {
    PodSchedulingGate {
        name: name.to_owned(),
    }
}

fn no_conflict(field: &'static str, here: &Map, there: &Map) -> Result<(), PodSetInfoError> {
    for (key, value1) in here {
        if let Some(value2) = there.get(key).filter(|v| *v != value1) {
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

/// Adds to a pod or a template.
///
/// # Errors
/// A key has another value already; nothing is changed then.
pub fn merge_into(
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
    // An elastic job may be admitted as another slice, or another chain of them, than last time.
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

/// Puts a pod template back to what it was.
pub fn restore_pod_spec(meta: &mut ObjectMeta, spec: &mut PodSpec, info: &PodSetInfo) {
    put(meta, spec, info);
}

fn put(meta: &mut ObjectMeta, spec: &mut PodSpec, info: &PodSetInfo) {
    put_map(&mut meta.annotations, &info.annotations);
    put_map(&mut meta.labels, &info.labels);
    put_map(&mut spec.node_selector, &info.node_selector);
    put_list(&mut spec.tolerations, &info.tolerations);
    put_list(&mut spec.scheduling_gates, &info.scheduling_gates);
}

/// An empty map that is there stays; one that is not, stays away.
fn put_map(place: &mut Option<Map>, value: &Map) {
    if place.as_ref().is_some_and(|m| m != value) || (place.is_none() && !value.is_empty()) {
        *place = (!value.is_empty()).then(|| value.clone());
    }
}

fn put_list<T: Clone + PartialEq>(place: &mut Option<Vec<T>>, value: &[T]) {
    if place.as_ref().is_some_and(|l| l != value) || (place.is_none() && !value.is_empty()) {
        *place = (!value.is_empty()).then(|| value.to_vec());
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
    fn what_is_merged_in_can_be_taken_out_again() {
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
    fn another_value_is_a_conflict_and_changes_nothing() {
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
    fn a_stale_workload_is_only_overwritten_on_elastic_jobs() {
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
