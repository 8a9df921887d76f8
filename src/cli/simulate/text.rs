//! Renders a simulation as text.

use std::fmt::Write;

use super::why_no_workload::NotSimulated;
use crate::cli::explain::admission_lines;
use kueue_lab_admission::engine::PendingVerdictKind;
use kueue_lab_simulation::simulate::{AdmittingChanges, SimulatedWorkload, Simulation};

/// The simulation and the changes as several lines of text, with a hint below each workload.
pub(super) fn render(
    simulation: &Simulation,
    hints: &[Option<String>],
    changes: &AdmittingChanges,
    not_simulated: &[NotSimulated],
) -> String {
    let mut out = String::new();
    for (wl, hint) in simulation.workloads.iter().zip(hints) {
        workload(&mut out, wl);
        if let Some(hint) = hint {
            let _ = writeln!(out, "  {hint}");
        }
    }
    if !not_simulated.is_empty() {
        out.push_str("Without a Workload\n");
    }
    for NotSimulated { object, reason } in not_simulated {
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
        out.push_str("Not admitted any more, or later\n");
    }
    for key in &simulation.displaced {
        let _ = writeln!(out, "  {key}");
    }
    if !simulation.replaced.is_empty() {
        out.push_str("Replaces, with the time of creation\n");
    }
    for key in &simulation.replaced {
        let _ = writeln!(out, "  {key}");
    }
    if !simulation.settles {
        let _ = match &simulation.repeated_preemption {
            Some(repeated) => writeln!(
                out,
                "The queues do not settle: {} preempts {} again and again.",
                repeated.preemptor, repeated.target
            ),
            None => writeln!(
                out,
                "The queues do not settle in as many rounds as were tried."
            ),
        };
    }
    if !simulation.all_admitted() {
        let them = match simulation.workloads.len() {
            1 => "it",
            _ => "them all",
        };
        let (found, limits) = (&changes.admitting_changes, &changes.search_limits);
        let _ = match (found.is_empty(), limits.is_empty()) {
            (true, true) => writeln!(
                out,
                "No quota, priority or finished workload admits {them}."
            ),
            (true, false) => writeln!(
                out,
                "No quota, priority or finished workload of those tried admits {them}; tried are only {}.",
                limits.join(", ")
            ),
            (false, _) => writeln!(out, "Changes that admit {them}, each alone"),
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
            // The others are not what it waits for.
            for key in wl.behind.iter().filter(|_| !never) {
                let _ = writeln!(out, "  behind {key}");
            }
        }
    }
}
