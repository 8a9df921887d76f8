//! [`TasFailure`]: why a pod set has no topology assignment.
//!
//! Must not depend on how assignments are computed.

use std::fmt;

use serde::Serialize;
use thiserror::Error;

use super::exclusion_stats::TasExclusionStats;

/// The reason that a pod set has no topology assignment. The text is part of the condition message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Error)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    tag = "kind"
)]
pub enum TasFailure {
    /// The topology of the flavor does not exist.
    #[error("flavor {flavor:?} has no known topology")]
    NoTopology {
        /// The flavor.
        flavor: String,
    },
    /// A pod set update of an admission check conflicts with the pod template.
    #[error("invalid podSetUpdate for PodSet {pod_set}, error: {error}")]
    InvalidPodSetUpdate {
        /// The pod set.
        pod_set: String,
        /// The conflict.
        error: String,
    },
    /// The slice size is missing.
    #[error("slice topology requested, but slice size not provided")]
    SliceSizeMissing,
    /// The topology request has no level.
    #[error("topology level not specified")]
    LevelNotSpecified,
    /// The topology does not have the requested level.
    #[error("no requested topology level: {level}")]
    NoLevel {
        /// The level.
        level: String,
    },
    /// The topology does not have the requested slice level.
    #[error("no requested topology level for slices: {level}")]
    NoSliceLevel {
        /// The level.
        level: String,
    },
    /// The slice level is above the level of the pod set.
    #[error("podset slice topology {slice} is above the podset topology {pod_set}")]
    SliceAbovePodSet {
        /// The level of the slices.
        slice: String,
        /// The level of the pod set.
        pod_set: String,
    },
    /// The topology does not have the level of an inner slice layer.
    #[error("no requested topology level for additional slice layer: {level}")]
    NoLayerLevel {
        /// The level.
        level: String,
    },
    /// An inner slice layer is not below its outer layer.
    #[error("additional slice layer topology {level} must be at a lower level than {above}")]
    LayerNotLower {
        /// The level of the layer.
        level: String,
        /// The level of the outer layer.
        above: String,
    },
    /// The size of an inner layer does not divide the size of its outer layer.
    #[error("additional slice layer size {size} must evenly divide parent layer size {parent}")]
    LayerNotDividing {
        /// The slice size of the layer.
        size: i32,
        /// The slice size of the outer layer.
        parent: i32,
    },
    /// The node selector is invalid.
    #[error("invalid node selectors: {selector}, reason: {reason}")]
    InvalidNodeSelector {
        /// The selector.
        selector: String,
        /// The validation error.
        reason: String,
    },
    /// The required node affinity is invalid.
    #[error("invalid affinity node selectors: {affinity}, reason: {reason}")]
    InvalidAffinity {
        /// The affinity.
        affinity: String,
        /// The validation error.
        reason: String,
    },
    /// The preferred node affinity is invalid.
    #[error("invalid preferred node affinity terms: {terms}, reason: {reason}")]
    InvalidPreference {
        /// The preferred terms.
        terms: String,
        /// The validation error.
        reason: String,
    },
    /// The flavor has no nodes.
    #[error("no topology domains at level: {level}")]
    NoDomains {
        /// The requested level.
        level: String,
    },
    /// The free capacity is insufficient.
    #[error("{0}")]
    NoFit(Box<NoFit>),
    /// The assignment with the failed node contains another stale domain.
    #[error(
        "Cannot replace the node, because the existing topologyAssignment is invalid, as it contains the stale domain {domain}"
    )]
    StaleAssignment {
        /// The stale domain.
        domain: String,
    },
    /// The failed node has no pods of the pod set.
    #[error("cannot find replacement assignment for unhealthy node: {node}")]
    NothingToReplace {
        /// The failed node.
        node: String,
    },
}

/// The number of pods or slices of a pod set that fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NoFit {
    /// The Topology.
    pub topology: String,
    /// The number of slices (or pods, see `slice_size`) that fit.
    pub fitting: i32,
    /// The number requested.
    pub wanted: i32,
    /// The slice size; 1 for single pods.
    pub slice_size: i32,
    /// With several slice layers: how much fits on each, in the domain with the most capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<Vec<LayerFit>>,
    /// The excluded nodes.
    pub exclusions: TasExclusionStats,
}

/// The number of slices of a layer that fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LayerFit {
    /// The level of the layer.
    pub level: String,
    /// The number of slices that fit.
    pub fitting: i32,
    /// The number requested.
    pub wanted: i32,
}

impl fmt::Display for NoFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (topology, fitting, wanted) = (&self.topology, self.fitting, self.wanted);
        let unit = if self.slice_size == 1 { "pod" } else { "slice" };
        match &self.layers {
            Some(layers) => {
                write!(f, "topology {topology:?} doesn't allow to fit")?;
                for layer in layers {
                    write!(
                        f,
                        "; {}/{} slice(s) fit on level {}",
                        layer.fitting, layer.wanted, layer.level
                    )?;
                }
            }
            None if fitting == 0 => write!(
                f,
                "topology {topology:?} doesn't allow to fit any of {wanted} {unit}(s)"
            )?,
            None => write!(
                f,
                "topology {topology:?} allows to fit only {fitting} out of {wanted} {unit}(s)"
            )?,
        }
        if self.exclusions.is_empty() {
            return Ok(());
        }
        write!(
            f,
            ". Total nodes: {}; excluded: {}",
            self.exclusions.total_nodes, self.exclusions
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_fit(fitting: i32, slice_size: i32) -> NoFit {
        NoFit {
            topology: "default".into(),
            fitting,
            wanted: 4,
            slice_size,
            layers: None,
            exclusions: TasExclusionStats {
                total_nodes: 3,
                ..Default::default()
            },
        }
    }

    #[test]
    fn messages_match_upstream() {
        assert_eq!(
            no_fit(0, 1).to_string(),
            "topology \"default\" doesn't allow to fit any of 4 pod(s)"
        );
        let mut some = no_fit(2, 3);
        some.exclusions.affinity = 1;
        assert_eq!(
            TasFailure::NoFit(Box::new(some)).to_string(),
            "topology \"default\" allows to fit only 2 out of 4 slice(s). Total nodes: 3; excluded: affinity: 1"
        );
        let mut layered = no_fit(0, 1);
        layered.layers = Some(vec![LayerFit {
            level: "rack".into(),
            fitting: 1,
            wanted: 2,
        }]);
        assert_eq!(
            layered.to_string(),
            "topology \"default\" doesn't allow to fit; 1/2 slice(s) fit on level rack"
        );
    }

    #[test]
    fn serializes_as_data() {
        let json = serde_json::to_value(TasFailure::NoFit(Box::new(no_fit(2, 1)))).unwrap();
        assert_eq!(json["kind"], "noFit");
        assert_eq!(json["fitting"], 2);
    }
}
