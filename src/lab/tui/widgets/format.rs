//! Formats that several views share.

use std::collections::BTreeMap;

use ratatui::text::Span;

use super::Canvas;
use crate::model::meta::Requests;
use crate::model::queues::{ClusterQueueRow, FairShare, LocalQueueRow};
use crate::model::workload::{ReasonKind, StatusReason, WorkloadState};
use crate::text::{amount_text, resource_label};
use crate::theme::Role;
use kueue_lab_api::constants::ACTIVE;

/// The role of a workload state.
pub(crate) fn state_role(state: WorkloadState) -> Role {
    match state {
        WorkloadState::Evicted => Role::Warning,
        WorkloadState::Pending => Role::Waiting,
        WorkloadState::QuotaReserved => Role::InProgress,
        WorkloadState::Admitted => Role::Success,
        WorkloadState::Failed => Role::Error,
        WorkloadState::Inactive | WorkloadState::Finished => Role::Finished,
    }
}

/// The status reason of a workload, with its prefix.
pub(crate) fn reason_spans(canvas: &Canvas<'_>, reason: &StatusReason) -> Vec<Span<'static>> {
    let role = match reason.kind {
        ReasonKind::Never | ReasonKind::Unhealthy => Role::Error,
        ReasonKind::OnHold => Role::Warning,
        ReasonKind::Waiting => Role::Waiting,
        ReasonKind::Healthy => Role::Text,
    };
    let word_role = if reason.kind.prefix().is_empty() {
        Role::Text
    } else {
        role
    };
    let text_role = if reason.kind == ReasonKind::Unhealthy {
        role
    } else {
        Role::Text
    };
    vec![
        canvas.span(reason.kind.prefix(), word_role),
        canvas.span(reason.text.clone(), text_role),
    ]
}

/// The short name of a kind.
pub(crate) fn short_kind(kind: &str) -> String {
    match kind {
        "Workload" => "wl".to_owned(),
        "ClusterQueue" => "cq".to_owned(),
        "LocalQueue" => "lq".to_owned(),
        "ResourceFlavor" => "rf".to_owned(),
        "Namespace" => "ns".to_owned(),
        other => other.to_lowercase(),
    }
}

/// The status of a ClusterQueue.
pub(crate) fn cluster_queue_status(cq: &ClusterQueueRow) -> (String, Role) {
    if let Some(policy) = cq.stopped() {
        return (format!("Stopped ({policy})"), Role::Warning);
    }
    match cq.conditions.get(ACTIVE) {
        Some(c) if c.status == "True" => {
            let strict = if cq.is_strict_fifo() {
                ", StrictFIFO"
            } else {
                ""
            };
            (format!("Active{strict}"), Role::Success)
        }
        Some(c) => (format!("Inactive: {}", c.reason), Role::Error),
        None => ("not seen yet".to_owned(), Role::Dim),
    }
}

/// The status of a LocalQueue.
pub(crate) fn local_queue_status(lq: &LocalQueueRow) -> (String, Role) {
    if let Some(policy) = lq.stopped() {
        return (format!("Stopped ({policy})"), Role::Warning);
    }
    match lq.conditions.get(ACTIVE) {
        Some(c) if c.status == "True" => ("Active".to_owned(), Role::Success),
        Some(c) => (format!("Inactive: {}", c.reason), Role::Error),
        None => ("not seen yet".to_owned(), Role::Dim),
    }
}

/// The weighted share, with the weight if it is not 1.
pub(crate) fn share_text(share: &FairShare, endless: &str) -> String {
    let Some(weighted) = share.weighted_share else {
        return String::new();
    };
    let weighted = if weighted == i64::MAX {
        endless.to_owned()
    } else {
        weighted.to_string()
    };
    if share.weight == "1" {
        weighted
    } else {
        format!("{weighted} w{}", share.weight)
    }
}

/// The flavors of resources, on one line: `spot`, or `cpu, memory: on-demand; gpu: a100` for several.
pub(crate) fn flavors_text(flavors: &BTreeMap<String, String>) -> String {
    let mut resources: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (resource, flavor) in flavors {
        let of_flavor = resources.entry(flavor).or_default();
        of_flavor.push(resource_label(resource));
    }
    match resources.len() {
        1 => resources.into_keys().collect(),
        _ => {
            let groups = resources.iter();
            let groups = groups.map(|(flavor, names)| format!("{}: {flavor}", names.join(", ")));
            groups.collect::<Vec<_>>().join("; ")
        }
    }
}

/// Requests on one line: `6 cpu, 2 gpu`.
pub(crate) fn requests_text(requests: &Requests) -> String {
    let parts: Vec<String> = requests
        .iter()
        .filter(|(_, amount)| !amount.is_zero())
        .map(|(name, amount)| format!("{} {}", amount_text(name, *amount), resource_label(name)))
        .collect();
    if parts.is_empty() {
        "nothing".to_owned()
    } else {
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flavor_of_all_resources_is_named_once() {
        let flavors = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter();
            flavors_text(
                &pairs
                    .map(|(r, f)| ((*r).to_owned(), (*f).to_owned()))
                    .collect(),
            )
        };
        assert_eq!(flavors(&[("cpu", "spot"), ("memory", "spot")]), "spot");
        assert_eq!(
            flavors(&[
                ("cpu", "any"),
                ("memory", "any"),
                ("nvidia.com/gpu", "a100")
            ]),
            "gpu: a100; cpu, memory: any"
        );
    }
}
