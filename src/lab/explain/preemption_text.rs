//! Renders the preemptions of a Workload as text.

use super::explain_preemption::{ExplainedPreemption, Preemption};
use super::text::{candidates, head, line, nomination};
use kueue_lab_engine::engine::Explanation;

/// The preemptions as several lines of text.
pub(super) fn render(explained: &ExplainedPreemption) -> String {
    let mut out = String::new();
    match (&explained.now, &explained.object) {
        (Some(now), Some(object)) => head(&mut out, now, object),
        _ => line(
            &mut out,
            0,
            &format!("Workload {} (deleted)", explained.workload),
        ),
    }
    if explained.preempted.is_empty() {
        line(&mut out, 0, "No preemption of it in conditions and Events");
    } else {
        line(&mut out, 0, "Preempted");
    }
    for preemption in &explained.preempted {
        let by = match &preemption.preemptor {
            Some(key) => named(key, &preemption.preemptor_job, preemption.preemptor_state),
            None => "a deleted Workload".to_owned(),
        };
        described(&mut out, preemption, &format!("by {by}"));
    }
    if !explained.preempts.is_empty() {
        line(&mut out, 0, "Preempts");
    }
    for preemption in &explained.preempts {
        let job = match preemption.job.as_str() {
            "" => String::new(),
            job => format!(" ({job})"),
        };
        described(
            &mut out,
            preemption,
            &format!("{}{job}", preemption.workload),
        );
    }
    if let Some(decision) = explained.now.as_ref().and_then(|now| now.now.as_ref()) {
        nomination(&mut out, decision);
    }
    preemptor(&mut out, explained.preemptor_now.as_ref());
    out
}

fn named(key: &impl std::fmt::Display, job: &str, state: &str) -> String {
    match job {
        "" => format!("{key} ({state})"),
        job => format!("{key} ({job}, {state})"),
    }
}

fn described(out: &mut String, preemption: &Preemption, workload: &str) {
    let Preemption { reason, cause, .. } = preemption;
    let at = preemption
        .at
        .map_or_else(String::new, |at| format!("{at} "));
    line(out, 1, &format!("{at}{workload}: {reason}, {cause}"));
    let priority = |priority: Option<i64>| {
        priority.map_or_else(String::new, |priority| format!(", priority {priority}"))
    };
    if !preemption.policy.is_empty() {
        line(out, 2, &format!("policy     {}", preemption.policy));
    }
    let path = &preemption.preemptor_path;
    let of_preemptor = priority(preemption.preemptor_priority);
    line(out, 2, &format!("preemptor  {path}{of_preemptor}"));
    let path = &preemption.preemptee_path;
    let of_preemptee = priority(preemption.preemptee_priority);
    line(out, 2, &format!("preemptee  {path}{of_preemptee}"));
    let Some(recorded) = &preemption.candidates else {
        return;
    };
    let listed = &recorded.candidates;
    let title = match recorded.count - listed.len().min(recorded.count) {
        0 if recorded.count == 1 => "1 candidate, in order:".to_owned(),
        0 => format!("{} candidates, in order:", recorded.count),
        _ => format!(
            "the first {} of {} candidates, in order:",
            listed.len(),
            recorded.count
        ),
    };
    candidates(out, 2, &title, listed, None);
}

/// The latest preemptor, while it is pending.
fn preemptor(out: &mut String, explanation: Option<&Explanation>) {
    let Some(explanation) = explanation else {
        return;
    };
    line(
        out,
        0,
        &format!("Pending preemptor {}", explanation.workload),
    );
    if let Some(verdict) = &explanation.verdict {
        line(out, 1, &format!("verdict   {verdict}"));
    }
    if let Some(decision) = &explanation.now {
        nomination(out, decision);
    }
}
