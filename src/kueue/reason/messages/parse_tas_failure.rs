//! Parses the sentences of [`TasFailure`].

use super::cursor::Cursor;
use crate::resources::ResourceName;
use crate::{LayerFit, NoFit, TasExclusionStats, TasFailure, TasFit};

/// Parses a failure; none for other texts. `free_text` takes a text without an end of its own.
pub(super) fn tas_failure<'a>(
    at: &mut Cursor<'a>,
    free_text: impl FnOnce(&mut Cursor<'a>) -> &'a str,
) -> Option<TasFailure> {
    if at.take("flavor \"").is_some() {
        let flavor = at.until("\" has no known topology")?.to_owned();
        return Some(TasFailure::NoTopology { flavor });
    }
    if at.take("invalid podSetUpdate for PodSet ").is_some() {
        let pod_set = at.until(", error: ")?.to_owned();
        let error = free_text(at).to_owned();
        return Some(TasFailure::InvalidPodSetUpdate { pod_set, error });
    }
    let without_data = [TasFailure::SliceSizeMissing, TasFailure::LevelNotSpecified];
    for failure in without_data {
        if at.take(&failure.to_string()).is_some() {
            return Some(failure);
        }
    }
    if at.take("no requested topology level: ").is_some() {
        let level = at.name()?.to_owned();
        return Some(TasFailure::NoLevel { level });
    }
    if at
        .take("no requested topology level for slices: ")
        .is_some()
    {
        let level = at.name()?.to_owned();
        return Some(TasFailure::NoSliceLevel { level });
    }
    if at.take("podset slice topology ").is_some() {
        let slice = at.until(" is above the podset topology ")?.to_owned();
        let pod_set = at.name()?.to_owned();
        return Some(TasFailure::SliceAbovePodSet { slice, pod_set });
    }
    if at
        .take("no requested topology level for additional slice layer: ")
        .is_some()
    {
        let level = at.name()?.to_owned();
        return Some(TasFailure::NoLayerLevel { level });
    }
    if at.take("additional slice layer topology ").is_some() {
        let level = at.until(" must be at a lower level than ")?.to_owned();
        let above = at.name()?.to_owned();
        return Some(TasFailure::LayerNotLower { level, above });
    }
    if at.take("additional slice layer size ").is_some() {
        let size = at.number()?;
        at.take(" must evenly divide parent layer size ")?;
        let parent = at.number()?;
        return Some(TasFailure::LayerNotDividing { size, parent });
    }
    if at.take("invalid node selectors: ").is_some() {
        let selector = at.until(", reason: ")?.to_owned();
        let reason = free_text(at).to_owned();
        return Some(TasFailure::InvalidNodeSelector { selector, reason });
    }
    if at.take("invalid affinity node selectors: ").is_some() {
        let affinity = at.until(", reason: ")?.to_owned();
        let reason = free_text(at).to_owned();
        return Some(TasFailure::InvalidAffinity { affinity, reason });
    }
    if at.take("invalid preferred node affinity terms: ").is_some() {
        let terms = at.until(", reason: ")?.to_owned();
        let reason = free_text(at).to_owned();
        return Some(TasFailure::InvalidPreference { terms, reason });
    }
    if at.take("no topology domains at level: ").is_some() {
        let level = at.name().unwrap_or_default().to_owned();
        return Some(TasFailure::NoDomains { level });
    }
    if at
        .take("Cannot replace the node, because the existing topologyAssignment is invalid, as it contains the stale domain ")
        .is_some()
    {
        let domain = free_text(at).to_owned();
        return Some(TasFailure::StaleAssignment { domain });
    }
    if at
        .take("cannot find replacement assignment for unhealthy node: ")
        .is_some()
    {
        let node = at.name()?.to_owned();
        return Some(TasFailure::NothingToReplace { node });
    }
    let no_fit = no_fit(at)?;
    Some(TasFailure::NoFit(Box::new(no_fit)))
}

fn no_fit(at: &mut Cursor<'_>) -> Option<NoFit> {
    at.take("topology ")?;
    let topology = at.quoted()?;
    let fit = if at.take(" doesn't allow to fit any of ").is_some() {
        let wanted = at.number()?;
        fit_of_unit(at, 0, wanted)?
    } else if at.take(" allows to fit only ").is_some() {
        let fitting = at.number()?;
        at.take(" out of ")?;
        let wanted = at.number()?;
        fit_of_unit(at, fitting, wanted)?
    } else {
        at.take(" doesn't allow to fit")?;
        let mut layers = Vec::new();
        let mut next = *at;
        while let Some(layer) = layer_fit(&mut next) {
            layers.push(layer);
            *at = next;
        }
        TasFit::Layers(layers)
    };
    let exclusions = exclusions(at).unwrap_or_default();
    Some(NoFit {
        topology,
        fit,
        exclusions,
    })
}

fn fit_of_unit(at: &mut Cursor<'_>, fitting: i32, wanted: i32) -> Option<TasFit> {
    if at.take(" pod(s)").is_some() {
        return Some(TasFit::Pods { fitting, wanted });
    }
    at.take(" slice(s)")?;
    Some(TasFit::Slices { fitting, wanted })
}

fn layer_fit(at: &mut Cursor<'_>) -> Option<LayerFit> {
    at.take("; ")?;
    let fitting = at.number()?;
    at.take("/")?;
    let wanted = at.number()?;
    at.take(" slice(s) fit on level ")?;
    let level = at.name()?.to_owned();
    Some(LayerFit {
        level,
        fitting,
        wanted,
    })
}

fn exclusions(from: &mut Cursor<'_>) -> Option<TasExclusionStats> {
    let mut at = *from;
    at.take(". Total nodes: ")?;
    let mut stats = TasExclusionStats {
        total_nodes: at.number()?,
        ..TasExclusionStats::default()
    };
    at.take("; excluded: ")?;
    exclusion(&mut at, &mut stats)?;
    *from = at;
    while at.take(", ").is_some() && exclusion(&mut at, &mut stats).is_some() {
        *from = at;
    }
    Some(stats)
}

fn exclusion(at: &mut Cursor<'_>, stats: &mut TasExclusionStats) -> Option<()> {
    if at.take("taint ").is_some() {
        let taint = at.quoted()?;
        at.take(": ")?;
        stats.taints.insert(taint, at.number()?);
        return Some(());
    }
    if at.take("resource ").is_some() {
        let resource = ResourceName::new(&at.quoted()?);
        at.take(": ")?;
        stats.resources.insert(resource, at.number()?);
        return Some(());
    }
    let count = if at.take("nodeSelector: ").is_some() {
        &mut stats.node_selector
    } else if at.take("affinity: ").is_some() {
        &mut stats.affinity
    } else {
        at.take("topologyDomain: ")?;
        &mut stats.topology_domain
    };
    *count = at.number()?;
    Some(())
}
