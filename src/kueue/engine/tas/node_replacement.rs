//! Replaces a failed node: assigns its pods to other nodes, in the domain that the remaining pods
//! require.
//!
//! Must not depend on why the node failed.

use super::assumed_usage::AssumedUsage;
use super::find_topology_assignment::TopologyAssignmentSearch;
use super::pod_set_requests::TasPodSetRequests;
use super::resolved_topology_request::{layers, level_key_with_implied_fallback, slice_size};
use super::tas_flavor_snapshot::TasFlavorSnapshot;
use super::topology_tree::Domain;
use crate::topology_assignment::TopologyAssignment;
use kueue_lab_api::constants::{IS_GROUP_WORKLOAD_ANNOTATION, IS_GROUP_WORKLOAD_VALUE};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_reason::TasFailure;

/// Whether the Workload belongs to a single plain pod.
pub(super) fn is_owned_by_single_pod(workload: &Workload) -> bool {
    let annotations = workload.metadata.annotations.as_ref();
    let is_group = annotations
        .and_then(|a| a.get(IS_GROUP_WORKLOAD_ANNOTATION))
        .is_some_and(|v| v == IS_GROUP_WORKLOAD_VALUE);
    let owners = workload.metadata.owner_references.as_deref();
    match owners.unwrap_or_default() {
        [owner] => !is_group && owner.kind == "Pod" && owner.api_version == "v1",
        _ => false,
    }
}

/// Removes the domain of a failed node from an assignment; returns its pod count.
fn remove_node(assignment: &mut TopologyAssignment, node: &str) -> i32 {
    let mut affected = 0;
    assignment.domains.retain(|domain| {
        let failed = domain.values.last().is_some_and(|v| v == node);
        if failed {
            affected = domain.count;
        }
        !failed
    });
    affected
}

impl TasFlavorSnapshot {
    /// Finds a replacement for the Workload's first unhealthy node. Returns the repaired assignment
    /// and its new part.
    pub(super) fn find_replacement_assignment(
        &mut self,
        request: &TasPodSetRequests<'_>,
        mut existing: TopologyAssignment,
        workload: &Workload,
        assumed: &AssumedUsage,
    ) -> Result<(TopologyAssignment, TopologyAssignment), TasFailure> {
        let failed = workload.status.unhealthy_nodes.first();
        let failed = failed.map_or("", |n| n.name.as_str());
        let missing = remove_node(&mut existing, failed);
        if let Some(domain) = self.stale_domain(&existing) {
            return Err(TasFailure::StaleAssignment {
                domain: domain.to_owned(),
            });
        }
        let topology_request = request.pod_set.topology_request.as_ref();
        let slices = layers(topology_request);
        let size = slice_size(&slices)?;
        let within = self.required_replacement_domain(request, &existing, missing);
        let mut changed = None;
        if !slices.is_empty() && within.is_some() && missing % size != 0 {
            // A slice is incomplete: its missing pods are placed in its domain, grouped by the
            // innermost layer that divides their number.
            let layer = slices
                .iter()
                .rev()
                .find(|l| l.size > 0 && missing % l.size == 0);
            changed = topology_request.cloned().map(|mut r| {
                r.podset_slice_required_topology_constraints = Vec::new();
                r.pod_set_slice_required_topology = layer.map(|l| l.topology.clone());
                r.pod_set_slice_size = Some(layer.map_or(1, |l| l.size));
                r
            });
        }
        let search = TopologyAssignmentSearch {
            count: missing,
            topology_request: changed.as_ref().or(topology_request),
            within,
            ..TopologyAssignmentSearch::of(request, None, false)
        };
        let replacement = self.find_topology_assignment(&search, assumed)?.workers;
        if replacement.domains.is_empty() {
            return Err(TasFailure::NothingToReplace {
                node: failed.to_owned(),
            });
        }
        let whole = self.merge_assignments(&replacement, &existing);
        Ok((whole, replacement))
    }

    /// The required domain of the missing pods, if any: that of an incomplete slice, or the
    /// required level of the pod set.
    fn required_replacement_domain(
        &self,
        request: &TasPodSetRequests<'_>,
        rest: &TopologyAssignment,
        missing: i32,
    ) -> Option<Domain> {
        let topology_request = request.pod_set.topology_request.as_ref();
        let level = level_key_with_implied_fallback(&self.tree, topology_request, request.implied)?;
        let level = self.tree.level_index(level)?;
        // Without remaining pods no domain is required.
        let first = rest.domains.first()?;
        let slices = layers(topology_request);
        let size = slice_size(&slices).ok()?;
        if !slices.is_empty() && missing % size != 0 {
            // The innermost layer with an incomplete slice has the smallest domain.
            let incomplete = slices
                .iter()
                .rev()
                .find(|l| l.size > 0 && missing % l.size != 0);
            let layer = incomplete.unwrap_or(&slices[0]);
            return self.find_incomplete_slice_domain(rest, missing, layer.size, &layer.topology);
        }
        topology_request?.required.as_ref()?;
        let leaf = self.tree.leaf(&first.values)?;
        let steps = self.tree.levels().len() - 1 - level;
        Some(self.tree.ancestor(self.tree.leaf_domain(leaf), steps))
    }

    /// The first domain of a level whose pods and the missing ones make complete slices.
    fn find_incomplete_slice_domain(
        &self,
        rest: &TopologyAssignment,
        missing: i32,
        size: i32,
        level: &str,
    ) -> Option<Domain> {
        let level = self.tree.level_index(level)?;
        let steps = self.tree.levels().len() - 1 - level;
        let mut pods = std::collections::BTreeMap::new();
        for domain in &rest.domains {
            if let Some(leaf) = self.tree.leaf(&domain.values) {
                let above = self.tree.ancestor(self.tree.leaf_domain(leaf), steps);
                *pods.entry(above).or_insert(0i32) += domain.count;
            }
        }
        let complete = |count: i32| count.saturating_add(missing) % size == 0;
        pods.into_iter()
            .find(|&(_, count)| complete(count))
            .map(|(domain, _)| domain)
    }
}
