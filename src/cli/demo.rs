//! `kueue-lab demo`

use std::path::{Path, PathBuf};

use super::lab_recording::LabRecording;
use super::node_pools::node_pools;
use super::output::print_stdout;
use super::recording_file::check_new;
use super::source_text::scenario_error;
use super::tui_session::{self, ShownLab, ShownScenario, TuiArgs};
use super::{CommandError, Shutdown, lab_time, logging, runtime, speed};
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_lab::{
    DEFAULT_PRESET, FileSource, Lab, LabConfig, LabPaths, VirtualLab, VirtualLabError,
};
use kueue_lab_scenario::{
    Observer, Outcome, Scenario, ScenarioEnvironment, TimelineEntry, run_scenario,
};
use kueue_lab_tui::backend::DemoPace;

const EXAMPLES: &str = "\
Examples:
  kueue-lab demo                                          list the demos
  kueue-lab demo skypilot-priority-preemption             run one in the terminal UI; space goes on with each step
  kueue-lab demo skypilot-priority-preemption --pace      without pauses
  kueue-lab demo skypilot-priority-preemption --headless  as a timeline; exit code 1 when it fails
  kueue-lab demo ./my-queues.yaml --headless              a scenario file of your own, as a test";

/// Run a scenario on a new lab; without a name, list the shipped scenarios (demos).
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Name of a demo, or a scenario file of your own.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print a timeline instead of opening the terminal UI, in virtual time unless --speed is given.
    #[arg(long)]
    headless: bool,
    /// The presets folder, as for `up`.
    #[arg(long, value_name = "DIR")]
    presets_dir: Option<PathBuf>,
    /// Lab seconds per second, from 0.01 to 10000 [default: the scenario's `pace`; with --headless
    /// virtual time, which does not depend on the speed of the machine].
    #[arg(long, value_name = "N", value_parser = speed::parse)]
    speed: Option<f64>,
    /// In the terminal UI: run without a pause before each step, at this many lab seconds per second
    /// [default: the scenario's `pace`].
    #[arg(long, value_name = "N", num_args = 0..=1, value_parser = speed::parse, conflicts_with_all = ["headless", "speed"])]
    pace: Option<Option<f64>>,
    /// Record the run to a new file, for `kueue-lab play`.
    #[arg(long, value_name = "FILE", requires = "name")]
    record: Option<PathBuf>,
    #[command(flatten)]
    tui_args: TuiArgs,
}

pub(super) fn run(args: Args) -> Result<(), CommandError> {
    args.record.as_deref().map(check_new).transpose()?;
    let here = std::env::current_dir().map_err(CommandError::failed)?;
    let paths = LabPaths::find(args.presets_dir.clone(), &here).map_err(CommandError::usage)?;
    match &args.name {
        None => list_demos(&paths.lab),
        Some(name) => {
            let scenario = find_scenario(&paths.lab, name)?;
            if !args.headless && tui_session::has_terminal() {
                logging::to_file();
                return runtime()?.block_on(run_in_tui(&paths, scenario, &args));
            }
            logging::to_stderr();
            match args.speed {
                None => run_in_virtual_time(&paths, &scenario, args.record),
                Some(speed) => {
                    let run = run_in_real_time(&paths, &scenario, speed, args.record);
                    runtime()?.block_on(run)
                }
            }
        }
    }
}

/// Prints the shipped scenarios, one line each.
fn list_demos(files: &FileSource) -> Result<(), CommandError> {
    let mut demos = Vec::new();
    for path in files.scenarios("scenarios") {
        demos.push(Scenario::load(files, &path).map_err(CommandError::usage)?);
    }
    let width = demos.iter().map(|s| s.name.len()).max().unwrap_or(0);
    let lines = demos
        .iter()
        .map(|s| format!("{:<width$}  {}\n", s.name, s.summary));
    print_stdout(lines.collect::<String>().as_bytes())
}

/// Loads a shipped scenario by its name, or a scenario file.
fn find_scenario(files: &FileSource, name: &str) -> Result<Scenario, CommandError> {
    let path = Path::new(name);
    if name.ends_with(".yaml") || name.ends_with(".yml") {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let file = path.file_name().map_or(path, Path::new);
        return Scenario::load(&FileSource::Folder(folder), file).map_err(scenario_error);
    }
    let shipped = files.scenarios("scenarios");
    let stem = |p: &PathBuf| p.file_stem().and_then(|s| s.to_str()).map(str::to_owned);
    match shipped.iter().find(|p| stem(p).as_deref() == Some(name)) {
        Some(path) => Scenario::load(files, path).map_err(CommandError::usage),
        None => {
            let names: Vec<_> = shipped.iter().filter_map(stem).collect();
            let message = format!(
                "there is no demo {name:?}; the demos are {}",
                names.join(", ")
            );
            Err(CommandError::usage(message))
        }
    }
}

/// The configuration of the lab for a scenario.
fn lab_config(
    paths: &LabPaths,
    scenario: &Scenario,
    speed: Option<f64>,
    with_tui: bool,
) -> Result<LabConfig, CommandError> {
    let speed = speed.unwrap_or(scenario.pace);
    let clock = match with_tui {
        true => lab_time::clock_of_ui(speed),
        false => Clock::adjustable(speed),
    };
    let preset = scenario.preset.clone();
    let mut config = LabConfig::embedded(clock, Entropy::from_os(), paths.presets.path());
    config.presets.active = preset.or_else(|| Some(DEFAULT_PRESET.into()));
    config.components.nodes = node_pools(None, paths)?.0;
    Ok(config)
}

/// Runs a scenario in the terminal UI.
async fn run_in_tui(paths: &LabPaths, scenario: Scenario, args: &Args) -> Result<(), CommandError> {
    let pace = match args.pace {
        None => DemoPace::Pauses,
        Some(None) => DemoPace::OfDemo,
        Some(Some(speed)) => DemoPace::Speed(speed),
    };
    let speed = args.speed.or(args.pace.flatten());
    let mut config = lab_config(paths, &scenario, speed, true)?;
    // The user may use kubectl or edit the preset during the demo.
    config.cluster.port = Some(0);
    config.presets.watch = true;
    let shutdown = Shutdown::start(true)?;
    let lab = shutdown.unless_requested(Lab::start(config)).await??;
    let recording = LabRecording::start(&lab, args.record.clone(), true).await?;
    let outcome = args
        .tui_args
        .show(
            ShownLab {
                lab: &lab,
                files: &paths.lab,
                history: recording.as_ref().and_then(LabRecording::history),
            },
            Some(ShownScenario { scenario, pace }),
            None,
            Vec::new(),
            &shutdown,
        )
        .await;
    shutdown.request();
    shutdown.bounded(LabRecording::finish(recording)).await;
    lab.stop_until(shutdown.grace_period_over()).await;
    outcome
}

/// Runs a scenario in virtual time and prints its timeline.
fn run_in_virtual_time(
    paths: &LabPaths,
    scenario: &Scenario,
    record: Option<PathBuf>,
) -> Result<(), CommandError> {
    let nodes = node_pools(None, paths)?.0;
    // The start is fixed, so that every run takes the same course.
    let lab = VirtualLab {
        stop: Shutdown::start(false)?.token(),
        ..VirtualLab::default()
    };
    let preset = scenario.preset.clone();
    let ran = lab.run(
        |clock, entropy| {
            let mut config = LabConfig::embedded(clock, entropy, paths.presets.path());
            config.presets.active = preset.or_else(|| Some(DEFAULT_PRESET.into()));
            config.components.nodes = nodes;
            config
        },
        async |lab: &Lab| {
            let recording = LabRecording::start(lab, record, false).await?;
            let environment = ScenarioEnvironment::of_lab(lab);
            let outcome = run_scenario(&environment, scenario, &TimelinePrinter).await;
            LabRecording::finish(recording).await;
            result(scenario, outcome)
        },
    );
    match ran {
        Ok(result) => print_summary(&result?),
        Err(VirtualLabError::Start(error)) => Err(error.into()),
        Err(error) => Err(CommandError::failed(error)),
    }
}

/// Runs a scenario in real time, `speed` times as fast, and prints its timeline.
async fn run_in_real_time(
    paths: &LabPaths,
    scenario: &Scenario,
    speed: f64,
    record: Option<PathBuf>,
) -> Result<(), CommandError> {
    let config = lab_config(paths, scenario, Some(speed), false)?;
    let shutdown = Shutdown::start(false)?;
    let lab = shutdown.unless_requested(Lab::start(config)).await??;
    let recording = LabRecording::start(&lab, record, false).await?;
    let environment = ScenarioEnvironment::of_lab(&lab);
    let ran = tokio::select! {
        outcome = run_scenario(&environment, scenario, &TimelinePrinter) => result(scenario, outcome),
        () = shutdown.requested() => Err(CommandError::failed(format!("{}: interrupted", scenario.name))),
    };
    drop(environment);
    shutdown.request();
    shutdown.bounded(LabRecording::finish(recording)).await;
    lab.stop_until(shutdown.grace_period_over()).await;
    print_summary(&ran?)
}

/// The summary of a scenario that passed.
fn result(scenario: &Scenario, outcome: Outcome) -> Result<String, CommandError> {
    outcome.result.map_err(|reason| match outcome.is_invalid {
        true => {
            // It has the position in the file.
            CommandError::usage(reason)
        }
        false => CommandError::failed(format!("{}: {reason}", scenario.name)),
    })
}

fn print_summary(summary: &str) -> Result<(), CommandError> {
    print_stdout(format!("{summary}\n").as_bytes())
}

/// Prints each timeline entry as it happens.
struct TimelinePrinter;

impl Observer for TimelinePrinter {
    fn entry(&self, entry: &TimelineEntry) {
        // A closed stdout does not stop the scenario.
        let _ = print_stdout(format!("{entry}\n").as_bytes());
    }
}
