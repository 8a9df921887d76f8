//! An explanation as text. Everything in it comes from the engine's own decision and from the
//! Workload's conditions; nothing is reasoned again here.

use std::fmt::Write;

use kueue_lab_admission::cycle::{Decision, PodSetDecision, VictimDecision};
use kueue_lab_admission::engine::{Explanation, PendingState};
use kueue_lab_admission::flavor_assigner::ResourceAttempt;
use kueue_lab_admission::preemption::{CandidateOutcome, PreemptionVariant, SharesCompared};
use kueue_lab_admission::resources::{Requests, ResourceFormatter};
use kueue_lab_admission::workload::predicates;
use kueue_lab_api::v1beta2::Workload;

/// So many candidates for preemption are listed; JSON has them all.
const MAX_CANDIDATES: usize = 50;

/// The explanation for people, several lines.
pub(super) fn render(explanation: &Explanation, workload: &Workload) -> String {
    let mut out = String::new();
    head(&mut out, explanation, workload);
    conditions(&mut out, workload);
    if let Some(blocker) = &explanation.blocker {
        line(&mut out, 0, &format!("Not looked at: {}", blocker.message));
    }
    if let Some(decision) = &explanation.now {
        nomination(&mut out, decision);
    }
    out
}

fn line(out: &mut String, depth: usize, text: &str) {
    let _ = writeln!(out, "{:width$}{text}", "", width = depth * 2);
}

fn head(out: &mut String, explanation: &Explanation, workload: &Workload) {
    let owners = workload.metadata.owner_references.iter().flatten();
    let owners: Vec<_> = owners.map(|o| format!("{} {}", o.kind, o.name)).collect();
    let of = match owners.as_slice() {
        [] => String::new(),
        owners => format!(" of {}", owners.join(", ")),
    };
    line(out, 0, &format!("Workload {}{of}", explanation.workload));
    let queue = match workload.spec.queue_name.as_str() {
        "" => "none",
        name => name,
    };
    let cluster_queue = match &explanation.cluster_queue {
        Some(name) => format!("ClusterQueue {name}"),
        None => "no ClusterQueue".to_owned(),
    };
    line(out, 1, &format!("queue     {queue}, of {cluster_queue}"));
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
}

fn state(explanation: &Explanation, workload: &Workload) -> String {
    if predicates::is_finished(workload) {
        return "finished".into();
    }
    if predicates::is_admitted(workload) {
        return "admitted".into();
    }
    if predicates::has_quota_reservation(workload) {
        return "has quota, waits for its admission checks".into();
    }
    let place = match explanation.place {
        Some(PendingState::Active) => "waits for its turn",
        Some(PendingState::Inadmissible) => "set aside until something changes",
        Some(PendingState::Inflight) => "in the scheduler's hands",
        None => "in no queue",
    };
    match explanation.position {
        Some(position) => format!("pending, number {} in line, {place}", position + 1),
        None => format!("pending, {place}"),
    }
}

fn conditions(out: &mut String, workload: &Workload) {
    let conditions = workload.status.conditions.iter();
    let mut told = false;
    for condition in conditions {
        if !told {
            line(out, 0, "Conditions");
            told = true;
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

fn nomination(out: &mut String, decision: &Decision) {
    let mode = decision.mode.map_or("not looked at", |m| m.as_str());
    line(
        out,
        0,
        &format!("Looked at now, with nobody before it: {mode}"),
    );
    if !decision.message.is_empty() {
        line(out, 1, &decision.message);
    }
    if decision.borrowing > 0 {
        line(
            out,
            1,
            &format!("it would borrow ({} levels up)", decision.borrowing),
        );
    }
    for pod_set in &decision.pod_sets {
        self::pod_set(out, pod_set);
    }
    for victim in &decision.victims {
        self::victim(out, victim, decision.candidate_count);
    }
    candidates(out, decision);
}

fn victim(out: &mut String, victim: &VictimDecision, candidates: usize) {
    let why = victim.reason.map_or("replaced", |r| r.human_readable());
    let mut text = format!(
        "would evict {} of {}, priority {}: {why}",
        victim.workload, victim.cluster_queue, victim.priority
    );
    if let Some(ground) = victim.ground {
        let _ = write!(text, "; {}", self::preemption_variant(ground));
    }
    if let Some(place) = victim.place {
        let _ = write!(text, "; number {} of {candidates} candidates", place + 1);
    }
    line(out, 1, &text);
    shares(out, 2, victim.shares.as_ref());
}

fn candidates(out: &mut String, decision: &Decision) {
    let (told, all) = (&decision.candidates, decision.candidate_count);
    if all == 0 {
        return;
    }
    line(
        out,
        1,
        &format!("{all} looked at as victims, in the order they are taken in:"),
    );
    for c in told.iter().take(MAX_CANDIDATES) {
        let going = if c.evicted { ", going already" } else { "" };
        line(
            out,
            2,
            &format!(
                "{} of {}, priority {}{going}: {}; {}",
                c.workload,
                c.cluster_queue,
                c.priority,
                preemption_variant(c.ground),
                candidate_outcome(c.fate)
            ),
        );
        shares(out, 3, c.shares.as_ref());
    }
    if all > MAX_CANDIDATES {
        let more = all - MAX_CANDIDATES;
        line(
            out,
            2,
            &format!("and {more} more; all of them with -o json"),
        );
    }
}

fn shares(out: &mut String, depth: usize, shares: Option<&SharesCompared>) {
    let Some(shares) = shares else {
        return;
    };
    let told = |share: Option<f64>| share.map_or("infinite".to_owned(), |s| format!("{s:.0}"));
    let mut text = format!(
        "shares: {} with the workload against {}",
        told(shares.preemptor),
        told(shares.before)
    );
    if shares.after.is_some() {
        let _ = write!(text, ", {} without the victim", told(shares.after));
    }
    line(out, depth, &text);
}

fn pod_set(out: &mut String, pod_set: &PodSetDecision) {
    line(
        out,
        1,
        &format!(
            "pod set {}: {} pods, together {}",
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
            levels => format!(", borrowing {levels} levels up"),
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
        for resource in &attempt.resources {
            line(out, 3, &quota(resource));
        }
        for reason in &attempt.reasons {
            line(out, 3, reason);
        }
    }
    for (resource, choice) in &pod_set.flavors {
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
        for obstacle in &pod_set.obstacles {
            line(out, 2, obstacle);
        }
    }
}

/// What there is of a resource in a flavor, and what lacks.
fn quota(told: &ResourceAttempt) -> String {
    let formatter = ResourceFormatter::default();
    let amount = |amount| formatter.amount_text(told.resource, amount);
    let mut text = format!("{}: asks for {}", told.resource, amount(told.requested));
    if told.taken_before.is_positive() {
        let before = amount(told.taken_before);
        let _ = write!(text, " after {before} for pod sets before it");
    }
    let _ = write!(
        text,
        "; {} left of {} to be had, {} its own",
        amount(told.available),
        amount(told.capacity),
        amount(told.nominal)
    );
    if told.lacking.is_positive() {
        let _ = write!(text, "; {} lacking", amount(told.lacking));
    }
    text
}

fn amounts(requests: &Requests) -> String {
    let formatter = ResourceFormatter::default();
    let each: Vec<_> = requests
        .iter()
        .map(|(name, value)| format!("{name} {}", formatter.text(name, value)))
        .collect();
    match each.is_empty() {
        true => "nothing".into(),
        false => each.join(", "),
    }
}

fn preemption_variant(ground: PreemptionVariant) -> &'static str {
    match ground {
        PreemptionVariant::WithinClusterQueue => "in the same ClusterQueue",
        PreemptionVariant::HierarchicalReclaim => "further from the quota it uses",
        PreemptionVariant::ReclaimWithoutBorrowing => "its ClusterQueue borrows",
        PreemptionVariant::ReclaimWhileBorrowing => {
            "its ClusterQueue borrows, and its priority is low enough"
        }
        PreemptionVariant::FairSharing => "its ClusterQueue borrows, shares are compared",
    }
}

fn candidate_outcome(fate: CandidateOutcome) -> &'static str {
    match fate {
        CandidateOutcome::Victim => "would have to go",
        CandidateOutcome::Spared => "spared, the others suffice",
        CandidateOutcome::NotAllowed => "not allowed when its turn came",
        CandidateOutcome::ShareTooLow => "its share does not allow it",
        CandidateOutcome::NotReached => "its turn did not come",
    }
}
