//! Renders a simulation as text.

use std::fmt::Write;

use kueue_lab_api::v1beta2::Admission;
use kueue_lab_simulation::simulate::{AdmittingChange, SimulatedWorkload, Simulation};

/// The simulation and the changes as several lines of text.
pub(super) fn render(simulation: &Simulation, changes: &[AdmittingChange]) -> String {
    let mut out = String::new();
    for wl in &simulation.workloads {
        workload(&mut out, wl);
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
    if !simulation.settles {
        out.push_str("The queues do not settle: workloads preempt each other without end.\n");
    }
    if !simulation.all_admitted() {
        let them = match simulation.workloads.len() {
            1 => "it",
            _ => "them all",
        };
        match changes.is_empty() {
            true => {
                let _ = writeln!(
                    out,
                    "No quota of one flavor, priority or finished workload admits {them}."
                );
            }
            false => {
                let _ = writeln!(out, "Changes that admit {them}, each alone");
            }
        }
        for change in changes {
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
            assigned(out, admission);
            if !wl.admission_checks.is_empty() {
                let checks = wl.admission_checks.join(", ");
                let _ = writeln!(out, "  after the admission checks {checks}");
            }
        }
        None => {
            let verdict = wl.verdict.as_ref();
            let verdict = verdict.map_or("pending".to_owned(), ToString::to_string);
            let _ = writeln!(out, "  {verdict}");
            for key in &wl.behind {
                let _ = writeln!(out, "  behind {key}");
            }
        }
    }
}

fn assigned(out: &mut String, admission: &Admission) {
    for pod_set in &admission.pod_set_assignments {
        let flavors = pod_set.flavors.iter();
        let flavors: Vec<String> = flavors.map(|(r, f)| format!("{r} from {f}")).collect();
        let count = pod_set.count.unwrap_or_default();
        let flavors = match flavors.is_empty() {
            true => "no requests".to_owned(),
            false => flavors.join(", "),
        };
        let _ = writeln!(out, "  pod set {}: {count} pods, {flavors}", pod_set.name);
    }
}
