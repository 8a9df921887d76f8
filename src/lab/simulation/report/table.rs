//! The report as a table, one column for each configuration.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::NOT_MODELLED;
use crate::replay::{QueueOutcome, ReplayOutcome, WaitPercentiles};

/// The most LocalQueues that the table lists; JSON has all.
const MAX_QUEUES: usize = 30;

/// The most reasons of jobs that were never admitted; JSON has all.
const MAX_REASONS: usize = 5;

/// A job that was preempted so often is named.
const OFTEN_PREEMPTED: usize = 20;

/// The report as a table.
pub fn table(trace: &str, skipped: usize, outcomes: &[ReplayOutcome]) -> String {
    let mut out = String::new();
    let jobs = outcomes.first().map_or(0, |outcome| outcome.jobs);
    let skipped = match skipped {
        0 => String::new(),
        skipped => format!(", {} skipped", counted(skipped, "incomplete job")),
    };
    let _ = writeln!(out, "{trace}: {}{skipped}\n", counted(jobs, "job"));
    for outcome in outcomes {
        if let Some(stopped) = &outcome.stopped {
            let _ = writeln!(
                out,
                "{} stopped: {stopped}; its results are those until then\n",
                outcome.configuration
            );
        }
    }
    let mut rows = Rows::new(outcomes);
    rows.add("admitted", |o| o.admitted.to_string());
    rows.add("never admitted", |o| (o.jobs - o.admitted).to_string());
    rows.add("wait mean", |o| wait(o.wait, |w| w.mean));
    rows.add("wait p50", |o| wait(o.wait, |w| w.p50));
    rows.add("wait p90", |o| wait(o.wait, |w| w.p90));
    rows.add("wait p99", |o| wait(o.wait, |w| w.p99));
    rows.add("wait max", |o| wait(o.wait, |w| w.max));
    rows.add("makespan", |o| duration(o.makespan_seconds));
    let resources: BTreeSet<&String> = outcomes.iter().flat_map(|o| o.utilisation.keys()).collect();
    for resource in resources {
        rows.add(&format!("utilisation {resource}"), |o| {
            let share = o.utilisation.get(resource);
            share.map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0))
        });
    }
    rows.add("preemptions", |o| {
        o.preemptions.values().sum::<usize>().to_string()
    });
    let reasons: BTreeSet<&String> = outcomes.iter().flat_map(|o| o.preemptions.keys()).collect();
    for reason in reasons.into_iter().filter(|reason| !reason.is_empty()) {
        let count = |o: &ReplayOutcome| o.preemptions.get(reason).copied().unwrap_or_default();
        rows.add(&format!("  {reason}"), |o| count(o).to_string());
    }
    rows.add("preempted jobs", |o| o.preempted_jobs.to_string());
    rows.add("  of one job, most", |o| {
        let most = o.most_preempted.as_ref().map_or(0, |most| most.preemptions);
        most.to_string()
    });
    rows.add("lost work", |o| {
        format!("{:.1} {} h", o.lost_hours, o.main_resource)
    });
    rows.add("fairness of queues", |o| {
        o.fairness
            .map_or("-".to_owned(), |fairness| format!("{fairness:.3}"))
    });
    out.push_str(&rows.render());
    for outcome in outcomes {
        queues(&mut out, outcome);
    }
    for outcome in outcomes {
        notes(&mut out, outcome);
    }
    let _ = writeln!(out, "\nNot modelled: {}.", NOT_MODELLED.join("; "));
    out
}

/// One of the waits; `-` without admitted jobs.
fn wait(waits: Option<WaitPercentiles>, of: impl Fn(WaitPercentiles) -> f64) -> String {
    waits.map_or("-".to_owned(), |waits| duration(of(waits)))
}

/// The slowdown of a LocalQueue, a lower bound if jobs did not finish.
fn slowdown(queue: &QueueOutcome) -> String {
    let bound = match queue.unfinished {
        0 => "",
        _ => ">=",
    };
    let mean = queue.mean_slowdown;
    mean.map_or("-".to_owned(), |mean| format!("{bound}{mean:.2}"))
}

/// Notes on the jobs of a configuration, one paragraph each.
fn notes(out: &mut String, outcome: &ReplayOutcome) {
    let name = &outcome.configuration;
    let often = outcome.most_preempted.iter();
    for most in often.filter(|most| most.preemptions >= OFTEN_PREEMPTED) {
        let _ = writeln!(
            out,
            "\n{name}: {} of line {} was preempted {} times",
            most.job, most.line, most.preemptions
        );
    }
    for never in outcome.never.iter().take(MAX_REASONS) {
        let _ = writeln!(
            out,
            "\n{name}: {} never admitted, such as {} of line {}: {}",
            counted(never.jobs, "job"),
            never.first,
            never.line,
            never.reason
        );
    }
    let others = outcome.never.iter().skip(MAX_REASONS);
    let others: usize = others.map(|never| never.jobs).sum();
    if others > 0 {
        let _ = writeln!(
            out,
            "\n{name}: {} more never admitted for other reasons; -o json lists all",
            counted(others, "job")
        );
    }
    if outcome.not_explained > 0 {
        let _ = writeln!(
            out,
            "\n{name}: {} more never admitted, not explained",
            counted(outcome.not_explained, "job")
        );
    }
    let unfinished = outcome.jobs - outcome.finished;
    if unfinished > 0 {
        let _ = writeln!(
            out,
            "\n{name}: {} did not finish and count in slowdown and fairness with their time until the end, a lower bound",
            counted(unfinished, "job")
        );
    }
    if !outcome.assumed_queues.is_empty() {
        let _ = writeln!(
            out,
            "\n{name}: no LocalQueue is named after these queues; assigned in turn (change with --queue): {}",
            outcome.assumed_queues.join(", ")
        );
    }
}

/// A number of things.
fn counted(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
    }
}

/// The LocalQueues of a configuration.
fn queues(out: &mut String, outcome: &ReplayOutcome) {
    let _ = writeln!(out, "\n{}", outcome.configuration);
    let held = format!("{} HOURS", outcome.main_resource);
    let mut lines = vec![
        [
            "LOCALQUEUE",
            "JOBS",
            "NEVER",
            "WAIT P50",
            "WAIT P90",
            "SLOWDOWN",
            "PREEMPTED",
            &held,
        ]
        .map(str::to_owned),
    ];
    for queue in outcome.queues.iter().take(MAX_QUEUES) {
        lines.push([
            queue.queue.clone(),
            queue.jobs.to_string(),
            queue.never_admitted.to_string(),
            wait(queue.wait, |w| w.p50),
            wait(queue.wait, |w| w.p90),
            slowdown(queue),
            queue.preemptions.to_string(),
            format!("{:.1}", queue.held_hours),
        ]);
    }
    aligned(
        out,
        &lines.iter().map(|line| line.to_vec()).collect::<Vec<_>>(),
    );
    if outcome.queues.len() > MAX_QUEUES {
        let more = outcome.queues.len() - MAX_QUEUES;
        let _ = writeln!(out, "and {more} more; -o json lists all");
    }
}

struct Rows<'a> {
    outcomes: &'a [ReplayOutcome],
    lines: Vec<Vec<String>>,
}

impl<'a> Rows<'a> {
    fn new(outcomes: &'a [ReplayOutcome]) -> Self {
        let names = outcomes.iter().map(|outcome| outcome.configuration.clone());
        let header = std::iter::once(String::new()).chain(names).collect();
        Self {
            outcomes,
            lines: vec![header],
        }
    }

    fn add(&mut self, name: &str, value: impl Fn(&ReplayOutcome) -> String) {
        let values = self.outcomes.iter().map(value);
        let line = std::iter::once(name.to_owned()).chain(values).collect();
        self.lines.push(line);
    }

    fn render(&self) -> String {
        let mut out = String::new();
        aligned(&mut out, &self.lines);
        out
    }
}

/// Writes columns, the first to the left and the others to the right.
fn aligned(out: &mut String, lines: &[Vec<String>]) {
    let columns = lines.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for line in lines {
        let cells = line.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, &width))| match column {
            0 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        let text = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(out, "{}", text.trim_end());
    }
}

/// A duration in at most two units.
pub(super) fn duration(seconds: f64) -> String {
    let total = seconds.round() as i64;
    let (days, hours) = (total / 86_400, total % 86_400 / 3_600);
    let (minutes, rest) = (total % 3_600 / 60, total % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{rest}s"),
        (0, 0, _) => format!("{minutes}m{rest}s"),
        (0, _, _) => format!("{hours}h{minutes}m"),
        _ => format!("{days}d{hours}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units() {
        let texts = [0.0, 59.4, 61.0, 3_661.0, 90_000.0].map(duration);
        assert_eq!(texts, ["0s", "59s", "1m1s", "1h1m", "1d1h"]);
    }
}
