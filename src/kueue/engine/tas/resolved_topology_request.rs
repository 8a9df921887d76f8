//! [`ResolvedTopologyRequest`]: a topology request resolved to the levels of a topology.
//!
//! Must not depend on nodes or capacity.

use super::topology_tree::TopologyTree;
use kueue_lab_api::v1beta2::{
    PodSetTopologyRequest, PodsetSliceRequiredTopologyConstraint as Layer,
};
use kueue_lab_reason::TasFailure;

/// A resolved topology request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ResolvedTopologyRequest {
    /// The number of pods (of workers, with a leader).
    pub(super) count: i32,
    /// The number of leaders: 0 or 1.
    pub(super) leaders: i32,
    /// The slice size of the outermost layer; 1 without slices.
    pub(super) slice_size: i32,
    /// The requested level.
    pub(super) requested_level: usize,
    /// The slice level.
    pub(super) slice_level: usize,
    /// The slice sizes of inner layers, by level below `slice_level`.
    pub(super) inner_sizes: Vec<Option<i32>>,
    /// The slice layers for the message, if there are several.
    pub(super) layers: Vec<Layer>,
    /// All pods must be in one domain of the requested level.
    pub(super) required: bool,
    /// The pods may be in any domain.
    pub(super) unconstrained: bool,
}

/// The slice layers of a topology request, in any of its forms.
pub(super) fn layers(request: Option<&PodSetTopologyRequest>) -> Vec<Layer> {
    let Some(request) = request else {
        return Vec::new();
    };
    if !request
        .podset_slice_required_topology_constraints
        .is_empty()
    {
        return request.podset_slice_required_topology_constraints.clone();
    }
    let topology = request.pod_set_slice_required_topology.iter();
    topology
        .map(|topology| Layer {
            topology: topology.clone(),
            size: request.pod_set_slice_size.unwrap_or(0),
        })
        .collect()
}

/// The slice size of the outermost layer, 1 without slices.
pub(super) fn slice_size(layers: &[Layer]) -> Result<i32, TasFailure> {
    match layers.first() {
        None => Ok(1),
        Some(layer) if layer.size <= 0 => Err(TasFailure::SliceSizeMissing),
        Some(layer) => Ok(layer.size),
    }
}

fn is_slice_topology_only_request(request: &PodSetTopologyRequest) -> bool {
    request.required.is_none() && request.preferred.is_none() && !layers(Some(request)).is_empty()
}

/// The level of the topology request, if it has one.
fn level_key<'a>(tree: &'a TopologyTree, request: &'a PodSetTopologyRequest) -> Option<&'a str> {
    let level = match (&request.required, &request.preferred) {
        (Some(required), _) => required,
        (None, Some(preferred)) => preferred,
        _ if is_slice_topology_only_request(request) => tree.levels().first()?,
        _ if request.unconstrained == Some(true) => tree.levels().last()?,
        _ => return None,
    };
    Some(level)
}

/// Like [`level_key`], with the lowest level for implied and unconstrained requests.
pub(super) fn level_key_with_implied_fallback<'a>(
    tree: &'a TopologyTree,
    request: Option<&'a PodSetTopologyRequest>,
    implied: bool,
) -> Option<&'a str> {
    request.and_then(|r| level_key(tree, r)).or_else(|| {
        let lowest = tree.levels().last().filter(|_| implied);
        lowest.map(String::as_str)
    })
}

/// Whether the topology has all levels of a topology request.
pub(super) fn has_levels(tree: &TopologyTree, request: Option<&PodSetTopologyRequest>) -> bool {
    let known = |level: &str| tree.level_index(level).is_some();
    request.and_then(|r| level_key(tree, r)).is_some_and(known)
        && layers(request).iter().all(|layer| known(&layer.topology))
}

impl ResolvedTopologyRequest {
    /// Resolves a topology request.
    pub(super) fn resolve(
        tree: &TopologyTree,
        request: Option<&PodSetTopologyRequest>,
        implied: bool,
        count: i32,
        leaders: i32,
    ) -> Result<Self, TasFailure> {
        let layers = layers(request);
        let slice_size = slice_size(&layers)?;
        let level = level_key_with_implied_fallback(tree, request, implied)
            .ok_or(TasFailure::LevelNotSpecified)?;
        let requested_level = tree.level_index(level).ok_or_else(|| TasFailure::NoLevel {
            level: level.to_owned(),
        })?;
        let lowest = tree.levels().last().map_or("", String::as_str);
        let slice_key = layers.first().map_or(lowest, |l| l.topology.as_str());
        let slice_level = tree
            .level_index(slice_key)
            .ok_or_else(|| TasFailure::NoSliceLevel {
                level: slice_key.to_owned(),
            })?;
        if requested_level > slice_level {
            return Err(TasFailure::SliceAbovePodSet {
                slice: slice_key.to_owned(),
                pod_set: level.to_owned(),
            });
        }
        let inner_sizes = inner_sizes(tree, &layers, slice_size, slice_level)?;
        Ok(ResolvedTopologyRequest {
            count,
            leaders,
            slice_size,
            requested_level,
            slice_level,
            inner_sizes,
            required: request.is_some_and(|r| r.required.is_some()),
            unconstrained: implied
                || request.is_some_and(|r| {
                    r.unconstrained == Some(true) || is_slice_topology_only_request(r)
                }),
            layers: if layers.len() > 1 { layers } else { Vec::new() },
        })
    }

    /// The number of slices.
    pub(super) fn slices(&self) -> i32 {
        self.count / self.slice_size
    }

    /// The slice size of an inner layer on a level.
    pub(super) fn inner_size(&self, level: usize) -> Option<i32> {
        self.inner_sizes.get(level).copied().flatten()
    }
}

/// The slice sizes of inner layers by level. A layer applies from right below its outer layer, so
/// that levels in between use multiples of its size as well.
fn inner_sizes(
    tree: &TopologyTree,
    layers: &[Layer],
    slice_size: i32,
    slice_level: usize,
) -> Result<Vec<Option<i32>>, TasFailure> {
    let mut sizes = vec![None; tree.levels().len()];
    let (mut around, mut above) = (slice_size, slice_level);
    for layer in layers.iter().skip(1) {
        let level = tree
            .level_index(&layer.topology)
            .ok_or_else(|| TasFailure::NoLayerLevel {
                level: layer.topology.clone(),
            })?;
        if level <= above {
            return Err(TasFailure::LayerNotLower {
                level: layer.topology.clone(),
                above: tree.levels()[above].clone(),
            });
        }
        if layer.size <= 0 {
            return Err(TasFailure::SliceSizeMissing);
        }
        if around % layer.size != 0 {
            return Err(TasFailure::LayerNotDividing {
                size: layer.size,
                parent: around,
            });
        }
        sizes[above + 1..=level].fill(Some(layer.size));
        (around, above) = (layer.size, level);
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::super::topology_tree::tests::tree;
    use super::*;

    fn layer(topology: &str, size: i32) -> Layer {
        Layer {
            topology: topology.into(),
            size,
        }
    }

    fn resolve(request: &PodSetTopologyRequest) -> Result<ResolvedTopologyRequest, TasFailure> {
        let tree = tree(&["block", "rack", "host"], &[]);
        ResolvedTopologyRequest::resolve(&tree, Some(request), false, 12, 0)
    }

    fn layered(layers: Vec<Layer>) -> PodSetTopologyRequest {
        PodSetTopologyRequest {
            podset_slice_required_topology_constraints: layers,
            ..Default::default()
        }
    }

    #[test]
    fn slice_only_requests_start_at_the_top_level_unconstrained() {
        let resolved = resolve(&layered(vec![layer("rack", 4), layer("host", 2)])).unwrap();
        assert_eq!((resolved.requested_level, resolved.slice_level), (0, 1));
        assert_eq!(resolved.inner_sizes, [None, None, Some(2)]);
        assert!(resolved.unconstrained && !resolved.required);
        assert_eq!(resolved.slices(), 3);
        assert_eq!(resolved.layers.len(), 2);
        let gap = resolve(&layered(vec![layer("block", 4), layer("host", 2)])).unwrap();
        assert_eq!(gap.inner_sizes, [None, Some(2), Some(2)]);
    }

    #[test]
    fn invalid_requests_are_rejected() {
        let text = |r: PodSetTopologyRequest| resolve(&r).unwrap_err().to_string();
        assert_eq!(
            text(PodSetTopologyRequest::default()),
            "topology level not specified"
        );
        assert_eq!(
            text(PodSetTopologyRequest {
                required: Some("room".into()),
                ..Default::default()
            }),
            "no requested topology level: room"
        );
        assert_eq!(
            text(PodSetTopologyRequest {
                required: Some("rack".into()),
                ..layered(vec![layer("block", 2)])
            }),
            "podset slice topology block is above the podset topology rack"
        );
        assert_eq!(
            text(layered(vec![layer("rack", 0)])),
            "slice topology requested, but slice size not provided"
        );
        assert_eq!(
            text(layered(vec![layer("rack", 4), layer("rack", 2)])),
            "additional slice layer topology rack must be at a lower level than rack"
        );
        assert_eq!(
            text(layered(vec![layer("rack", 4), layer("host", 3)])),
            "additional slice layer size 3 must evenly divide parent layer size 4"
        );
        assert_eq!(
            text(layered(vec![layer("rack", 4), layer("desk", 2)])),
            "no requested topology level for additional slice layer: desk"
        );
        assert_eq!(
            text(layered(vec![layer("desk", 4)])),
            "no requested topology level for slices: desk"
        );
    }

    #[test]
    fn levels_are_looked_up() {
        let tree = tree(&["block", "host"], &[]);
        let preferred = |level: &str| PodSetTopologyRequest {
            preferred: Some(level.into()),
            ..Default::default()
        };
        assert!(has_levels(&tree, Some(&preferred("block"))));
        assert!(!has_levels(&tree, Some(&preferred("rack"))));
        assert!(!has_levels(&tree, None));
        assert!(has_levels(&tree, Some(&layered(vec![layer("host", 2)]))));
        assert!(!has_levels(
            &tree,
            Some(&layered(vec![layer("block", 2), layer("rack", 1)]))
        ));
    }
}
