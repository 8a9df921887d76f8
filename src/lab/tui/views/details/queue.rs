//! Details of ClusterQueues, Cohorts and LocalQueues.

use crate::model::cohort_tree::QuotaNode;
use crate::model::queues::{ClusterQueueRow, LocalQueueRow};
use crate::model::workload::status_reason;
use crate::model::{ObjectKey, Row};
use crate::state::State;
use crate::text::{age, amount_text};
use crate::theme::Role;
use crate::widgets::format::{cluster_queue_status, local_queue_status, requests_text, share_text};
use crate::widgets::{PageBuilder, TableCell};
use kueue_lab_api::constants::ACTIVE;

/// Writes the details of a ClusterQueue: status, quota, policies, pending workloads, reserving workloads.
pub(crate) fn cluster_queue(state: &State, cq: &ClusterQueueRow, doc: &mut PageBuilder<'_>) {
    let name = &cq.key().name;
    let node = QuotaNode::ClusterQueue(name.clone());
    let (status, role) = cluster_queue_status(cq);
    doc.field("Status", &status, role);
    if let Some(c) = cq.conditions.when_false(ACTIVE) {
        doc.field("", &c.message, Role::Error);
    }
    for found in state.derived.loops_in(&state.data, name) {
        doc.scheduling_loop(found);
    }
    if cq.no_namespace_selector {
        doc.field(
            "",
            "It has no namespaceSelector, so it matches no namespace; {} matches all.",
            Role::Error,
        );
    }
    let path = state.derived.cohort_tree.path(&node).join("/");
    doc.field(
        "Cohort",
        if path.is_empty() { "none" } else { &path },
        Role::Text,
    );
    doc.field(
        "Strategy",
        if cq.is_strict_fifo() {
            "StrictFIFO: a head that does not fit blocks the queue"
        } else {
            "BestEffortFIFO: workloads that do not fit are skipped"
        },
        Role::Text,
    );
    doc.field(
        "Workloads",
        &format!(
            "{} pending, {} reserving quota, {} admitted",
            cq.counts.pending, cq.counts.reserving, cq.counts.admitted
        ),
        Role::Text,
    );
    if cq.share.weighted_share.is_some() {
        let share = share_text(&cq.share, doc.glyphs.infinity);
        doc.field("Fair share", &share, Role::Text);
    }
    if !cq.admission_checks.is_empty() {
        doc.field("Checks", &cq.admission_checks.join(", "), Role::Text);
    }
    quota_table(state, &node, doc);
    policies(cq, doc);
    local_queues(state, name, doc);
    pending_workloads(state, name, doc);
    reserving_workloads(state, name, doc);
    doc.conditions(&cq.conditions);
    doc.events("ClusterQueue", cq.key(), 10);
}

/// Writes quota by flavor and resource.
fn quota_table(state: &State, node: &QuotaNode, doc: &mut PageBuilder<'_>) {
    let tree = &state.derived.cohort_tree;
    let limited = tree.resources(node).any(|fr| {
        let quota = tree.quota_status(node, fr);
        quota.borrowing_limit.is_some() || quota.lending_limit.is_some()
    });
    let rows: Vec<Vec<TableCell>> = tree
        .resources(node)
        .map(|fr| {
            let s = tree.quota_status(node, fr);
            let text = |a| amount_text(&fr.resource, a);
            let limit = |a: Option<_>| a.map_or_else(|| "-".to_owned(), text);
            let lent = if s.lent_min == s.lent_max {
                text(s.lent_max)
            } else {
                format!("{}-{}", text(s.lent_min), text(s.lent_max))
            };
            let free = s.available.max(crate::text::Amount::ZERO);
            let mut row = vec![
                (fr.flavor.clone(), Role::Text),
                (fr.resource.clone(), Role::Text),
                (text(s.nominal), Role::Bold),
                (text(s.usage), Role::Text),
                (text(s.borrowed), Role::Text),
                (lent, Role::Text),
                (text(free), Role::Text),
                (text(s.potential_available), Role::Text),
            ];
            if limited {
                row.push((limit(s.borrowing_limit), Role::Dim));
                row.push((limit(s.lending_limit), Role::Dim));
            }
            row
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    doc.section("Quota");
    let mut titles = vec![
        "FLAVOR",
        "RESOURCE",
        ">NOMINAL",
        ">USED",
        ">BORROWED",
        ">LENT",
        ">AVAILABLE",
        ">MAX",
    ];
    if limited {
        titles.extend([">BORROWING LIMIT", ">LENDING LIMIT"]);
    }
    doc.table(&titles, &rows);
}

fn policies(cq: &ClusterQueueRow, doc: &mut PageBuilder<'_>) {
    doc.section("Preemption and flavor fungibility");
    let p = &cq.preemption;
    let within_cluster_queue = p.within_cluster_queue();
    let reclaim_within_cohort = p.reclaim_within_cohort();
    policy("withinClusterQueue", within_cluster_queue.as_str(), doc);
    policy("reclaimWithinCohort", reclaim_within_cohort.as_str(), doc);
    let threshold = p
        .borrow_within_cohort
        .as_ref()
        .and_then(|b| b.max_priority_threshold)
        .map(|t| format!(", maxPriorityThreshold {t}"));
    let borrow = p.borrow_within_cohort();
    let borrow = format!("{borrow}{}", threshold.unwrap_or_default());
    policy("borrowWithinCohort", &borrow, doc);
    let fungibility = &cq.flavor_fungibility;
    let when_can_borrow = fungibility.when_can_borrow().to_string();
    let when_can_preempt = fungibility.when_can_preempt().to_string();
    policy("whenCanBorrow", &when_can_borrow, doc);
    policy("whenCanPreempt", &when_can_preempt, doc);
}

/// Writes a policy by the name of its field.
fn policy(field: &str, value: &str, doc: &mut PageBuilder<'_>) {
    doc.field(&format!("{field:<19}"), value, Role::Text);
}

fn local_queues(state: &State, name: &str, doc: &mut PageBuilder<'_>) {
    let rows: Vec<Vec<TableCell>> = state
        .data
        .local_queues_of(name)
        .map(|lq| {
            let (status, role) = local_queue_status(lq);
            vec![
                (lq.key().to_string(), Role::Text),
                (lq.counts.pending.to_string(), Role::Text),
                (lq.counts.reserving.to_string(), Role::Text),
                (lq.counts.admitted.to_string(), Role::Text),
                (status, role),
            ]
        })
        .collect();
    doc.section("LocalQueues");
    if rows.is_empty() {
        doc.text(
            "No LocalQueue refers to this ClusterQueue, so nothing can be submitted.",
            Role::Warning,
        );
    } else {
        doc.table(&["NAME", ">PEND", ">RESV", ">ADM", "STATUS"], &rows);
    }
}

/// Writes the pending workloads, in order.
fn pending_workloads(state: &State, name: &str, doc: &mut PageBuilder<'_>) {
    let pending = state.derived.pending_workloads_of(name);
    if pending.is_empty() {
        return;
    }
    doc.section("Pending workloads");
    let pending = pending.iter().enumerate();
    let pending = pending.filter_map(|(n, key)| Some((n, state.data.workloads.get(key)?)));
    let titles = ["POS", "WORKLOAD", ">PRI", ">AGE", "REASON"];
    doc.list(&titles, pending, 15, |(n, wl)| {
        vec![
            (format!("#{}", n + 1), Role::Dim),
            (wl.key().to_string(), Role::Text),
            (wl.priority.to_string(), Role::Text),
            (age(state.data.now, wl.meta.created), Role::Text),
            (
                status_reason(wl, &state.data, &state.derived).line(),
                Role::Text,
            ),
        ]
    });
}

/// Writes the workloads with quota reservation.
fn reserving_workloads(state: &State, name: &str, doc: &mut PageBuilder<'_>) {
    let workloads = state.data.workloads.iter();
    let mut reserving = workloads
        .filter(|wl| wl.holds_quota())
        .filter(|wl| {
            wl.admission
                .as_ref()
                .is_some_and(|a| a.cluster_queue == name)
        })
        .peekable();
    if reserving.peek().is_some() {
        doc.section("Reserving workloads");
        let titles = ["WORKLOAD", ">PRI", "STATE", "REQUESTS"];
        doc.list(&titles, reserving, 15, |wl| {
            vec![
                (wl.key().to_string(), Role::Text),
                (wl.priority.to_string(), Role::Text),
                (wl.state().as_str().to_owned(), Role::Text),
                (requests_text(&wl.requests()), Role::Text),
            ]
        });
    }
}

/// Writes the details of a Cohort: parent, members, quota.
pub(crate) fn cohort(state: &State, name: &str, doc: &mut PageBuilder<'_>) {
    let tree = &state.derived.cohort_tree;
    let node = QuotaNode::Cohort(name.to_owned());
    let path = tree.path(&node).join("/");
    doc.field(
        "Parent",
        if path.is_empty() { "none" } else { &path },
        Role::Text,
    );
    if tree.in_cycle(&node) {
        doc.field(
            "",
            "It is in a cycle of Cohorts. Nothing is admitted in any of them until one parentName is changed.",
            Role::Error,
        );
    }
    if !tree.exists(&node) {
        doc.field(
            "",
            "Implicit Cohort: there is no Cohort object; its members share unused quota.",
            Role::Dim,
        );
    }
    if let Some(c) = state.data.cohorts.named(name)
        && c.share.weighted_share.is_some()
    {
        let share = share_text(&c.share, doc.glyphs.infinity);
        doc.field("Fair share", &share, Role::Text);
    }
    quota_table(state, &node, doc);
    doc.section("Members");
    let children: Vec<String> = tree
        .children(&node)
        .map(|m| match m {
            QuotaNode::Cohort(name) => format!("cohort {name}"),
            QuotaNode::ClusterQueue(name) => name.clone(),
        })
        .collect();
    doc.text(&children.join(", "), Role::Text);
    doc.events("Cohort", &ObjectKey::cluster(name), 10);
}

/// Writes the details of a LocalQueue.
pub(crate) fn local_queue(state: &State, lq: &LocalQueueRow, doc: &mut PageBuilder<'_>) {
    let (status, role) = local_queue_status(lq);
    doc.field("Status", &status, role);
    if let Some(c) = lq.conditions.when_false(ACTIVE) {
        doc.field("", &c.message, Role::Error);
    }
    let exists = state.data.cluster_queues.named(&lq.cluster_queue).is_some();
    let note = if exists { "" } else { " (does not exist)" };
    doc.field(
        "ClusterQueue",
        &format!("{}{note}", lq.cluster_queue),
        if exists { Role::Text } else { Role::Error },
    );
    doc.field(
        "Workloads",
        &format!(
            "{} pending, {} reserving quota, {} admitted",
            lq.counts.pending, lq.counts.reserving, lq.counts.admitted
        ),
        Role::Text,
    );
    let workloads = state.data.workloads.iter();
    let mut open = workloads
        .filter(|wl| wl.key().namespace == lq.key().namespace && wl.queue == lq.key().name)
        .filter(|wl| !wl.state().is_finished())
        .peekable();
    if open.peek().is_some() {
        doc.section("Unfinished workloads");
        doc.list(&["WORKLOAD", "STATE", ">PRI", "REASON"], open, 20, |wl| {
            vec![
                (wl.key().name.clone(), Role::Text),
                (wl.state().as_str().to_owned(), Role::Text),
                (wl.priority.to_string(), Role::Text),
                (
                    status_reason(wl, &state.data, &state.derived).line(),
                    Role::Text,
                ),
            ]
        });
    }
    doc.conditions(&lq.conditions);
    doc.events("LocalQueue", lq.key(), 10);
}
