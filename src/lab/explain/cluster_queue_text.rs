//! Renders the explanation of a ClusterQueue as text.

use std::collections::BTreeMap;
use std::fmt::Display;

use super::text::{line, nomination};
use kueue_lab_api::v1beta2::ClusterQueue;
use kueue_lab_engine::engine::{ClusterQueueExplanation, ExplainedQuota};

/// The number of Workloads listed; JSON has all of them.
const MAX_LISTED: usize = 20;

/// The explanation as several lines of text.
pub(super) fn render(explained: &ClusterQueueExplanation, queue: Option<&ClusterQueue>) -> String {
    let mut out = String::new();
    line(
        &mut out,
        0,
        &format!("ClusterQueue {}", explained.cluster_queue),
    );
    line(&mut out, 1, &format!("path        {}", explained.path));
    let active = &explained.active;
    let state = match &explained.cohort_cycle {
        // The Active condition says nothing of it.
        Some(cycle) => format!("inactive: {cycle}"),
        None if active.active => "active".to_owned(),
        None => format!("inactive, {}: {}", active.reason, active.message),
    };
    line(&mut out, 1, &format!("state       {state}"));
    if let Some(queue) = queue {
        let policies = queue.spec.preemption.clone().unwrap_or_default();
        line(
            &mut out,
            1,
            &format!("strategy    {}", queue.spec.queueing_strategy()),
        );
        let text = format!(
            "preemption  withinClusterQueue: {}, reclaimWithinCohort: {}, borrowWithinCohort: {}",
            policies.within_cluster_queue(),
            policies.reclaim_within_cohort(),
            policies.borrow_within_cohort()
        );
        line(&mut out, 1, &text);
    }
    if let Some(share) = explained.weighted_share {
        line(&mut out, 1, &format!("share       {share}"));
    }
    line(&mut out, 0, "Quota");
    for quota in &explained.quotas {
        quota_lines(&mut out, quota);
    }
    for cohort in &explained.cohorts {
        let own = match cohort.nominal.as_str() {
            "0" => String::new(),
            own => format!(", {own} of it its own"),
        };
        let text = format!(
            "cohort {}: {} {}: {} of {} used{own}",
            cohort.cohort, cohort.flavor, cohort.resource, cohort.used, cohort.quota
        );
        line(&mut out, 1, &text);
    }
    reserving_workloads(&mut out, explained);
    pending(&mut out, explained);
    out
}

fn quota_lines(out: &mut String, quota: &ExplainedQuota) {
    let ExplainedQuota {
        flavor, resource, ..
    } = quota;
    let used = format!(
        "{flavor} {resource}: {} of nominal {} used",
        quota.used, quota.nominal
    );
    let mut parts = vec![used];
    if quota.borrowed != "0" {
        parts.push(format!("{} borrowed", quota.borrowed));
    }
    if quota.lent != "0" {
        parts.push(format!("{} lent and in use", quota.lent));
    }
    parts.push(format!("{} available", quota.available));
    line(out, 1, &parts.join(", "));
    let mut limits = vec![format!("at most {}", quota.maximum)];
    limits.extend(
        quota
            .borrowing_limit
            .iter()
            .map(|l| format!("borrowingLimit {l}")),
    );
    limits.extend(
        quota
            .lending_limit
            .iter()
            .map(|l| format!("lendingLimit {l}")),
    );
    line(out, 2, &limits.join(", "));
}

fn reserving_workloads(out: &mut String, explained: &ClusterQueueExplanation) {
    let (reserving, borrowers) = (&explained.holders, &explained.borrowers);
    if reserving.is_empty() && borrowers.is_empty() {
        return;
    }
    line(out, 0, "Reserving workloads");
    for workload in reserving.iter().take(MAX_LISTED) {
        let usage = workload
            .usage
            .iter()
            .map(|(flavor, amounts)| format!("{} from {flavor}", amounts_text(amounts)));
        let usage: Vec<String> = usage.collect();
        let state = match (workload.evicted, workload.admitted) {
            (true, _) => ", evicted, its pods terminate",
            (false, false) => ", waits for admission checks",
            (false, true) => "",
        };
        let text = format!(
            "{}, priority {}: {}{state}",
            workload.workload,
            workload.priority,
            usage.join(", ")
        );
        line(out, 1, &text);
    }
    more(out, reserving.len());
    for borrower in borrowers {
        let text = format!(
            "ClusterQueue {} borrows {} {} from {}",
            borrower.cluster_queue, borrower.borrowed, borrower.resource, borrower.flavor
        );
        line(out, 1, &text);
    }
}

fn pending(out: &mut String, explained: &ClusterQueueExplanation) {
    let pending = &explained.pending;
    if pending.is_empty() {
        return line(out, 0, "No Workload is pending.");
    }
    line(out, 0, "Pending, in order");
    for (wl, position) in pending.iter().zip(1..).take(MAX_LISTED) {
        let text = format!(
            "{position} {}, priority {}: {}",
            wl.workload,
            wl.priority,
            amounts_text(&wl.requests)
        );
        line(out, 1, &text);
    }
    more(out, pending.len());
    let Some(head) = &explained.head else {
        return;
    };
    let verdict = head.verdict.as_ref().map(ToString::to_string);
    let verdict = verdict.unwrap_or_default();
    line(out, 0, &format!("Head {}: {verdict}", head.workload));
    if let Some(decision) = &head.now {
        nomination(out, decision);
    }
}

fn amounts_text<T: Display>(amounts: &BTreeMap<String, T>) -> String {
    let each = amounts
        .iter()
        .map(|(name, amount)| format!("{name} {amount}"));
    let each: Vec<String> = each.collect();
    each.join(", ")
}

fn more(out: &mut String, all: usize) {
    if all > MAX_LISTED {
        line(
            out,
            1,
            &format!("and {} more; -o json lists all", all - MAX_LISTED),
        );
    }
}
