//! Renders an explanation as text, from the engine's decision and the Workload's conditions.

use std::fmt::Write;

use super::admission_text::admission_lines;
use super::explain_workload::WorkloadReport;
use kueue_lab_api::v1beta2::{CheckState, Workload};
use kueue_lab_engine::cycle::{CandidateDecision, Decision, PodSetDecision, VictimDecision};
use kueue_lab_engine::engine::{Explanation, PendingState};
use kueue_lab_engine::flavor_assigner::{FlavorAssignmentMode, ResourceAttempt};
use kueue_lab_engine::preemption::SharesCompared;
use kueue_lab_engine::resources::{Requests, ResourceFormatter, ResourceName};
use kueue_lab_engine::workload::predicates;
use kueue_lab_preemption_loops::DetectedLoop;
use kueue_lab_reason::{FlavorReason, PreemptionShortageReason};

/// The number of preemption candidates listed; JSON has all of them.
const MAX_CANDIDATES: usize = 50;

/// What an engine with a copy of the objects of a cluster does not know.
const UNKNOWN: &str = "\
Decided on a copy of the cluster's objects. What only the engine of the controller has is not known:
  whether the Workload is inadmissible until an event requeues it, the flavors that it tries next,
  preemptions whose Workloads are not updated yet, and usage since the last sample of fair sharing.
";

/// The explanation as several lines of text.
pub(super) fn render(report: &WorkloadReport, found: Option<&DetectedLoop>) -> String {
    let (workload, changes) = (&report.workload, &report.explained.changes);
    let explanation = &report.explained.explanation;
    let mut out = String::new();
    head(&mut out, explanation, workload);
    if let Some(found) = found {
        line(&mut out, 1, &format!("loop      {found}"));
        line(&mut out, 6, found.remedy());
    }
    for note in &report.notes {
        line(&mut out, 1, &format!("note      {note}"));
    }
    let formatter = ResourceFormatter::default();
    if let Some(blocker) = &explanation.blocker {
        line(
            &mut out,
            0,
            &format!("Not nominated: {}", blocker.cause.message(&formatter)),
        );
    }
    if !explanation.shortfalls.is_empty() {
        line(&mut out, 0, "Missing quota");
    }
    for shortfall in &explanation.shortfalls {
        let text = shortfall.text(&formatter);
        let pod_set = match workload.spec.pod_sets.len() {
            0 | 1 => String::new(),
            _ => format!("pod set {}: ", shortfall.pod_set),
        };
        line(&mut out, 1, &format!("{pod_set}{text}"));
    }
    if !changes.admitting_changes.is_empty() {
        line(&mut out, 0, "Changes that admit it, each alone");
    }
    for change in &changes.admitting_changes {
        line(&mut out, 1, &change.to_string());
    }
    if changes.admitting_changes.is_empty() && !changes.search_limits.is_empty() {
        let tried = changes.search_limits.join(", ");
        let none = format!("None of the tried changes admits it; search limits: {tried}");
        line(&mut out, 0, &none);
    }
    if let Some(admission) = &workload.status.admission {
        line(&mut out, 0, "Admission");
        admission_lines(&mut out, admission);
    }
    admission_checks(&mut out, workload);
    if let Some(decision) = &explanation.now {
        nomination(&mut out, decision);
    }
    conditions(&mut out, workload);
    if !report.is_live && explanation.verdict.is_some() {
        out.push_str(UNKNOWN);
    }
    out
}

pub(super) fn line(out: &mut String, depth: usize, text: &str) {
    let _ = writeln!(out, "{:width$}{text}", "", width = depth * 2);
}

pub(super) fn head(out: &mut String, explanation: &Explanation, workload: &Workload) {
    let owners = workload.metadata.owner_references.iter().flatten();
    let owners: Vec<_> = owners.map(|o| format!("{} {}", o.kind, o.name)).collect();
    let of = match owners.as_slice() {
        [] => String::new(),
        owners => format!(" of {}", owners.join(", ")),
    };
    line(out, 0, &format!("Workload {}{of}", explanation.workload));
    if let Some(verdict) = &explanation.verdict {
        line(out, 1, &format!("verdict   {verdict}"));
    }
    let queue = match workload.spec.queue_name.as_str() {
        "" => "none",
        name => name,
    };
    let cluster_queue = match &explanation.cluster_queue {
        Some(name) => format!("ClusterQueue {name}"),
        None => "no ClusterQueue".to_owned(),
    };
    line(out, 1, &format!("queue     {queue} ({cluster_queue})"));
    let class = workload.spec.priority_class_ref.as_ref();
    let class = class.map_or(String::new(), |c| format!(" ({})", c.name));
    line(
        out,
        1,
        &format!("priority  {}{class}", explanation.priority),
    );
    line(
        out,
        1,
        &format!("state     {}", state(explanation, workload)),
    );
    if let Some(inadmissible) = &explanation.inadmissible {
        let requeued = format!("requeued  {}", inadmissible.requeued_text());
        line(out, 1, &requeued);
    }
}

fn state(explanation: &Explanation, workload: &Workload) -> String {
    if predicates::is_finished(workload) {
        return "finished".into();
    }
    if predicates::is_admitted(workload) {
        return "admitted".into();
    }
    if predicates::has_quota_reservation(workload) {
        let checks = workload.status.admission_checks.iter();
        let open = checks.filter(|check| check.state != CheckState::Ready);
        let open: Vec<String> = open.map(|c| format!("{} ({})", c.name, c.state)).collect();
        return match open.is_empty() {
            true => "quota reserved, not admitted yet".into(),
            false => format!(
                "quota reserved, waits for admission checks: {}",
                open.join(", ")
            ),
        };
    }
    let pending_state = match explanation.pending_state {
        Some(PendingState::Active) => "active".to_owned(),
        Some(PendingState::Inadmissible) => match &explanation.inadmissible {
            Some(inadmissible) => inadmissible.since_text(),
            None => "inadmissible until an event requeues it".to_owned(),
        },
        Some(PendingState::Inflight) => "in the scheduling cycle".to_owned(),
        None => "in no queue".to_owned(),
    };
    match explanation.position {
        Some(position) => format!("pending, position {}, {pending_state}", position + 1),
        None => format!("pending, {pending_state}"),
    }
}

fn conditions(out: &mut String, workload: &Workload) {
    let conditions = workload.status.conditions.iter();
    let mut has_title = false;
    for condition in conditions {
        if !has_title {
            line(out, 0, "Conditions");
            has_title = true;
        }
        line(
            out,
            1,
            &format!(
                "{}={} {}: {}",
                condition.type_, condition.status, condition.reason, condition.message
            ),
        );
    }
}

fn admission_checks(out: &mut String, workload: &Workload) {
    let checks = &workload.status.admission_checks;
    if !checks.is_empty() {
        line(out, 0, "Admission checks");
    }
    for check in checks {
        let message = match check.message.as_str() {
            "" => String::new(),
            message => format!(": {message}"),
        };
        line(out, 1, &format!("{} {}{message}", check.name, check.state));
    }
}

pub(super) fn nomination(out: &mut String, decision: &Decision) {
    let mode = match decision.mode {
        None => "not nominated",
        // The mode of upstream, also if nothing can be preempted.
        Some(FlavorAssignmentMode::Preempt) if decision.candidate_count == 0 => {
            "would have to preempt; no candidates"
        }
        Some(FlavorAssignmentMode::Preempt) if decision.victims.is_empty() => {
            "would have to preempt; the candidates do not suffice"
        }
        Some(mode) => mode.as_str(),
    };
    line(out, 0, &format!("If it were the head now: {mode}"));
    let message = decision.inadmissible.message(&ResourceFormatter::default());
    if !message.is_empty() {
        line(out, 1, &message);
    }
    if decision.borrowing > 0 {
        line(
            out,
            1,
            &format!("borrows, borrowing level {}", decision.borrowing),
        );
    }
    for pod_set in &decision.pod_sets {
        self::pod_set(out, pod_set);
    }
    for victim in &decision.victims {
        target(out, victim, decision.candidate_count);
    }
    if let Some(shortage) = &decision.shortage {
        line(out, 1, &shortage.text(&ResourceFormatter::default()));
    }
    let (listed, count) = (&decision.candidates, decision.candidate_count);
    let all = format!("{count} preemption candidates, in order:");
    candidates(out, 1, &all, listed, decision.shortage.as_ref());
    if count > MAX_CANDIDATES {
        let more = count - MAX_CANDIDATES;
        line(out, 2, &format!("and {more} more; -o json lists all"));
    }
}

fn target(out: &mut String, victim: &VictimDecision, candidates: usize) {
    let why = victim.reason.map_or("replaced", |r| r.human_readable());
    let mut text = format!(
        "preempts {} of {}, priority {}: {why}",
        victim.workload, victim.cluster_queue, victim.priority
    );
    if let Some(variant) = victim.variant {
        let _ = write!(text, "; {}", variant.text());
    }
    if let Some(index) = victim.candidate_index {
        let _ = write!(text, "; candidate {} of {candidates}", index + 1);
    }
    line(out, 1, &text);
    shares(out, 2, victim.shares.as_ref());
}

/// The first candidates of a preemption below a title, with what their preemption does not free.
pub(super) fn candidates(
    out: &mut String,
    depth: usize,
    title: &str,
    listed: &[CandidateDecision],
    shortage: Option<&PreemptionShortageReason>,
) {
    if listed.is_empty() {
        return;
    }
    line(out, depth, title);
    for c in listed.iter().take(MAX_CANDIDATES) {
        let evicted = if c.evicted { ", already evicted" } else { "" };
        line(
            out,
            depth + 1,
            &format!(
                "{} of {}, priority {}{evicted}: {}; {}",
                c.workload,
                c.cluster_queue,
                c.priority,
                c.variant.text(),
                c.outcome.text(shortage, &ResourceFormatter::default())
            ),
        );
        shares(out, depth + 2, c.shares.as_ref());
    }
}

fn shares(out: &mut String, depth: usize, shares: Option<&SharesCompared>) {
    let Some(shares) = shares else {
        return;
    };
    let share = |share: Option<f64>| share.map_or("infinite".to_owned(), |s| format!("{s:.0}"));
    let mut text = format!(
        "fair share: preemptor {}, candidate {}",
        share(shares.preemptor),
        share(shares.before)
    );
    if shares.after.is_some() {
        let _ = write!(text, ", {} after its preemption", share(shares.after));
    }
    line(out, depth, &text);
}

fn pod_set(out: &mut String, pod_set: &PodSetDecision) {
    let formatter = ResourceFormatter::default();
    line(
        out,
        1,
        &format!(
            "pod set {}: {} pods, requests {}",
            pod_set.name,
            pod_set.count,
            amounts(&pod_set.requests)
        ),
    );
    for attempt in pod_set.attempts.iter() {
        let found = attempt
            .preemption_possibility
            .map_or(String::new(), |p| format!(" ({})", p.as_str()));
        let borrow = match attempt.borrow {
            0 => String::new(),
            level => format!(", borrowing level {level}"),
        };
        line(
            out,
            2,
            &format!(
                "flavor {}: {}{found}{borrow}",
                attempt.flavor,
                attempt.mode.as_str()
            ),
        );
        for resource in sorted_by_name(&attempt.resources, |resource| resource.resource) {
            line(out, 3, &quota(resource));
        }
        for reason in FlavorReason::messages(&attempt.reasons, &formatter) {
            line(out, 3, &reason);
        }
    }
    for (resource, choice) in sorted_by_name(&pod_set.flavors, |(resource, _)| **resource) {
        line(
            out,
            2,
            &format!(
                "{resource} from {}: {}",
                choice.flavor,
                choice.mode.as_str()
            ),
        );
    }
    if pod_set.attempts.is_empty() {
        for reason in FlavorReason::messages(&pod_set.reasons, &formatter) {
            line(out, 2, &reason);
        }
        if let Some(error) = &pod_set.error {
            line(out, 2, &error.to_string());
        }
    }
}

/// The request and the quota of a resource in a flavor, and the shortage.
fn quota(attempt: &ResourceAttempt) -> String {
    let formatter = ResourceFormatter::default();
    let amount = |amount| formatter.amount_text(attempt.resource, amount);
    let mut text = format!(
        "{}: requests {}",
        attempt.resource,
        amount(attempt.requested)
    );
    if attempt.taken_before.is_positive() {
        let before = amount(attempt.taken_before);
        let _ = write!(text, " besides {before} of earlier pod sets");
    }
    let _ = write!(
        text,
        "; available {} of {} (nominal {})",
        amount(attempt.available),
        amount(attempt.capacity),
        amount(attempt.nominal)
    );
    if attempt.missing.is_positive() {
        let _ = write!(text, ", short by {}", amount(attempt.missing));
    }
    text
}

/// Items of resources in the order of the names; that of [`ResourceName`] is for lookups.
fn sorted_by_name<T>(
    items: impl IntoIterator<Item = T>,
    name: impl Fn(&T) -> ResourceName,
) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    items.sort_by_key(|item| name(item).as_str());
    items
}

fn amounts(requests: &Requests) -> String {
    let formatter = ResourceFormatter::default();
    let each: Vec<_> = sorted_by_name(requests.iter(), |(name, _)| *name)
        .into_iter()
        .map(|(name, value)| format!("{name} {}", formatter.text(name, value)))
        .collect();
    match each.is_empty() {
        true => "none".into(),
        false => each.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_in_the_order_of_their_names() {
        let names = ["nvidia.com/gpu", "memory", "cpu", "example.com/nic", "pods"];
        let requests: Requests = names
            .map(|name| (ResourceName::new(name), 1_000))
            .into_iter()
            .collect();
        assert_eq!(
            amounts(&requests),
            "cpu 1, example.com/nic 1k, memory 1k, nvidia.com/gpu 1k, pods 1k"
        );
    }
}
