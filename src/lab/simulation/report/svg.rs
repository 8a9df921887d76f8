//! The report as a picture: waits, usage over time and waits of queues, for each configuration.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::mean_usage::mean_usage;
use super::table::duration;
use crate::replay::ReplayOutcome;

/// The width of the picture, in pixels.
const WIDTH: u32 = 960;
/// The height of the title with the names of the configurations.
const HEADER: u32 = 64;
/// The height of a chart.
const CHART: u32 = 290;
/// The height of the bar of a LocalQueue.
const BAR: u32 = 14;
/// The points of a line.
const POINTS: usize = 240;
/// The most LocalQueues that are drawn.
const MAX_QUEUES: usize = 12;
/// The ticks of the waits, in seconds.
const WAIT_TICKS: [f64; 8] = [
    0.0, 10.0, 60.0, 600.0, 3_600.0, 21_600.0, 86_400.0, 604_800.0,
];
/// Colours that can be distinguished with colour blindness (Okabe and Ito).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x00, 0x00, 0x00),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// The picture of the results of a trace.
///
/// # Errors
/// The charts cannot be drawn.
pub fn svg(trace: &str, outcomes: &[ReplayOutcome]) -> Result<String, Box<dyn std::error::Error>> {
    let names = queue_names(outcomes);
    let bars = u32::try_from(names.len() * outcomes.len()).unwrap_or(u32::MAX / BAR);
    let height = HEADER + 2 * CHART + 40 + bars * BAR;
    let mut out = String::new();
    {
        let root = SVGBackend::with_string(&mut out, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE)?;
        let (header, rest) = root.split_vertically(HEADER);
        let (waits_area, rest) = rest.split_vertically(CHART);
        let (usage_area, queues_area) = rest.split_vertically(CHART);
        draw_header(&header, trace, outcomes)?;
        draw_waits(&waits_area, outcomes)?;
        draw_usage(&usage_area, outcomes)?;
        draw_queue_waits(&queues_area, &names, outcomes)?;
        root.present()?;
    }
    Ok(out)
}

fn colour(index: usize) -> RGBColor {
    COLOURS[index % COLOURS.len()]
}

fn font<'a>(size: u32) -> TextStyle<'a> {
    ("sans-serif", size).into()
}

/// The trace, and the name of each configuration in its colour.
fn draw_header(area: &Area<'_>, trace: &str, outcomes: &[ReplayOutcome]) -> Drawn {
    area.draw(&Text::new(format!("Replay of {trace}"), (20, 14), font(16)))?;
    for (index, outcome) in outcomes.iter().enumerate() {
        let x = 20 + i32::try_from(index)? * 230;
        let square = [(x, 42), (x + 12, 54)];
        area.draw(&Rectangle::new(square, colour(index).filled()))?;
        let name = outcome.configuration.clone();
        area.draw(&Text::new(name, (x + 18, 42), font(13)))?;
    }
    Ok(())
}

/// The share of jobs that waited at most so long; the waits are logarithmic.
fn draw_waits(area: &Area<'_>, outcomes: &[ReplayOutcome]) -> Drawn {
    let longest = outcomes.iter().filter_map(|o| o.wait);
    let longest = longest.map(|wait| wait.max).fold(1.0, f64::max);
    let ticks = WAIT_TICKS.into_iter().filter(|tick| *tick <= longest);
    let ticks: Vec<f64> = ticks.map(|tick| 1.0 + tick).collect();
    let x = (1.0..1.0 + longest).log_scale().with_key_points(ticks);
    let mut chart = ChartBuilder::on(area)
        .caption("Jobs admitted within a wait", font(14))
        .margin(10)
        .margin_right(30)
        .x_label_area_size(24)
        .y_label_area_size(60)
        .build_cartesian_2d(x, 0.0..1.0)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .y_labels(3)
        .x_label_formatter(&|x| duration(x - 1.0))
        .y_label_formatter(&percent)
        .draw()?;
    for (index, outcome) in outcomes.iter().enumerate() {
        let jobs = outcome.jobs.max(1) as f64;
        let points = (0..=POINTS).map(|point| {
            let x = (1.0 + longest).powf(point as f64 / POINTS as f64);
            let within = outcome
                .waits
                .partition_point(|wait| *wait <= x - 1.0 + 1e-6);
            (x, within as f64 / jobs)
        });
        chart.draw_series(LineSeries::new(points, &colour(index)))?;
    }
    Ok(())
}

/// The mean usage of the main resource over time, as a share of the nominal quota.
fn draw_usage(area: &Area<'_>, outcomes: &[ReplayOutcome]) -> Drawn {
    let ends = outcomes.iter().map(|o| o.makespan_seconds);
    let end = ends.fold(1.0, f64::max);
    let resource = outcomes.first().map_or("", |o| o.main_resource.as_str());
    let lines: Vec<Vec<f64>> = outcomes
        .iter()
        .map(|outcome| {
            let quota = outcome.main_quota.max(f64::MIN_POSITIVE);
            let means = mean_usage(&outcome.usage, end, POINTS).into_iter();
            means.map(|used| used / quota).collect()
        })
        .collect();
    // Usage above the nominal quota is possible after a quota was lowered.
    let highest = lines.iter().flatten().copied().fold(1.0, f64::max);
    let (unit, seconds) = time_unit(end);
    let mut chart = ChartBuilder::on(area)
        .caption(
            format!("Usage of {resource}, of the nominal quota"),
            font(14),
        )
        .margin(10)
        .margin_right(30)
        .x_label_area_size(24)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..end / seconds, 0.0..highest)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .y_labels(3)
        .x_label_formatter(&|x| format!("{x}{unit}"))
        .y_label_formatter(&percent)
        .draw()?;
    for (index, line) in lines.iter().enumerate() {
        let middle = |point: usize| (point as f64 + 0.5) / POINTS as f64 * end / seconds;
        let points = line.iter().enumerate();
        let points = points.map(|(point, share)| (middle(point), *share));
        chart.draw_series(LineSeries::new(points, &colour(index)))?;
    }
    Ok(())
}

/// The unit of the labels of a time axis, and its seconds.
fn time_unit(end: f64) -> (&'static str, f64) {
    let units = [("d", 86_400.0), ("h", 3_600.0), ("m", 60.0)];
    let fits = units.into_iter().find(|(_, seconds)| end >= 4.0 * seconds);
    fits.unwrap_or(("s", 1.0))
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature of a label formatter"
)]
fn percent(share: &f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The LocalQueues that are drawn, in the order of the outcomes.
fn queue_names(outcomes: &[ReplayOutcome]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for outcome in outcomes {
        for queue in outcome.queues.iter().take(MAX_QUEUES) {
            if !names.contains(&queue.queue.as_str()) {
                names.push(&queue.queue);
            }
        }
    }
    names.truncate(MAX_QUEUES);
    names
}

/// The 90th percentile of the waits of each LocalQueue.
fn draw_queue_waits(area: &Area<'_>, names: &[&str], outcomes: &[ReplayOutcome]) -> Drawn {
    let title = "90th percentile of the waits of each LocalQueue";
    area.draw(&Text::new(title, (20, 4), font(14)))?;
    let right = font(12).pos(Pos::new(HPos::Right, VPos::Top));
    let waits = outcomes.iter().flat_map(|o| &o.queues);
    let waits = waits.filter(|queue| names.contains(&queue.queue.as_str()));
    let longest = waits.filter_map(|queue| queue.wait);
    let longest = longest.map(|wait| wait.p90).fold(1.0, f64::max);
    let mut y = 26;
    for name in names {
        area.draw(&Text::new(*name, (230, y), right.clone()))?;
        for (index, outcome) in outcomes.iter().enumerate() {
            let Some(queue) = outcome.queues.iter().find(|queue| queue.queue == *name) else {
                continue;
            };
            let (p90, label) = match queue.wait {
                Some(wait) => (wait.p90, duration(wait.p90)),
                None => (0.0, "no job admitted".to_owned()),
            };
            let end = 240 + (p90 / longest * f64::from(WIDTH - 340)) as i32;
            let bar = [(240, y), (end, y + 11)];
            area.draw(&Rectangle::new(bar, colour(index).filled()))?;
            area.draw(&Text::new(label, (end + 6, y), font(12)))?;
            y += i32::try_from(BAR)?;
        }
    }
    Ok(())
}
