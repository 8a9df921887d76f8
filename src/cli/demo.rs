//! `kueue-lab demo`

use std::path::{Path, PathBuf};

use super::crds::print;
use super::up::{failure, nodes};
use super::window::{self, Window};
use super::{Failure, logging, runtime, signals, speed};
use kueue_lab_clock::Clock;
use kueue_lab_entropy::Entropy;
use kueue_lab_lab::{DEFAULT_PRESET, Files, Lab, LabConfig, Places};
use kueue_lab_scenario::{Entry, Observer, Scenario, Stage, run as run_scenario};

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
    window: Window,
}

pub(super) fn run(args: Args) -> Result<(), Failure> {
    let here = std::env::current_dir().map_err(Failure::failed)?;
    let places = Places::find(args.presets_dir.clone(), &here).map_err(Failure::Usage)?;
    match &args.name {
        None => list(&places.lab),
        Some(name) => {
            let scenario = find(&places.lab, name)?;
            if !args.headless && window::is_possible() {
                logging::to_file();
                return runtime()?.block_on(show(&places, scenario, &args));
            }
            logging::to_stderr();
            runtime()?.block_on(tell(&places, &scenario, args.speed))
        }
    }
}

/// The stories, one line each.
fn list(files: &Files) -> Result<(), Failure> {
    let mut stories = Vec::new();
    for path in files.scenarios("scenarios") {
        stories.push(Scenario::load(files, &path).map_err(Failure::usage)?);
    }
    let width = stories.iter().map(|s| s.name.len()).max().unwrap_or(0);
    let lines = stories
        .iter()
        .map(|s| format!("{:<width$}  {}\n", s.name, s.summary));
    print(lines.collect::<String>().as_bytes())
}

/// A story by its name, or from a file.
fn find(files: &Files, name: &str) -> Result<Scenario, Failure> {
    let path = Path::new(name);
    if name.ends_with(".yaml") || name.ends_with(".yml") {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let file = path.file_name().map_or(path, Path::new);
        return Scenario::load(&Files::Folder(folder), file).map_err(Failure::usage);
    }
    let paths = files.scenarios("scenarios");
    let stem = |p: &PathBuf| p.file_stem().and_then(|s| s.to_str()).map(str::to_owned);
    match paths.iter().find(|p| stem(p).as_deref() == Some(name)) {
        Some(path) => Scenario::load(files, path).map_err(Failure::usage),
        None => {
            let names: Vec<_> = paths.iter().filter_map(stem).collect();
            let message = format!("there is no demo {name:?}; there are {}", names.join(", "));
            Err(Failure::Usage(message))
        }
    }
}

/// A lab for a story.
fn config(places: &Places, scenario: &Scenario, speed: Option<f64>) -> Result<LabConfig, Failure> {
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
        nodes: nodes(None, places)?.0,
        nodes_file: None,
        kueue: None,
    })
}

/// Tells a story in the terminal UI.
async fn show(places: &Places, scenario: Scenario, args: &Args) -> Result<(), Failure> {
    let mut config = config(places, &scenario, args.speed)?;
    // Who watches may want to try things with kubectl, or edit the preset.
    config.port = Some(0);
    config.watch = true;
    let lab = Lab::start(config).await.map_err(failure)?;
    let outcome = args
        .window
        .show(&lab, &places.lab, Some(scenario), None)
        .await;
    lab.stop().await;
    outcome
}

/// Tells a story as a timeline.
async fn tell(places: &Places, scenario: &Scenario, speed: Option<f64>) -> Result<(), Failure> {
    let config = config(places, scenario, speed)?;
    let stop = tokio::spawn(signals::stop());
    let lab = Lab::start(config).await.map_err(failure)?;
    let stage = Stage {
        client: lab.client(),
        clock: lab.clock().clone(),
        jobs: lab.jobs().clone(),
        presets: Some(lab.presets().clone()),
    };
    let result = tokio::select! {
        outcome = run_scenario(&stage, scenario, &Timeline) => outcome.result,
        _ = stop => Err("interrupted".into()),
    };
    drop(stage);
    lab.stop().await;
    match result {
        Ok(told) => print(format!("{told}\n").as_bytes()),
        Err(reason) => Err(Failure::Failed(format!("{}: {reason}", scenario.name))),
    }
}

/// Prints the story as it goes.
struct Timeline;

impl Observer for Timeline {
    fn entry(&self, entry: &Entry) {
        // A reader that has read enough is no reason to stop the story.
        let _ = print(format!("{entry}\n").as_bytes());
    }
}
