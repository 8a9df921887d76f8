//! Pod sets: what a job's pod templates become in its Workload, and when two lists of them are the
//! same work.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Container, EnvVar, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::job_annotations::parse_bool;
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{
    PodSet, PodSetTopologyRequest, PodsetSliceRequiredTopologyConstraint,
};
use kueue_lab_api::validation::semantically_equal;

/// Leaves of each environment variable that is there twice only the last value, which is the one
/// that counts: the Workload's schema does not allow two.
pub fn sanitize_pod_sets(pod_sets: &mut [PodSet]) {
    for pod_set in pod_sets {
        if let Some(spec) = &mut Arc::make_mut(&mut pod_set.template).spec {
            let init = spec.init_containers.iter_mut().flatten();
            spec.containers
                .iter_mut()
                .chain(init)
                .for_each(sanitize_container);
        }
    }
}

fn sanitize_container(container: &mut Container) {
    let Some(env) = &mut container.env else {
        return;
    };
    let mut kept: Vec<EnvVar> = Vec::with_capacity(env.len());
    for var in env.drain(..) {
        match kept.iter_mut().find(|known| known.name == var.name) {
            Some(known) => *known = var,
            None => kept.push(var),
        }
    }
    *env = kept;
}

/// Takes the smallest counts away where partial admission is off.
pub fn clear_min_counts(pod_sets: &mut [PodSet], gates: &FeatureGates) {
    if !gates.enabled(Feature::PartialAdmission) {
        pod_sets.iter_mut().for_each(|ps| ps.min_count = None);
    }
}

/// Whether two lists of pod sets are the same work: counts and containers, and tolerations where
/// asked for.
pub fn compare_pod_set_lists(a: &[PodSet], b: &[PodSet], with_tolerations: bool) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| compare_pod_sets(a, b, with_tolerations))
}

fn compare_pod_sets(a: &PodSet, b: &PodSet, with_tolerations: bool) -> bool {
    let empty = PodSpec::default();
    let (sa, sb) = (
        a.template.spec.as_ref().unwrap_or(&empty),
        b.template.spec.as_ref().unwrap_or(&empty),
    );
    let tolerations = |s: &PodSpec| s.tolerations.clone().unwrap_or_default();
    let init = |s: &PodSpec| s.init_containers.clone().unwrap_or_default();
    a.count == b.count
        && a.min_count == b.min_count
        && (!with_tolerations || semantically_equal(&tolerations(sa), &tolerations(sb)))
        && semantically_equal(&init(sa), &init(sb))
        && semantically_equal(&sa.containers, &sb.containers)
}

/// Which labels number the pods of a set, where its kind of job has such.
#[derive(Clone, Copy, Debug, Default)]
pub struct TopologyIndexLabels<'a> {
    /// The label that numbers the pods.
    pub pod_index_label: Option<&'a str>,
    /// The label that numbers groups of pods within the set.
    pub sub_group_index_label: Option<&'a str>,
    /// How many groups there are.
    pub sub_group_count: Option<i32>,
}

/// What the annotations of a template ask of topology-aware scheduling.
///
/// # Errors
/// An annotation cannot be read.
pub fn pod_set_topology_request(
    template: Option<&ObjectMeta>,
    indexes: TopologyIndexLabels<'_>,
    gates: &FeatureGates,
) -> Result<Option<PodSetTopologyRequest>, String> {
    if !gates.enabled(Feature::TopologyAwareScheduling) {
        return Ok(None);
    }
    let annotations = template.and_then(|meta| meta.annotations.as_ref());
    let get = |key: &str| annotations.and_then(|map| map.get(key)).cloned();
    let mut request = PodSetTopologyRequest::default();
    let slice_topology = get(c::POD_SET_SLICE_REQUIRED_TOPOLOGY_ANNOTATION);
    let slice_size = get(c::POD_SET_SLICE_SIZE_ANNOTATION);
    let layers = get(c::POD_SET_SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS_ANNOTATION);
    if let Some(level) = get(c::POD_SET_REQUIRED_TOPOLOGY_ANNOTATION) {
        request.required = Some(level);
    } else if let Some(level) = get(c::POD_SET_PREFERRED_TOPOLOGY_ANNOTATION) {
        request.preferred = Some(level);
    } else if let Some(text) = get(c::POD_SET_UNCONSTRAINED_TOPOLOGY_ANNOTATION) {
        let bad = || format!("strconv.ParseBool: parsing {text:?}: invalid syntax");
        request.unconstrained = Some(parse_bool(&text).ok_or_else(bad)?);
    } else {
        let sliced = (slice_topology.is_some() && slice_size.is_some()) || layers.is_some();
        let numbered = indexes.pod_index_label.is_some()
            || indexes.sub_group_index_label.is_some()
            || indexes.sub_group_count.is_some();
        if !sliced && !numbered {
            return Ok(None);
        }
    }
    match (layers, slice_topology, slice_size) {
        (Some(text), _, _) if gates.enabled(Feature::TASMultiLayerTopology) => {
            request.podset_slice_required_topology_constraints = parse_layers(&text)?;
        }
        (_, Some(level), Some(text)) => {
            let bad = || format!("strconv.ParseInt: parsing {text:?}: invalid syntax");
            request.pod_set_slice_size = Some(text.parse().map_err(|_| bad())?);
            request.pod_set_slice_required_topology = Some(level);
        }
        _ => {}
    }
    request.pod_index_label = indexes.pod_index_label.map(str::to_owned);
    request.sub_group_index_label = indexes.sub_group_index_label.map(str::to_owned);
    request.sub_group_count = indexes.sub_group_count;
    if request.required.is_some() || request.preferred.is_some() {
        request.pod_set_group_name = get(c::POD_SET_GROUP_NAME_ANNOTATION);
    }
    Ok(Some(request))
}

fn parse_layers(text: &str) -> Result<Vec<PodsetSliceRequiredTopologyConstraint>, String> {
    let layers: Vec<PodsetSliceRequiredTopologyConstraint> = serde_json::from_str(text)
        .map_err(|e| format!("failed to parse multi-layer topology constraints annotation: {e}"))?;
    match layers.len() {
        1..=3 => Ok(layers),
        n => Err(format!(
            "topology constraints must contain between 1 and 3 entries: got {n}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::{PodTemplateSpec, ResourceRequirements, Toleration};
    use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

    fn env(name: &str, value: &str) -> EnvVar {
        EnvVar {
            name: name.into(),
            value: Some(value.into()),
            ..Default::default()
        }
    }

    fn set(cpu: &str) -> PodSet {
        let requests = [("cpu".to_owned(), Quantity(cpu.into()))].into();
        let container = Container {
            name: "c".into(),
            resources: Some(ResourceRequirements {
                requests: Some(requests),
                ..Default::default()
            }),
            ..Default::default()
        };
        let spec = PodSpec {
            containers: vec![container],
            ..Default::default()
        };
        PodSet {
            template: Arc::new(PodTemplateSpec {
                spec: Some(spec),
                ..Default::default()
            }),
            ..Default::default()
        }
    }

    #[test]
    fn the_last_value_of_a_variable_counts_at_the_place_of_the_first() {
        let mut sets = [set("1")];
        let spec = Arc::make_mut(&mut sets[0].template).spec.as_mut().unwrap();
        spec.containers[0].env = Some(vec![env("a", "1"), env("b", "2"), env("a", "3")]);
        sanitize_pod_sets(&mut sets);
        let spec = sets[0].template.spec.as_ref().unwrap();
        assert_eq!(
            spec.containers[0].env,
            Some(vec![env("a", "3"), env("b", "2")])
        );
    }

    #[test]
    fn amounts_are_compared_by_value_and_tolerations_where_asked() {
        assert!(compare_pod_set_lists(&[set("1")], &[set("1000m")], true));
        assert!(!compare_pod_set_lists(&[set("1")], &[set("2")], true));
        let mut tolerant = set("1");
        let spec = Arc::make_mut(&mut tolerant.template).spec.as_mut();
        spec.unwrap().tolerations = Some(vec![Toleration::default()]);
        assert!(!compare_pod_set_lists(
            &[set("1")],
            std::slice::from_ref(&tolerant),
            true
        ));
        assert!(compare_pod_set_lists(&[set("1")], &[tolerant], false));
        let fewer = PodSet {
            min_count: Some(1),
            ..set("1")
        };
        assert!(!compare_pod_set_lists(&[set("1")], &[fewer], false));
    }

    #[test]
    fn topology_request_from_annotations() {
        let gates = FeatureGates::default();
        let of = |pairs: &[(&str, &str)], indexes: TopologyIndexLabels<'_>| {
            let pairs = pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
            let meta = ObjectMeta {
                annotations: Some(pairs.collect()),
                ..Default::default()
            };
            pod_set_topology_request(Some(&meta), indexes, &gates)
        };
        assert_eq!(of(&[], TopologyIndexLabels::default()), Ok(None));
        let numbered = TopologyIndexLabels {
            pod_index_label: Some("i"),
            ..Default::default()
        };
        assert_eq!(
            of(&[], numbered)
                .unwrap()
                .unwrap()
                .pod_index_label
                .as_deref(),
            Some("i")
        );
        let required = of(
            &[
                (c::POD_SET_REQUIRED_TOPOLOGY_ANNOTATION, "rack"),
                (c::POD_SET_GROUP_NAME_ANNOTATION, "g"),
            ],
            TopologyIndexLabels::default(),
        );
        let required = required.unwrap().unwrap();
        assert_eq!(required.required.as_deref(), Some("rack"));
        assert_eq!(required.pod_set_group_name.as_deref(), Some("g"));
        assert!(
            of(
                &[(c::POD_SET_UNCONSTRAINED_TOPOLOGY_ANNOTATION, "perhaps")],
                numbered
            )
            .is_err()
        );
    }
}
