//! Quota of the resources that a workload requests, and the workloads that reserve it.

use std::collections::BTreeSet;

use crate::model::Row;
use crate::model::cohort_tree::QuotaNode;
use crate::model::meta::Requests;
use crate::model::queues::FlavorResource;
use crate::model::workload::WorkloadRow;
use crate::state::State;
use crate::text::{Amount, age, amount_text, resource_label};
use crate::theme::Role;
use crate::widgets::{PageBuilder, TableCell};

/// Writes the quota of each requested resource in each flavor, and whether the request fits.
pub(super) fn quota_arithmetic(state: &State, wl: &WorkloadRow, doc: &mut PageBuilder<'_>) {
    let Some(cq) = state
        .data
        .cluster_queue_of(wl)
        .and_then(|name| state.data.cluster_queues.named(name))
    else {
        return;
    };
    let requests = requested(wl);
    let node = QuotaNode::ClusterQueue(cq.key().name.clone());
    let mut rows: Vec<Vec<TableCell>> = Vec::new();
    for (resource, amount) in &requests {
        let mut covered = false;
        for (fr, _) in cq.quotas.iter().filter(|(fr, _)| fr.resource == *resource) {
            covered = true;
            let s = state.derived.cohort_tree.quota_status(&node, fr);
            let text = |a| amount_text(resource, a);
            let (verdict, role) = if *amount > s.potential_available {
                // The column MAX shows the limit.
                ("never".to_owned(), Role::Error)
            } else if *amount <= s.available {
                ("fits".to_owned(), Role::Success)
            } else {
                (
                    format!("short by {}", text(amount.minus(s.available))),
                    Role::Waiting,
                )
            };
            rows.push(vec![
                (resource_label(resource).to_owned(), Role::Text),
                (fr.flavor.clone(), Role::Text),
                (text(*amount), Role::Bold),
                (format!("{}/{}", text(s.usage), text(s.nominal)), Role::Text),
                (text(s.borrowed), Role::Text),
                (text(s.available.max(Amount::ZERO)), Role::Text),
                (text(s.potential_available), Role::Text),
                (verdict, role),
            ]);
        }
        if !covered {
            let mut row = vec![
                (resource_label(resource).to_owned(), Role::Text),
                ("-".to_owned(), Role::Dim),
                (amount_text(resource, *amount), Role::Bold),
            ];
            row.extend((0..4).map(|_| ("-".to_owned(), Role::Dim)));
            row.push((
                "never: the queue has no quota for it".to_owned(),
                Role::Error,
            ));
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return;
    }
    doc.section(&format!("Quota of {} for its requests", cq.key().name));
    doc.table(
        &[
            "RESOURCE",
            "FLAVOR",
            ">REQUESTS",
            ">USED",
            ">BORROWED",
            ">AVAILABLE",
            ">MAX",
            "VERDICT",
        ],
        &rows,
    );
    doc.text(
        "AVAILABLE is without preemption, MAX is the maximum capacity. Taints and node affinity are not considered.",
        Role::Dim,
    );
}

/// The requests of the workload, without zero amounts.
fn requested(wl: &WorkloadRow) -> Requests {
    let mut requests = wl.requests();
    requests.retain(|_, amount| !amount.is_zero());
    requests
}

/// Writes the workloads in the cohort tree with quota of the requested resources.
pub(super) fn reserving_workloads(state: &State, wl: &WorkloadRow, doc: &mut PageBuilder<'_>) {
    let Some(own) = state.data.cluster_queue_of(wl) else {
        return;
    };
    let node = QuotaNode::ClusterQueue(own.to_owned());
    let root = state.derived.cohort_tree.root(&node);
    let queues: BTreeSet<&str> = state
        .derived
        .cohort_tree
        .descendant_cluster_queues(root)
        .into_iter()
        .collect();
    let requests = requested(wl);
    let mut found: Vec<(&WorkloadRow, &str, ReservedQuota, Amount)> = Vec::new();
    for other in state.data.workloads.iter() {
        let Some(admission) = other.admission.as_ref().filter(|_| other.holds_quota()) else {
            continue;
        };
        if !queues.contains(&admission.cluster_queue.as_str()) {
            continue;
        }
        let held = held(other, &requests);
        if !held.is_empty() {
            let total = held.iter().map(|(_, amount)| *amount).sum();
            found.push((other, &admission.cluster_queue, held, total));
        }
    }
    if found.is_empty() {
        return;
    }
    found.sort_by(|a, b| {
        let key = |(w, cq, _, n): &(&WorkloadRow, &str, ReservedQuota, Amount)| {
            (*cq != own, w.priority, std::cmp::Reverse(*n))
        };
        key(a).cmp(&key(b))
    });
    doc.section("Reserving workloads");
    let titles = ["WORKLOAD", "CLUSTERQUEUE", ">PRIORITY", ">AGE", "RESERVED"];
    doc.list(&titles, found.into_iter(), 12, |(other, cq, held, _)| {
        let (word, role) = match other.priority.cmp(&wl.priority) {
            std::cmp::Ordering::Less => ("lower", Role::Warning),
            std::cmp::Ordering::Equal => ("equal", Role::Text),
            std::cmp::Ordering::Greater => ("higher", Role::Text),
        };
        let held: Vec<String> = held
            .iter()
            .map(|(fr, amount)| {
                let amount = amount_text(&fr.resource, *amount);
                format!("{amount} {} of {}", resource_label(&fr.resource), fr.flavor)
            })
            .collect();
        vec![
            (other.key().to_string(), Role::Text),
            (cq.to_owned(), Role::Dim),
            (format!("{} {word}", other.priority), role),
            (age(state.data.now, reserved_since(other)), Role::Text),
            (held.join(", "), Role::Text),
        ]
    });
}

/// Amounts by flavor and resource.
type ReservedQuota = Vec<(FlavorResource, Amount)>;

/// The reserved quota of a workload for the requested resources, by flavor.
fn held(wl: &WorkloadRow, requests: &Requests) -> ReservedQuota {
    let mut out = ReservedQuota::new();
    for set in wl.admission.iter().flat_map(|a| &a.pod_sets) {
        for (resource, amount) in &set.usage {
            let Some(flavor) = set.flavors.get(resource) else {
                continue;
            };
            if !requests.contains_key(resource) || amount.is_zero() {
                continue;
            }
            let fr = FlavorResource {
                flavor: flavor.clone(),
                resource: resource.clone(),
            };
            match out.iter_mut().find(|(known, _)| *known == fr) {
                Some((_, sum)) => *sum = sum.plus(*amount),
                None => out.push((fr, *amount)),
            }
        }
    }
    out
}

/// The time of the quota reservation.
fn reserved_since(wl: &WorkloadRow) -> Option<jiff::Timestamp> {
    wl.conditions
        .when_true(kueue_lab_api::constants::QUOTA_RESERVED)
        .map(|c| c.at)
}
