//! The PodSetTopologyRequest of a pod template, from its annotations.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::slice_topology_constraints::{ParseConstraintsError, parse_slice_topology_constraints};
use crate::job_annotations::{ParseIntError, parse_bool, parse_int};
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{PodSetTopologyRequest, PodsetSliceRequiredTopologyConstraint};

/// The labels that index the pods of a set, if the integration has them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TopologyIndexLabels<'a> {
    /// The label with the index of a pod.
    pub pod_index_label: Option<&'a str>,
    /// The label with the index of a subgroup.
    pub sub_group_index_label: Option<&'a str>,
    /// The number of subgroups.
    pub sub_group_count: Option<i32>,
}

/// A topology annotation of a pod template that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TopologyRequestError {
    /// `podset-unconstrained-topology` is not a boolean.
    #[error("strconv.ParseBool: parsing {0:?}: invalid syntax")]
    Unconstrained(String),
    /// `podset-slice-size` is not an integer.
    #[error(transparent)]
    SliceSize(#[from] ParseIntError),
    /// `podset-slice-required-topology-constraints` is not an array of constraints.
    #[error("failed to parse multi-layer topology constraints annotation: {0}")]
    Constraints(#[from] ParseConstraintsError),
    /// It has another number of constraints.
    #[error("topology constraints must contain between 1 and 3 entries: got {0}")]
    ConstraintCount(usize),
}

/// The topology request of a pod template.
///
/// # Errors
/// An annotation cannot be parsed.
pub(super) fn pod_set_topology_request(
    template: Option<&ObjectMeta>,
    indexes: TopologyIndexLabels<'_>,
    gates: &FeatureGates,
) -> Result<Option<PodSetTopologyRequest>, TopologyRequestError> {
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
        let parsed = parse_bool(&text);
        request.unconstrained = Some(parsed.ok_or(TopologyRequestError::Unconstrained(text))?);
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
            request.pod_set_slice_size = Some(parse_int("ParseInt", &text)?);
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

fn parse_layers(
    text: &str,
) -> Result<Vec<PodsetSliceRequiredTopologyConstraint>, TopologyRequestError> {
    let layers = parse_slice_topology_constraints(text)?;
    match layers.len() {
        1..=3 => Ok(layers),
        count => Err(TopologyRequestError::ConstraintCount(count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
