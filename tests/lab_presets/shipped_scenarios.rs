//! The shipped scenarios, each on a new lab in virtual time with the nodes and the configuration of its
//! preset; and the samples that they submit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kueue_lab_clock::{Clock, virtual_runtime};
use kueue_lab_entropy::Entropy;
use kueue_lab_lab::{FileSource, Lab, LabConfig, NodePools};
use kueue_lab_scenario::{
    Observer, Scenario, ScenarioEnvironment, StepAction, TimelineEntry, run_scenario,
};
use parking_lot::Mutex;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// The presets whose samples `tests/seeds/preset_samples.rs` submits.
const TESTED_ELSEWHERE: [&str; 6] = [
    "multikueue",
    "rayjob-gang",
    "skypilot",
    "skypilot-priority",
    "spot-and-on-demand",
    "team-cohort",
];

fn scenarios() -> Vec<Scenario> {
    let files = FileSource::Folder(Path::new(ROOT).join("lab"));
    let paths = files.scenarios("scenarios");
    let load = |path: &std::path::PathBuf| Scenario::load(&files, path).unwrap();
    paths.iter().map(load).collect()
}

/// The lines of a timeline.
#[derive(Default)]
struct Timeline(Mutex<Vec<String>>);

impl Observer for Timeline {
    fn entry(&self, entry: &TimelineEntry) {
        self.0.lock().push(entry.to_string());
    }
}

/// Runs a scenario and then cleans up; the timeline and the reason of a failure.
fn run(scenario: &Scenario) -> Result<(), String> {
    let timeline = Timeline::default();
    let outcome = virtual_runtime().unwrap().block_on(async {
        let clock = Clock::starting_at("2026-03-02T12:00:00Z".parse().unwrap());
        let lab = Lab::start(LabConfig {
            preset: scenario.preset.clone(),
            nodes: NodePools::built_in(),
            ..LabConfig::embedded(
                clock.clone(),
                Entropy::seeded(3),
                Path::new(ROOT).join("presets"),
            )
        });
        let lab = lab.await.unwrap();
        let warnings = lab.presets().state().warnings.clone();
        assert!(warnings.is_empty(), "{warnings:?}");
        let environment = ScenarioEnvironment {
            client: lab.client(),
            clock,
            jobs: lab.jobs().clone(),
            presets: Some(lab.presets().clone()),
        };
        let outcome = run_scenario(&environment, scenario, &timeline).await;
        let problems = outcome.traces.clean_up(&environment).await;
        match problems.is_empty() {
            true => outcome.result,
            false => Err(problems.join("; ")),
        }
    });
    let lines = timeline.0.into_inner().join("\n");
    outcome
        .map(|_| ())
        .map_err(|reason| format!("{}: {reason}\n{lines}", scenario.name))
}

#[test]
fn every_scenario_passes() {
    let only = std::env::var("KUEUE_LAB_CASE").unwrap_or_default();
    let all = scenarios().into_iter();
    let selected = all.filter(|scenario| scenario.name.contains(&only));
    let remaining = Mutex::new(selected.collect::<Vec<_>>());
    let failed = Mutex::new(Vec::new());
    let work = || {
        while let Some(scenario) = { remaining.lock().pop() } {
            let started = std::time::Instant::now();
            failed.lock().extend(run(&scenario).err());
            println!("{}: {:.1?}", scenario.name, started.elapsed());
        }
    };
    std::thread::scope(|scope| {
        let workers = std::thread::available_parallelism().map_or(2, usize::from);
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    let failed = failed.into_inner();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn every_preset_has_a_scenario_that_submits_its_samples() {
    let mut submitted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for scenario in scenarios() {
        assert!(!scenario.summary.is_empty(), "{}", scenario.name);
        let preset = scenario.preset.clone().unwrap();
        let samples = submitted.entry(preset).or_default();
        samples.extend(scenario.steps.iter().filter_map(|step| match &step.action {
            StepAction::Sample { sample, .. } => Some(sample.clone()),
            _ => None,
        }));
    }
    let folder = Path::new(ROOT).join("presets");
    for name in kueue_lab_presets::list(&folder).unwrap() {
        if TESTED_ELSEWHERE.contains(&name.as_str()) {
            continue;
        }
        let source = kueue_lab_presets::read(&folder, &name).unwrap();
        let samples: BTreeSet<String> = source.samples.into_iter().map(|s| s.name).collect();
        assert_eq!(submitted.get(&name), Some(&samples), "{name}");
    }
}
