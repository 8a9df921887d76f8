//! Topology assignments of a workload.

use crate::model::workload::WorkloadRow;
use crate::theme::Role;
use crate::widgets::PageBuilder;

/// Writes the topology assignment of each pod set that has one.
pub(super) fn write(wl: &WorkloadRow, doc: &mut PageBuilder<'_>) {
    for set in wl.admission.iter().flat_map(|a| &a.pod_sets) {
        if set.delayed_topology_request {
            doc.section(&format!("Topology assignment of {}", set.name));
            doc.text(
                "Delayed until the nodes are provisioned (second pass).",
                Role::Waiting,
            );
        }
        let Some(placed) = &set.topology_assignment else {
            continue;
        };
        doc.section(&format!("Topology assignment of {}", set.name));
        let levels = placed.levels.join(" / ");
        let domains = placed.domains.iter();
        doc.list(&[">PODS", &levels], domains, 16, |(domain, pods)| {
            vec![(pods.to_string(), Role::Text), (domain.clone(), Role::Text)]
        });
        if placed.domain_count > placed.domains.len() {
            doc.text(
                &format!("{} domains in all", placed.domain_count),
                Role::Dim,
            );
        }
    }
}
