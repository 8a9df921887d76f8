//! Messages for unschedulable pods, with kube-scheduler's wording.

use std::collections::BTreeMap;

use super::dynamic_resources::ClaimFailure;

/// The reasons that a node fails the filters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FilterFailure {
    NodeUnschedulable,
    NodeName,
    TaintToleration,
    NodeAffinity,
    NodePorts,
    /// Insufficient resources, or `pods`; the flag is set if even the empty node is too small.
    NodeResourcesFit(Vec<String>, bool),
    PodTopologySpread,
    PodTopologySpreadMissingLabel,
    PodAffinity,
    PodAntiAffinity,
    ExistingPodsAntiAffinity,
    DynamicResources(ClaimFailure),
    /// The reason for which no node is possible.
    PreFilter(String),
}

impl FilterFailure {
    /// The reasons it is counted under.
    pub(super) fn reasons(&self) -> Vec<String> {
        let text = match self {
            Self::NodeUnschedulable => "node(s) were unschedulable",
            Self::NodeName => "node(s) didn't match the requested node name",
            Self::TaintToleration => "node(s) had untolerated taint(s)",
            Self::NodeAffinity => "node(s) didn't match Pod's node affinity/selector",
            Self::NodePorts => "node(s) didn't have free ports for the requested pod ports",
            Self::NodeResourcesFit(names, _) => {
                let text = |name: &String| match name.as_str() {
                    kueue_lab_component_helpers::resource_amounts::PODS => {
                        "Too many pods".to_string()
                    }
                    name => format!("Insufficient {name}"),
                };
                return names.iter().map(text).collect();
            }
            Self::PodTopologySpread => "node(s) didn't match pod topology spread constraints",
            Self::PodTopologySpreadMissingLabel => {
                "node(s) didn't match pod topology spread constraints (missing required label)"
            }
            Self::PodAffinity => "node(s) didn't match pod affinity rules",
            Self::PodAntiAffinity => "node(s) didn't match pod anti-affinity rules",
            Self::ExistingPodsAntiAffinity => {
                "node(s) didn't satisfy existing pods anti-affinity rules"
            }
            Self::DynamicResources(ClaimFailure::Unschedulable(text)) => text,
            Self::DynamicResources(ClaimFailure::Error(text)) | Self::PreFilter(text) => text,
        };
        vec![text.to_string()]
    }

    /// Whether preemption on the node could resolve it.
    pub(super) fn is_resolvable_by_preemption(&self) -> bool {
        match self {
            Self::NodeResourcesFit(_, too_small) => !too_small,
            Self::NodePorts
            | Self::PodTopologySpread
            | Self::PodAntiAffinity
            | Self::ExistingPodsAntiAffinity => true,
            _ => false,
        }
    }
}

/// Counts reasons, in the order of the message.
fn histogram(texts: impl Iterator<Item = String>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for text in texts {
        *counts.entry(text).or_default() += 1;
    }
    let mut parts: Vec<String> = counts.iter().map(|(t, n)| format!("{n} {t}")).collect();
    parts.sort();
    parts.join(", ")
}

/// The message of the condition and the Event; `post_filter` is the message of the DynamicResources
/// plugin.
pub(super) fn fit_error_message(
    failures: &[FilterFailure],
    post_filter: Option<&str>,
    preemption: &str,
) -> String {
    if failures.is_empty() {
        return "no nodes available to schedule pods".into();
    }
    let reasons = match &failures[0] {
        FilterFailure::PreFilter(reason) => reason.clone(),
        _ => histogram(failures.iter().flat_map(FilterFailure::reasons)),
    };
    let mut text = format!("0/{} nodes are available: {reasons}.", failures.len());
    let preemption = Some(preemption).filter(|text| !text.is_empty());
    let preemption = preemption.map(|text| format!("preemption: {text}"));
    let after: Vec<&str> = post_filter
        .into_iter()
        .chain(preemption.as_deref())
        .collect();
    if !after.is_empty() {
        text.push_str(&format!(" {}", after.join(", ")));
    }
    text
}

/// The message when preemption finds no victims.
pub(super) fn no_victims_message(failures: &[FilterFailure]) -> String {
    let text = |o: &FilterFailure| {
        if o.is_resolvable_by_preemption() {
            "No preemption victims found for incoming pod".to_string()
        } else {
            "Preemption is not helpful for scheduling".to_string()
        }
    };
    let reasons = histogram(failures.iter().map(text));
    format!("0/{} nodes are available: {reasons}.", failures.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_and_ordered_as_text() {
        let short = |names: &[&str]| {
            FilterFailure::NodeResourcesFit(names.iter().map(|n| n.to_string()).collect(), false)
        };
        let failures = [
            short(&["cpu", "nvidia.com/gpu"]),
            FilterFailure::TaintToleration,
            short(&["cpu"]),
        ];
        assert_eq!(
            fit_error_message(&failures, None, &no_victims_message(&failures)),
            "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) had untolerated taint(s), 2 Insufficient cpu. preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod."
        );
    }
}
