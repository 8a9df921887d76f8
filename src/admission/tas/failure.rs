//! [`TasFailure`]: why no place was found for a pod set, as data and in Kueue's words.
//!
//! Must not know how places are looked for.

use std::fmt;

use serde::Serialize;
use thiserror::Error;

use super::exclusion_stats::TasExclusionStats;

/// Why the pods of a set have no topology assignment. The text goes into the message of the
/// Workload's condition as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Error)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    tag = "kind"
)]
pub enum TasFailure {
    /// The flavor has no topology that is known.
    #[error("flavor {flavor:?} has no known topology")]
    NoTopology {
        /// The flavor.
        flavor: String,
    },
    /// What an admission check adds to the pods contradicts the pod template.
    #[error("invalid podSetUpdate for PodSet {pod_set}, error: {error}")]
    InvalidPodSetUpdate {
        /// The pod set.
        pod_set: String,
        /// The contradiction.
        error: String,
    },
    /// Slices are asked for without saying how large.
    #[error("slice topology requested, but slice size not provided")]
    SliceSizeMissing,
    /// The pod set does not say at which level it wants to be placed.
    #[error("topology level not specified")]
    LevelNotSpecified,
    /// The topology does not have the level asked for.
    #[error("no requested topology level: {level}")]
    NoLevel {
        /// The level asked for.
        level: String,
    },
    /// The topology does not have the level asked for slices.
    #[error("no requested topology level for slices: {level}")]
    NoSliceLevel {
        /// The level asked for.
        level: String,
    },
    /// Slices are to be wider than the whole pod set.
    #[error("podset slice topology {slice} is above the podset topology {pod_set}")]
    SliceAbovePodSet {
        /// The level of the slices.
        slice: String,
        /// The level of the pod set.
        pod_set: String,
    },
    /// The topology does not have the level asked for an inner layer of slices.
    #[error("no requested topology level for additional slice layer: {level}")]
    NoLayerLevel {
        /// The level asked for.
        level: String,
    },
    /// An inner layer of slices is not below the one around it.
    #[error("additional slice layer topology {level} must be at a lower level than {above}")]
    LayerNotLower {
        /// The level of the layer.
        level: String,
        /// The level of the layer around it.
        above: String,
    },
    /// Slices do not divide into slices of an inner layer.
    #[error("additional slice layer size {size} must evenly divide parent layer size {parent}")]
    LayerNotDividing {
        /// Pods in a slice of the layer.
        size: i32,
        /// Pods in a slice of the layer around it.
        parent: i32,
    },
    /// The node selector is no label selector.
    #[error("invalid node selectors: {selector}, reason: {reason}")]
    InvalidNodeSelector {
        /// The selector.
        selector: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The required node affinity cannot be read.
    #[error("invalid affinity node selectors: {affinity}, reason: {reason}")]
    InvalidAffinity {
        /// The affinity.
        affinity: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The preferred node affinity cannot be read.
    #[error("invalid preferred node affinity terms: {terms}, reason: {reason}")]
    InvalidPreference {
        /// The preferences.
        terms: String,
        /// What is wrong with them.
        reason: String,
    },
    /// The flavor has no usable node.
    #[error("no topology domains at level: {level}")]
    NoDomains {
        /// The level looked at.
        level: String,
    },
    /// There is not enough room.
    #[error("{0}")]
    NoFit(Box<NoFit>),
    /// The assignment to repair contains another domain that is gone.
    #[error(
        "Cannot replace the node, because the existing topologyAssignment is invalid, as it contains the stale domain {domain}"
    )]
    StaleAssignment {
        /// The domain that is gone.
        domain: String,
    },
    /// The failed node holds no pods of the set, so there is nothing to place.
    #[error("cannot find replacement assignment for unhealthy node: {node}")]
    NothingToReplace {
        /// The failed node.
        node: String,
    },
}

/// How far the room in a topology goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NoFit {
    /// The Topology.
    pub topology: String,
    /// How many slices (or pods, see `slice_size`) fit.
    pub fitting: i32,
    /// How many there are.
    pub wanted: i32,
    /// Pods in a slice; 1 when pods are placed one by one.
    pub slice_size: i32,
    /// With slices in several layers: how far it goes on each, in the most roomy domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<Vec<LayerFit>>,
    /// Nodes that are out of the question.
    pub exclusions: TasExclusionStats,
}

/// How many slices of a layer fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LayerFit {
    /// The level of the layer.
    pub level: String,
    /// How many slices fit.
    pub fitting: i32,
    /// How many there are.
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
    fn as_data() {
        let json = serde_json::to_value(TasFailure::NoFit(Box::new(no_fit(2, 1)))).unwrap();
        assert_eq!(json["kind"], "noFit");
        assert_eq!(json["fitting"], 2);
    }
}
