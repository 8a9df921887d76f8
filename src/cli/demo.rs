//! `kueue-lab demo`

use std::path::{Path, PathBuf};

use super::crds::print_stdout;
use super::tui_session::{self, TuiArgs};
use super::up::{lab_error, node_pools};
use super::{CliError, logging, runtime, signals, speed};
use kueue_lab_clock::Clock;
use kueue_lab_entropy::Entropy;
use kueue_lab_lab::{DEFAULT_PRESET, FileSource, Lab, LabConfig, LabPaths};
use kueue_lab_scenario::{Observer, Scenario, ScenarioEnvironment, TimelineEntry, run_scenario};

const EXAMPLES: &str = "\
Examples:
  kueue-lab demo                                          list the stories
  kueue-lab demo skypilot-priority-preemption             watch one in the terminal UI
  kueue-lab demo skypilot-priority-preemption --headless  as a timeline; exit code 1 when it fails
  kueue-lab demo ./my-queues.yaml --headless --speed 60   a story of your own, as a test";

/// Run a scripted story on a fresh lab; without a name, list the stories there are.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Name of a story, or a scenario file of your own.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print a timeline instead of opening the terminal UI.
    #[arg(long)]
    headless: bool,
    /// The presets folder, as for `up`.
    #[arg(long, value_name = "DIR")]
    presets_dir: Option<PathBuf>,
    /// Lab seconds per second, from 0.01 to 10000 [default: what the story says].
    #[arg(long, value_name = "N", value_parser = speed::parse)]
    speed: Option<f64>,
    #[command(flatten)]
    tui_args: TuiArgs,
}

pub(super) fn run(args: Args) -> Result<(), CliError> {
    let here = std::env::current_dir().map_err(CliError::failed)?;
    let places = LabPaths::find(args.presets_dir.clone(), &here).map_err(CliError::Usage)?;
    match &args.name {
        None => list_demos(&places.lab),
        Some(name) => {
            let scenario = find_scenario(&places.lab, name)?;
            if !args.headless && tui_session::has_terminal() {
                logging::to_file();
                return runtime()?.block_on(run_in_tui(&places, scenario, &args));
            }
            logging::to_stderr();
            runtime()?.block_on(run_headless(&places, &scenario, args.speed))
        }
    }
}

/// The stories, one line each.
fn list_demos(files: &FileSource) -> Result<(), CliError> {
    let mut stories = Vec::new();
    for path in files.scenarios("scenarios") {
        stories.push(Scenario::load(files, &path).map_err(CliError::usage)?);
    }
    let width = stories.iter().map(|s| s.name.len()).max().unwrap_or(0);
    let lines = stories
        .iter()
        .map(|s| format!("{:<width$}  {}\n", s.name, s.summary));
    print_stdout(lines.collect::<String>().as_bytes())
}

/// A story by its name, or from a file.
fn find_scenario(files: &FileSource, name: &str) -> Result<Scenario, CliError> {
    let path = Path::new(name);
    if name.ends_with(".yaml") || name.ends_with(".yml") {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let file = path.file_name().map_or(path, Path::new);
        return Scenario::load(&FileSource::Folder(folder), file).map_err(CliError::usage);
    }
    let paths = files.scenarios("scenarios");
    let stem = |p: &PathBuf| p.file_stem().and_then(|s| s.to_str()).map(str::to_owned);
    match paths.iter().find(|p| stem(p).as_deref() == Some(name)) {
        Some(path) => Scenario::load(files, path).map_err(CliError::usage),
        None => {
            let names: Vec<_> = paths.iter().filter_map(stem).collect();
            let message = format!("there is no demo {name:?}; there are {}", names.join(", "));
            Err(CliError::Usage(message))
        }
    }
}

/// A lab for a story.
fn lab_config(
    places: &LabPaths,
    scenario: &Scenario,
    speed: Option<f64>,
) -> Result<LabConfig, CliError> {
    Ok(LabConfig {
        remote: None,
        clock: Clock::scaled(speed.unwrap_or(scenario.pace)),
        entropy: Entropy::from_os(),
        presets: places.presets.path().to_owned(),
        preset: scenario
            .preset
            .clone()
            .unwrap_or_else(|| DEFAULT_PRESET.into()),
        watch: false,
        port: None,
        nodes: node_pools(None, places)?.0,
        nodes_file: None,
        kueue: None,
    })
}

/// Tells a story in the terminal UI.
async fn run_in_tui(places: &LabPaths, scenario: Scenario, args: &Args) -> Result<(), CliError> {
    let mut config = lab_config(places, &scenario, args.speed)?;
    // Who watches may want to try things with kubectl, or edit the preset.
    config.port = Some(0);
    config.watch = true;
    let lab = Lab::start(config).await.map_err(lab_error)?;
    let outcome = args
        .tui_args
        .show(&lab, &places.lab, Some(scenario), None)
        .await;
    lab.stop().await;
    outcome
}

/// Tells a story as a timeline.
async fn run_headless(
    places: &LabPaths,
    scenario: &Scenario,
    speed: Option<f64>,
) -> Result<(), CliError> {
    let config = lab_config(places, scenario, speed)?;
    let stop = tokio::spawn(signals::shutdown_signal());
    let lab = Lab::start(config).await.map_err(lab_error)?;
    let stage = ScenarioEnvironment {
        client: lab.client(),
        clock: lab.clock().clone(),
        jobs: lab.jobs().clone(),
        presets: Some(lab.presets().clone()),
    };
    let result = tokio::select! {
        outcome = run_scenario(&stage, scenario, &TimelinePrinter) => outcome.result,
        _ = stop => Err("interrupted".into()),
    };
    drop(stage);
    lab.stop().await;
    match result {
        Ok(told) => print_stdout(format!("{told}\n").as_bytes()),
        Err(reason) => Err(CliError::Failed(format!("{}: {reason}", scenario.name))),
    }
}

/// Prints the story as it goes.
struct TimelinePrinter;

impl Observer for TimelinePrinter {
    fn entry(&self, entry: &TimelineEntry) {
        // A reader that has read enough is no reason to stop the story.
        let _ = print_stdout(format!("{entry}\n").as_bytes());
    }
}
