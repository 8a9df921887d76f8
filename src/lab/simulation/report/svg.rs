//! The report as a picture: waits, usage over time and waits of queues, for each configuration.

use std::fmt::Write;

use super::table::duration;
use crate::replay::ReplayOutcome;

/// The size of the picture, in pixels.
const WIDTH: f64 = 960.0;
/// The height of a panel.
const PANEL: f64 = 220.0;
/// The margin left of a panel.
const LEFT: f64 = 90.0;
/// The width of a panel.
const INNER: f64 = WIDTH - LEFT - 30.0;
/// The points of a line.
const STEPS: usize = 240;
/// The most LocalQueues that are drawn.
const MAX_QUEUES: usize = 12;
/// Colours that can be distinguished with colour blindness (Okabe and Ito).
const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
];

/// The picture of the results of a trace.
pub fn svg(trace: &str, outcomes: &[ReplayOutcome]) -> String {
    let queues = outcomes.iter().map(|o| o.queues.len().min(MAX_QUEUES));
    let bars = queues.max().unwrap_or_default() * outcomes.len();
    let bars_height = 40.0 + bars as f64 * 14.0;
    let height = 120.0 + 2.0 * (PANEL + 70.0) + bars_height;
    let mut out = String::new();
    let _ = write!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0}" viewBox="0 0 {WIDTH} {height:.0}" font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#ffffff"/>"##
    );
    text(&mut out, 20.0, 28.0, "start", &format!("Replay of {trace}"));
    for (index, outcome) in outcomes.iter().enumerate() {
        let x = 20.0 + index as f64 * 230.0;
        let _ = write!(
            out,
            r#"<rect x="{x}" y="42" width="12" height="12" fill="{}"/>"#,
            colour(index)
        );
        text(&mut out, x + 18.0, 52.0, "start", &outcome.configuration);
    }
    waits(&mut out, 90.0, outcomes);
    usage(&mut out, 90.0 + PANEL + 70.0, outcomes);
    queue_bars(&mut out, 90.0 + 2.0 * (PANEL + 70.0), outcomes);
    out.push_str("</svg>\n");
    out
}

fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let escaped = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let _ = write!(
        out,
        r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{escaped}</text>"#
    );
}

/// The frame of a panel, with its title and the labels of its axes.
fn frame(
    out: &mut String,
    top: f64,
    title: &str,
    x_labels: &[(f64, String)],
    y_labels: &[(f64, String)],
) {
    text(out, LEFT, top - 8.0, "start", title);
    let _ = write!(
        out,
        r##"<rect x="{LEFT}" y="{top}" width="{INNER}" height="{PANEL}" fill="none" stroke="#888888"/>"##
    );
    for (share, label) in x_labels {
        text(
            out,
            LEFT + share * INNER,
            top + PANEL + 16.0,
            "middle",
            label,
        );
    }
    for (share, label) in y_labels {
        text(
            out,
            LEFT - 6.0,
            top + PANEL * (1.0 - share) + 4.0,
            "end",
            label,
        );
    }
}

/// A line through points with coordinates from 0 to 1.
fn polyline(out: &mut String, top: f64, index: usize, points: &[(f64, f64)]) {
    let points = points.iter().map(|(x, y)| {
        let y = top + PANEL * (1.0 - y.clamp(0.0, 1.0));
        format!("{:.1},{y:.1}", LEFT + x * INNER)
    });
    let points: Vec<String> = points.collect();
    let _ = write!(
        out,
        r#"<polyline fill="none" stroke-width="1.5" stroke="{}" points="{}"/>"#,
        colour(index),
        points.join(" ")
    );
}

/// The share of jobs that waited at most so long; the waits are logarithmic.
fn waits(out: &mut String, top: f64, outcomes: &[ReplayOutcome]) {
    let longest = outcomes.iter().filter_map(|o| o.wait);
    let longest = longest.map(|wait| wait.max).fold(1.0, f64::max);
    let scale = |seconds: f64| (1.0 + seconds).ln() / (1.0 + longest).ln();
    let ticks = [
        0.0, 10.0, 60.0, 600.0, 3_600.0, 21_600.0, 86_400.0, 604_800.0,
    ];
    let ticks = ticks.into_iter().filter(|tick| *tick <= longest);
    let x_labels: Vec<(f64, String)> = ticks.map(|t| (scale(t), duration(t))).collect();
    let y_labels = [0.0, 0.5, 1.0].map(|share| (share, format!("{:.0} %", share * 100.0)));
    frame(
        out,
        top,
        "Jobs admitted within a wait",
        &x_labels,
        &y_labels,
    );
    for (index, outcome) in outcomes.iter().enumerate() {
        let jobs = outcome.jobs.max(1) as f64;
        let points = (0..=STEPS).map(|step| {
            let x = step as f64 / STEPS as f64;
            let seconds = (x * (1.0 + longest).ln()).exp() - 1.0 + 1e-6;
            let within = outcome.waits.partition_point(|wait| *wait <= seconds);
            (x, within as f64 / jobs)
        });
        polyline(out, top, index, &points.collect::<Vec<_>>());
    }
}

/// The mean usage of the main resource over time, as a share of the nominal quota.
fn usage(out: &mut String, top: f64, outcomes: &[ReplayOutcome]) {
    let end = outcomes
        .iter()
        .map(|o| o.makespan_seconds)
        .fold(1.0, f64::max);
    let x_labels = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| (share, duration(share * end)));
    let y_labels = [0.0, 0.5, 1.0].map(|share| (share, format!("{:.0} %", share * 100.0)));
    let resource = outcomes.first().map_or("", |o| o.main_resource.as_str());
    let title = format!("Usage of {resource}, of the nominal quota");
    frame(out, top, &title, &x_labels, &y_labels);
    for (index, outcome) in outcomes.iter().enumerate() {
        let quota = outcome.main_quota.max(f64::MIN_POSITIVE);
        let means = mean_usage(outcome, end).into_iter().enumerate();
        let points = means.map(|(step, used)| ((step as f64 + 0.5) / STEPS as f64, used / quota));
        polyline(out, top, index, &points.collect::<Vec<_>>());
    }
}

/// The mean usage in each of the steps up to `end`.
fn mean_usage(outcome: &ReplayOutcome, end: f64) -> Vec<f64> {
    let width = end / STEPS as f64;
    let mut means = vec![0.0; STEPS];
    for (index, point) in outcome.usage.iter().enumerate() {
        let until = outcome
            .usage
            .get(index + 1)
            .map_or(end, |next| next.seconds);
        let mut at = point.seconds;
        while at < until {
            let step = ((at / width) as usize).min(STEPS - 1);
            let next = match step + 1 == STEPS {
                true => until,
                false => ((step + 1) as f64 * width).min(until),
            };
            means[step] += point.used * (next - at) / width;
            if next <= at {
                break;
            }
            at = next;
        }
    }
    means
}

/// The 90th percentile of the waits of each LocalQueue.
fn queue_bars(out: &mut String, top: f64, outcomes: &[ReplayOutcome]) {
    text(
        out,
        20.0,
        top - 8.0,
        "start",
        "90th percentile of the waits of each LocalQueue",
    );
    let queues = outcomes
        .iter()
        .flat_map(|o| o.queues.iter().take(MAX_QUEUES));
    let waits = queues.filter_map(|queue| queue.wait);
    let longest = waits.map(|wait| wait.p90).fold(1.0, f64::max);
    let mut names: Vec<&str> = Vec::new();
    for queue in outcomes
        .iter()
        .flat_map(|o| o.queues.iter().take(MAX_QUEUES))
    {
        if !names.contains(&queue.queue.as_str()) {
            names.push(&queue.queue);
        }
    }
    let mut y = top + 6.0;
    for name in names.into_iter().take(MAX_QUEUES) {
        text(out, 230.0, y + 10.0, "end", name);
        for (index, outcome) in outcomes.iter().enumerate() {
            let Some(queue) = outcome.queues.iter().find(|queue| queue.queue == name) else {
                continue;
            };
            let p90 = queue.wait.map_or(0.0, |wait| wait.p90);
            let label = queue
                .wait
                .map_or("no job admitted".to_owned(), |wait| duration(wait.p90));
            let width = p90 / longest * (WIDTH - 340.0);
            let _ = write!(
                out,
                r#"<rect x="240" y="{y:.1}" width="{width:.1}" height="11" fill="{}"/>"#,
                colour(index)
            );
            text(out, 246.0 + width, y + 10.0, "start", &label);
            y += 14.0;
        }
    }
}
