//! Assignment of gated pods to topology domains: by rank if all pods have one, otherwise greedily.
//! Pure functions.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;

use super::pods::has_topology_gate;
use kueue_lab_api::v1beta2::PodSetTopologyRequest;
use kueue_lab_engine::topology_assignment::TopologyAssignment;

/// The rank range of a pod set within its pod set group.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RankRange {
    /// The first rank.
    pub offset: i64,
    /// One past the last rank.
    pub end: i64,
}

/// The gated pods that can be ungated, each with the index of its domain in the assignment.
pub(super) fn assign_gated_pods_to_domains(
    assignment: &TopologyAssignment,
    pods: &[Arc<Pod>],
    request: Option<&PodSetTopologyRequest>,
    count: i64,
    ranks: RankRange,
) -> Vec<(Arc<Pod>, usize)> {
    assign_gated_pods_to_domains_by_ranks(assignment, pods, request, count, ranks)
        .unwrap_or_else(|| assign_gated_pods_to_domains_greedy(assignment, pods))
}

/// The values of a pod's node selector at the levels of the assignment.
fn domain_values(pod: &Pod, levels: &[String]) -> Vec<String> {
    let selector = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.node_selector.as_ref());
    let value = |level| {
        selector
            .and_then(|s| s.get(level))
            .cloned()
            .unwrap_or_default()
    };
    levels.iter().map(value).collect()
}

fn assign_gated_pods_to_domains_greedy(
    assignment: &TopologyAssignment,
    pods: &[Arc<Pod>],
) -> Vec<(Arc<Pod>, usize)> {
    let (gated, free): (Vec<&Arc<Pod>>, Vec<&Arc<Pod>>) =
        pods.iter().partition(|pod| has_topology_gate(pod));
    let mut assigned: BTreeMap<Vec<String>, i64> = BTreeMap::new();
    for pod in free {
        *assigned
            .entry(domain_values(pod, &assignment.levels))
            .or_default() += 1;
    }
    let mut gated = gated.into_iter();
    let mut chosen = Vec::new();
    for (i, domain) in assignment.domains.iter().enumerate() {
        let taken = assigned.get(&domain.values).copied().unwrap_or(0);
        let capacity = usize::try_from(i64::from(domain.count) - taken).unwrap_or(0);
        chosen.extend(gated.by_ref().take(capacity).map(|pod| (pod.clone(), i)));
    }
    chosen
}

/// The integer in a label of a pod, below a bound.
fn number(pod: &Pod, label: &str, below: i64) -> Option<i64> {
    let value = pod.metadata.labels.as_ref()?.get(label)?;
    value.parse::<i64>().ok().filter(|n| (0..below).contains(n))
}

/// None if a pod has no rank, or a running pod is not in the domain of its rank.
fn assign_gated_pods_to_domains_by_ranks(
    assignment: &TopologyAssignment,
    pods: &[Arc<Pod>],
    request: Option<&PodSetTopologyRequest>,
    count: i64,
    ranks: RankRange,
) -> Option<Vec<(Arc<Pod>, usize)>> {
    let request = request?;
    let index = request.pod_index_label.as_deref()?;
    let group = match &request.sub_group_index_label {
        None => None,
        Some(label) => Some((
            label,
            i64::from(request.sub_group_count.filter(|n| *n > 0)?),
        )),
    };
    // The rank after the last one of each domain.
    let mut end = 0i64;
    let ends: Vec<i64> = assignment
        .domains
        .iter()
        .map(|domain| {
            end = end.saturating_add(domain.count.max(0).into());
            end
        })
        .collect();
    let mut by_rank: BTreeMap<i64, &Arc<Pod>> = BTreeMap::new();
    for pod in pods {
        let position = number(pod, index, ranks.end)?;
        let rank = match group {
            None => position,
            Some((label, groups)) => {
                let size = count / groups;
                let group = number(pod, label, groups)?;
                (position < size).then_some(position.saturating_add(group.saturating_mul(size)))?
            }
        }
        .saturating_sub(ranks.offset);
        let fits = (0..count).contains(&rank);
        if !fits || by_rank.insert(rank, pod).is_some() {
            return None;
        }
    }
    let mut chosen = Vec::new();
    for (rank, pod) in by_rank {
        let domain = ends.partition_point(|end| *end <= rank);
        if domain == ends.len() {
            return None;
        }
        if has_topology_gate(pod) {
            chosen.push((pod.clone(), domain));
        } else if domain_values(pod, &assignment.levels) != assignment.domains[domain].values {
            return None;
        }
    }
    Some(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kueue_lab_engine::topology_assignment::TopologyDomainAssignment;
    use serde_json::json;

    fn pod(name: &str, index: Option<&str>, host: Option<&str>) -> Arc<Pod> {
        let mut pod = json!({"metadata": {"name": name, "labels": {}}, "spec": {"containers": []}});
        if let Some(index) = index {
            pod["metadata"]["labels"]["idx"] = json!(index);
        }
        match host {
            Some(host) => pod["spec"]["nodeSelector"] = json!({"host": host}),
            None => pod["spec"]["schedulingGates"] = json!([{"name": "kueue.x-k8s.io/topology"}]),
        }
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    fn assignment() -> TopologyAssignment {
        let domain = |host: &str, count| TopologyDomainAssignment {
            values: vec![host.into()],
            count,
        };
        TopologyAssignment {
            levels: vec!["host".into()],
            domains: vec![domain("a", 1), domain("b", 2)],
        }
    }

    fn chosen(pods: &[Arc<Pod>]) -> Vec<(String, usize)> {
        let request = PodSetTopologyRequest {
            pod_index_label: Some("idx".into()),
            ..Default::default()
        };
        let ranks = RankRange { offset: 0, end: 3 };
        let chosen = assign_gated_pods_to_domains(&assignment(), pods, Some(&request), 3, ranks);
        let name = |pod: &Arc<Pod>| pod.metadata.name.clone().unwrap();
        chosen
            .iter()
            .map(|(pod, domain)| (name(pod), *domain))
            .collect()
    }

    #[test]
    fn ranked_pods_are_assigned_by_rank() {
        let pods = [pod("x", Some("2"), None), pod("y", Some("0"), None)];
        assert_eq!(chosen(&pods), [("y".to_owned(), 0), ("x".to_owned(), 1)]);
    }

    #[test]
    fn unranked_pods_are_assigned_greedily() {
        let pods = [
            pod("x", None, Some("b")),
            pod("y", None, None),
            pod("z", None, None),
        ];
        assert_eq!(chosen(&pods), [("y".to_owned(), 0), ("z".to_owned(), 1)]);
    }

    #[test]
    fn a_pod_in_the_wrong_domain_falls_back_to_greedy() {
        let pods = [pod("x", Some("0"), Some("b")), pod("y", Some("1"), None)];
        assert_eq!(chosen(&pods), [("y".to_owned(), 0)]);
    }
}
