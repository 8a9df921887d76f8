//! Details of a Workload: state and reason, quota arithmetic, preemption candidates,
//! reserving workloads, workloads ahead,
//! assignment and history.

use super::{quota_arithmetic, topology_assignment};
use crate::model::cohort_tree::QuotaNode;
use crate::model::workload::{ReasonKind, WorkloadRow, WorkloadState, status_reason};
use crate::model::{ObjectKey, Row};
use crate::state::State;
use crate::text::{age, clock_time, human_duration};
use crate::theme::Role;
use crate::widgets::PageBuilder;
use crate::widgets::format::{flavors_text, requests_text, state_role};
use kueue_lab_api::v1beta2::CheckState;

/// Writes the details of a Workload.
pub(crate) fn write(state: &State, wl: &WorkloadRow, doc: &mut PageBuilder<'_>) {
    let at = wl.state();
    status(state, wl, at, doc);
    identity(state, wl, doc);
    let waits = matches!(
        at,
        WorkloadState::Pending | WorkloadState::Evicted | WorkloadState::Inactive
    );
    if waits {
        quota_arithmetic::quota_arithmetic(state, wl, doc);
        candidates(state, wl, doc);
        quota_arithmetic::reserving_workloads(state, wl, doc);
        workloads_ahead(state, wl, doc);
    }
    pod_sets(wl, doc);
    topology_assignment::write(wl, doc);
    checks(wl, doc);
    evictions(state, wl, doc);
    pods(state, wl, doc);
    doc.conditions(&wl.conditions);
    doc.events("Workload", wl.key(), 30);
    if let Some(owner) = wl.owner() {
        let key = ObjectKey::new(&wl.key().namespace, &owner.name);
        doc.events(&owner.kind, &key, 12);
    }
}

fn status(state: &State, wl: &WorkloadRow, at: WorkloadState, doc: &mut PageBuilder<'_>) {
    let reason = status_reason(wl, &state.data, &state.derived);
    let hint = match (at, reason.kind) {
        (WorkloadState::Pending, ReasonKind::Never) => {
            "It cannot be admitted unless the workload or the queue is changed."
        }
        (WorkloadState::Pending, ReasonKind::OnHold) => "It is requeued when the hold ends.",
        (WorkloadState::Pending, ReasonKind::Waiting) => "It is requeued when quota is released.",
        _ => "",
    };
    let word = doc.span(at.as_str(), state_role(at));
    doc.field_of("State", vec![word]);
    let role = match reason.kind {
        ReasonKind::Never | ReasonKind::Unhealthy => Role::Error,
        ReasonKind::OnHold => Role::Warning,
        ReasonKind::Waiting => Role::Waiting,
        ReasonKind::Healthy => Role::Text,
    };
    doc.field("Reason", &reason.line(), role);
    if !hint.is_empty() {
        doc.field("", hint, Role::Dim);
    }
    if let Some(found) = state.derived.loop_of(&wl.meta.uid) {
        doc.scheduling_loop(found);
    }
    if let Some(position) = state.derived.position(wl.key()) {
        doc.field(
            "Position",
            &format!("{} of {}", position.number, position.of),
            Role::Text,
        );
    }
    if let Some(when) = wl.requeue_at.filter(|when| *when > state.data.now) {
        let left = when.duration_since(state.data.now).as_secs();
        doc.field(
            "Requeued",
            &format!("in {}", human_duration(left)),
            Role::Text,
        );
    }
}

fn identity(state: &State, wl: &WorkloadRow, doc: &mut PageBuilder<'_>) {
    doc.field("Owner", &wl.owner_text(), Role::Text);
    let queue = match state.data.cluster_queue_of(wl) {
        Some(cq) => {
            let node = QuotaNode::ClusterQueue(cq.to_owned());
            let path = state.derived.cohort_tree.path(&node).join("/");
            let within = if path.is_empty() {
                String::new()
            } else {
                format!(" in cohort {path}")
            };
            format!("{} {} {cq}{within}", wl.queue, doc.glyphs.arrow)
        }
        None => wl.queue.clone(),
    };
    doc.field("Queue", &queue, Role::Text);
    let class = match &wl.priority_class {
        Some(class) => format!("{} ({class})", wl.priority),
        None => wl.priority.to_string(),
    };
    doc.field("Priority", &class, Role::Text);
    if !wl.worker_clusters.is_empty() {
        doc.field("Cluster", &wl.worker_clusters.join(" or "), Role::Text);
    }
    if !wl.unhealthy_nodes.is_empty() {
        let nodes = wl.unhealthy_nodes.join(", ");
        doc.field("Failed nodes", &nodes, Role::Error);
    }
    let pods = wl.pod_count();
    let noun = if pods == 1 { "pod" } else { "pods" };
    // The resource `pods` is the number of pods again.
    let mut requests = wl.requests();
    requests.remove("pods");
    doc.field(
        "Requests",
        &format!("{pods} {noun}, {}", requests_text(&requests)),
        Role::Text,
    );
    doc.field("Age", &age(state.data.now, wl.meta.created), Role::Text);
    let times = wl.eviction_count();
    if times > 0 {
        let by: Vec<String> = wl
            .evictions
            .iter()
            .map(|(reason, n)| format!("{n} {reason}"))
            .collect();
        doc.field(
            "Evicted",
            &format!("{times} times: {}", by.join(", ")),
            Role::Warning,
        );
    }
    if wl.meta.deleting {
        doc.field("", "is being deleted", Role::Warning);
    }
}

/// Writes the preemption candidates of the last decision.
fn candidates(state: &State, wl: &WorkloadRow, doc: &mut PageBuilder<'_>) {
    if let Some(text) = state.candidates.of(wl.key()) {
        doc.section("Preemption");
        doc.text(text, Role::Text);
    }
}

/// Writes the workloads ahead in the queue.
fn workloads_ahead(state: &State, wl: &WorkloadRow, doc: &mut PageBuilder<'_>) {
    let Some(cq) = state.data.cluster_queue_of(wl) else {
        return;
    };
    let pending = state.derived.pending_workloads_of(cq);
    let position = pending.iter().position(|key| key == wl.key()).unwrap_or(0);
    if position == 0 {
        return;
    }
    doc.section(&format!("Ahead in {cq}"));
    if state
        .data
        .cluster_queues
        .named(cq)
        .is_some_and(|q| q.admission_fair_sharing)
    {
        doc.text(
            "The queue also orders by past usage, so the order may differ.",
            Role::Dim,
        );
    }
    let ahead = pending[..position].iter().enumerate();
    let others = ahead.filter_map(|(n, key)| Some((n, state.data.workloads.get(key)?)));
    let titles = ["POS", "WORKLOAD", ">PRI", ">AGE", "REQUESTS"];
    doc.list(&titles, others, 8, |(n, other)| {
        vec![
            (format!("#{}", n + 1), Role::Dim),
            (other.key().to_string(), Role::Text),
            (other.priority.to_string(), Role::Text),
            (age(state.data.now, other.meta.created), Role::Text),
            (requests_text(&other.requests()), Role::Text),
        ]
    });
}

fn pod_sets(wl: &WorkloadRow, doc: &mut PageBuilder<'_>) {
    doc.section("Pod sets");
    let assigned = |name: &str| {
        let sets = wl.admission.iter().flat_map(|a| &a.pod_sets);
        sets.into_iter().find(|s| s.name == name)
    };
    let titles = ["NAME", ">PODS", "EACH", "FLAVORS"];
    doc.list(&titles, wl.pod_sets.iter(), 18, |set| {
        let got = assigned(&set.name);
        let count = match (got, set.min_count) {
            (Some(got), _) if got.count != set.count => {
                format!("{} of {}", got.count, set.count)
            }
            (None, Some(min)) => format!("{} (min {min})", set.count),
            _ => set.count.to_string(),
        };
        let flavors = got.map_or_else(|| "-".to_owned(), |got| flavors_text(&got.flavors));
        vec![
            (set.name.clone(), Role::Text),
            (count, Role::Text),
            (requests_text(&set.per_pod), Role::Text),
            (flavors, Role::Text),
        ]
    });
    if wl.reclaimable_pods > 0 {
        doc.text(
            &format!("Quota of {} pods is reclaimed.", wl.reclaimable_pods),
            Role::Dim,
        );
    }
}

fn checks(wl: &WorkloadRow, doc: &mut PageBuilder<'_>) {
    if wl.admission_checks.is_empty() {
        return;
    }
    doc.section("Admission checks");
    for check in &wl.admission_checks {
        let role = match check.state {
            CheckState::Ready => Role::Success,
            CheckState::Pending => Role::Waiting,
            CheckState::Retry => Role::Warning,
            CheckState::Rejected => Role::Error,
        };
        let retries = if check.retries > 0 {
            format!(" (retried {} times)", check.retries)
        } else {
            String::new()
        };
        let message = if check.message.is_empty() {
            String::new()
        } else {
            format!(": {}", check.message)
        };
        doc.field(
            &check.name,
            &format!("{}{retries}{message}", check.state),
            role,
        );
    }
}

/// Writes the evictions of the workload, and the evictions for the workload.
fn evictions(state: &State, wl: &WorkloadRow, doc: &mut PageBuilder<'_>) {
    let uid = &wl.meta.uid;
    let mut lines = Vec::new();
    for e in state.data.evictions.newest_first() {
        let time = clock_time(e.at, &state.env.zone);
        if e.evicted.uid == *uid {
            let by = e
                .preemptor
                .as_ref()
                .map(|p| format!(" by {}", p.display_name()));
            lines.push(format!(
                "{time}  evicted{}: {}",
                by.unwrap_or_default(),
                e.reason_text()
            ));
        } else if e.preemptor.as_ref().is_some_and(|p| p.uid == *uid) {
            lines.push(format!(
                "{time}  preempted {}: {}",
                e.evicted.display_name(),
                e.reason_text()
            ));
        }
    }
    if lines.is_empty() {
        return;
    }
    doc.section("Preemptions, newest first");
    for line in lines.iter().take(10) {
        doc.text(line, Role::Text);
    }
    if lines.len() > 10 {
        doc.text(&format!("and {} more", lines.len() - 10), Role::Dim);
    }
}

fn pods(state: &State, wl: &WorkloadRow, doc: &mut PageBuilder<'_>) {
    let mine = |key: &&ObjectKey| state.derived.workload_of(key) == Some(wl.key());
    let pods = state.data.pods.iter();
    let mut pods = pods.filter(|pod| mine(&pod.key())).peekable();
    if pods.peek().is_some() {
        doc.section("Pods");
        doc.list(&["POD", "PHASE", ">AGE", "NODE"], pods, 20, |pod| {
            let (phase, role) = match () {
                () if pod.meta.deleting => ("Terminating".to_owned(), Role::Warning),
                () if pod.gated => ("gated".to_owned(), Role::Waiting),
                () if pod.phase == "Running" && pod.ready => (pod.phase.clone(), Role::Success),
                () if pod.phase == "Failed" => (pod.phase.clone(), Role::Error),
                () => (pod.phase.clone(), Role::Text),
            };
            let node = match (&pod.unschedulable, pod.node.as_str()) {
                (Some(message), "") => message.clone(),
                (_, "") => "-".to_owned(),
                (_, node) => node.to_owned(),
            };
            vec![
                (pod.key().name.clone(), Role::Text),
                (phase, role),
                (age(state.data.now, pod.meta.created), Role::Text),
                (node, Role::Text),
            ]
        });
    }
}
