//! [`TasFailure`]: why a pod set has no topology assignment.
//!
//! Must not depend on how assignments are computed.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::tas_exclusion_stats::TasExclusionStats;

/// The reason that a pod set has no topology assignment. The text is part of the condition message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoFit {
    /// The Topology.
    pub topology: String,
    /// How much fits.
    pub fit: TasFit,
    /// The excluded nodes; without excluded ones the total is zero.
    pub exclusions: TasExclusionStats,
}

/// How much of a pod set fits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TasFit {
    /// The number of pods.
    Pods {
        /// The number that fits.
        fitting: i32,
        /// The number requested.
        wanted: i32,
    },
    /// The number of slices.
    Slices {
        /// The number that fits.
        fitting: i32,
        /// The number requested.
        wanted: i32,
    },
    /// With several slice layers: how much fits on each, in the domain with the most capacity.
    Layers(Vec<LayerFit>),
}

/// The number of slices of a layer that fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
        let topology = &self.topology;
        let (fitting, wanted, unit) = match &self.fit {
            TasFit::Pods { fitting, wanted } => (*fitting, *wanted, "pod"),
            TasFit::Slices { fitting, wanted } => (*fitting, *wanted, "slice"),
            TasFit::Layers(layers) => {
                write!(f, "topology {topology:?} doesn't allow to fit")?;
                for layer in layers {
                    write!(
                        f,
                        "; {}/{} slice(s) fit on level {}",
                        layer.fitting, layer.wanted, layer.level
                    )?;
                }
                return self.write_exclusions(f);
            }
        };
        match fitting {
            0 => write!(
                f,
                "topology {topology:?} doesn't allow to fit any of {wanted} {unit}(s)"
            )?,
            _ => write!(
                f,
                "topology {topology:?} allows to fit only {fitting} out of {wanted} {unit}(s)"
            )?,
        }
        self.write_exclusions(f)
    }
}

impl NoFit {
    fn write_exclusions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

    fn no_fit(fit: TasFit) -> NoFit {
        NoFit {
            topology: "default".into(),
            fit,
            exclusions: TasExclusionStats::default(),
        }
    }

    #[test]
    fn messages_match_upstream() {
        let (fitting, wanted) = (0, 4);
        assert_eq!(
            no_fit(TasFit::Pods { fitting, wanted }).to_string(),
            "topology \"default\" doesn't allow to fit any of 4 pod(s)"
        );
        let fitting = 2;
        let mut some = no_fit(TasFit::Slices { fitting, wanted });
        some.exclusions.total_nodes = 3;
        some.exclusions.affinity = 1;
        assert_eq!(
            TasFailure::NoFit(Box::new(some)).to_string(),
            "topology \"default\" allows to fit only 2 out of 4 slice(s). Total nodes: 3; excluded: affinity: 1"
        );
        let layered = no_fit(TasFit::Layers(vec![LayerFit {
            level: "rack".into(),
            fitting: 1,
            wanted: 2,
        }]));
        assert_eq!(
            layered.to_string(),
            "topology \"default\" doesn't allow to fit; 1/2 slice(s) fit on level rack"
        );
    }

    #[test]
    fn serializes_as_data() {
        let (fitting, wanted) = (2, 4);
        let failure = TasFailure::NoFit(Box::new(no_fit(TasFit::Pods { fitting, wanted })));
        let json = serde_json::to_value(failure).unwrap();
        assert_eq!(json["kind"], "noFit");
        assert_eq!(json["fit"]["pods"]["fitting"], 2);
    }
}
