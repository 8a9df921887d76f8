//! The arithmetic of quota for one workload, and who holds what it wants.

use std::collections::BTreeSet;

use super::doc::{Doc, TableCell};
use crate::model::Row;
use crate::model::meta::Requests;
use crate::model::queues::FlavorResource;
use crate::model::quota::Member;
use crate::model::workload::WorkloadRow;
use crate::state::State;
use crate::text::{Amount, age, amount_text, resource_label};
use crate::theme::Role;

/// What the ClusterQueue could give of each resource in each flavor, and what that means.
pub(super) fn arithmetic(state: &State, wl: &WorkloadRow, doc: &mut Doc<'_>) {
    let Some(cq) = state
        .data
        .cluster_queue_of(wl)
        .and_then(|name| state.data.cluster_queues.named(name))
    else {
        return;
    };
    let asks = asked(wl);
    let member = Member::ClusterQueue(cq.key().name.clone());
    let mut rows: Vec<Vec<TableCell>> = Vec::new();
    for (resource, amount) in &asks {
        let mut covered = false;
        for (fr, _) in cq.quotas.iter().filter(|(fr, _)| fr.resource == *resource) {
            covered = true;
            let s = state.derived.forest.standing(&member, fr);
            let text = |a| amount_text(resource, a);
            let (verdict, role) = if *amount > s.limit {
                (format!("never: at most {}", text(s.limit)), Role::Bad)
            } else if *amount <= s.available {
                ("fits".to_owned(), Role::Fine)
            } else {
                (
                    format!("{} short", text(amount.minus(s.available))),
                    Role::Wait,
                )
            };
            rows.push(vec![
                (resource_label(resource).to_owned(), Role::Text),
                (fr.flavor.clone(), Role::Text),
                (text(*amount), Role::Strong),
                (format!("{}/{}", text(s.used), text(s.nominal)), Role::Text),
                (text(s.borrowed), Role::Text),
                (text(s.available.max(Amount::ZERO)), Role::Text),
                (text(s.limit), Role::Text),
                (verdict, role),
            ]);
        }
        if !covered {
            let mut row = vec![
                (resource_label(resource).to_owned(), Role::Text),
                ("-".to_owned(), Role::Dim),
                (amount_text(resource, *amount), Role::Strong),
            ];
            row.extend((0..4).map(|_| ("-".to_owned(), Role::Dim)));
            row.push(("never: the queue has no quota for it".to_owned(), Role::Bad));
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return;
    }
    doc.section(&format!("Quota of {} for what it asks", cq.key().name));
    doc.table(
        &[
            "RESOURCE",
            "FLAVOR",
            ">ASKS",
            ">USED",
            ">BORROWED",
            ">FREE",
            ">MAX",
            "VERDICT",
        ],
        &rows,
    );
    doc.text(
        "FREE is what can be had now without evicting anybody, MAX what could ever be had. Taints and selectors are not counted here.",
        Role::Dim,
    );
}

/// What the workload asks for, with its pods where the queue counts pods.
fn asked(wl: &WorkloadRow) -> Requests {
    let mut asks = wl.requests();
    asks.retain(|_, amount| !amount.is_zero());
    asks
}

/// Who holds quota of the resources the workload asks for, in its ClusterQueue and cohorts.
pub(super) fn holders(state: &State, wl: &WorkloadRow, doc: &mut Doc<'_>) {
    let Some(own) = state.data.cluster_queue_of(wl) else {
        return;
    };
    let member = Member::ClusterQueue(own.to_owned());
    let root = state.derived.forest.root(&member);
    let queues: BTreeSet<&str> = state
        .derived
        .forest
        .queues_below(root)
        .into_iter()
        .collect();
    let asks = asked(wl);
    let mut found: Vec<(&WorkloadRow, &str, Held, Amount)> = Vec::new();
    for other in state.data.workloads.iter() {
        let Some(admission) = other.admission.as_ref().filter(|_| other.holds_quota()) else {
            continue;
        };
        if !queues.contains(&admission.cluster_queue.as_str()) {
            continue;
        }
        let held = held(other, &asks);
        if !held.is_empty() {
            let total = held.iter().map(|(_, amount)| *amount).sum();
            found.push((other, &admission.cluster_queue, held, total));
        }
    }
    if found.is_empty() {
        return;
    }
    found.sort_by(|a, b| {
        let key = |(w, cq, _, n): &(&WorkloadRow, &str, Held, Amount)| {
            (*cq != own, w.priority, std::cmp::Reverse(*n))
        };
        key(a).cmp(&key(b))
    });
    doc.section("Who holds that quota");
    let titles = ["WORKLOAD", "CLUSTERQUEUE", ">PRIORITY", ">FOR", "HOLDS"];
    doc.list(&titles, found.into_iter(), 12, |(other, cq, held, _)| {
        let (word, role) = match other.priority.cmp(&wl.priority) {
            std::cmp::Ordering::Less => ("lower", Role::Lost),
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
            (age(state.data.now, since(other)), Role::Text),
            (held.join(", "), Role::Text),
        ]
    });
}

/// Amounts by flavor and resource.
type Held = Vec<(FlavorResource, Amount)>;

/// What a workload holds of the asked resources, by flavor.
fn held(wl: &WorkloadRow, asks: &Requests) -> Held {
    let mut out = Held::new();
    for set in wl.admission.iter().flat_map(|a| &a.pod_sets) {
        for (resource, amount) in &set.usage {
            let Some(flavor) = set.flavors.get(resource) else {
                continue;
            };
            if !asks.contains_key(resource) || amount.is_zero() {
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

/// Since when it holds quota.
fn since(wl: &WorkloadRow) -> Option<jiff::Timestamp> {
    wl.conds
        .when_true(kueue_lab_api::constants::QUOTA_RESERVED)
        .map(|c| c.at)
}
