//! Renders a simulation as text.

use std::fmt::Write;

use kueue_lab_engine::engine::PendingVerdictKind;
use kueue_lab_explain::{JobWithoutWorkload, admission_lines};
use kueue_lab_simulation::simulate::{AdmittingChanges, SimulatedWorkload, Simulation};

/// The simulation and the changes as several lines of text, with a hint below each workload.
pub(super) fn render(
    simulation: &Simulation,
    hints: &[Option<String>],
    changes: &AdmittingChanges,
    without_workload: &[JobWithoutWorkload],
) -> String {
    let mut out = String::new();
    for (wl, hint) in simulation.workloads.iter().zip(hints) {
        workload(&mut out, wl);
        if let Some(hint) = hint {
            let _ = writeln!(out, "  {hint}");
        }
    }
    if !without_workload.is_empty() {
        out.push_str("Without a Workload\n");
    }
    for JobWithoutWorkload { object, reason } in without_workload {
        let _ = writeln!(out, "  {object}: {reason}");
    }
    if !simulation.preemptions.is_empty() {
        out.push_str("Preempts\n");
    }
    for preempted in &simulation.preemptions {
        let by = preempted.preemptor.as_ref();
        let by = by.map_or(String::new(), |by| format!(" by {by}"));
        let _ = writeln!(out, "  {}{by}: {}", preempted.workload, preempted.reason);
    }
    if !simulation.displaced.is_empty() {
        out.push_str("No longer admitted, or admitted later\n");
    }
    for key in &simulation.displaced {
        let _ = writeln!(out, "  {key}");
    }
    if !simulation.replaced.is_empty() {
        out.push_str("Replaces, with the same creation timestamp\n");
    }
    for key in &simulation.replaced {
        let _ = writeln!(out, "  {key}");
    }
    if !simulation.settles {
        let _ = match &simulation.repeated_preemption {
            Some(repeated) => writeln!(
                out,
                "The queues do not settle: {} preempts {} repeatedly.",
                repeated.preemptor, repeated.target
            ),
            None => writeln!(out, "The queues do not settle within the limit of rounds."),
        };
    }
    if !simulation.all_admitted() {
        let what = match simulation.workloads.len() {
            1 => "it",
            _ => "all of them",
        };
        let (found, limits) = (&changes.admitting_changes, &changes.search_limits);
        let _ = match (found.is_empty(), limits.is_empty()) {
            (true, true) => writeln!(
                out,
                "No change of quota, priority or finished workloads admits {what}."
            ),
            (true, false) => writeln!(
                out,
                "None of the tried changes admits {what}; search limits: {}.",
                limits.join(", ")
            ),
            (false, _) => writeln!(out, "Changes that admit {what}, each alone"),
        };
        for change in found {
            let _ = writeln!(out, "  {change}");
        }
    }
    out
}

fn workload(out: &mut String, wl: &SimulatedWorkload) {
    let _ = writeln!(out, "Workload {}", wl.workload);
    match &wl.admission {
        Some(admission) => {
            let state = if wl.admitted {
                "admitted"
            } else {
                "quota reserved"
            };
            let _ = writeln!(out, "  {state} by ClusterQueue {}", admission.cluster_queue);
            admission_lines(out, admission);
            if !wl.admission_checks.is_empty() {
                let checks = wl.admission_checks.join(", ");
                let _ = writeln!(out, "  after the admission checks {checks}");
            }
        }
        None => {
            let verdict = wl.verdict.as_ref();
            let verdict = verdict.map_or("pending".to_owned(), ToString::to_string);
            let _ = writeln!(out, "  {verdict}");
            let never = wl.verdict.as_ref();
            let never = never.is_some_and(|v| v.kind == PendingVerdictKind::Never);
            // It does not wait for the others.
            for key in wl.behind.iter().filter(|_| !never) {
                let _ = writeln!(out, "  behind {key}");
            }
        }
    }
}
