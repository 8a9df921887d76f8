//! The shipped scenarios, each on a new lab in virtual time with the nodes and the configuration of its
//! preset; and the samples that they submit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kueue_lab_clock::Entropy;
use kueue_lab_clock::{Clock, virtual_runtime};
use kueue_lab_lab::{FileSource, Lab, LabConfig, NodePools};
use kueue_lab_scenario::{
    Observer, Scenario, ScenarioEnvironment, StepAction, TimelineEntry, TimelineEntryKind,
    run_scenario,
};
use parking_lot::Mutex;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// The presets whose samples `tests/seeds/preset_samples.rs` submits.
const TESTED_ELSEWHERE: [&str; 5] = [
    "multikueue",
    "rayjob-gang",
    "skypilot",
    "skypilot-priority",
    "team-cohort",
];

fn scenarios() -> Vec<Scenario> {
    let files = FileSource::Folder(Path::new(ROOT).join("lab"));
    let paths = files.scenarios("scenarios");
    let load = |path: &std::path::PathBuf| Scenario::load(&files, path).unwrap();
    paths.iter().map(load).collect()
}

/// The entries of a timeline.
#[derive(Default)]
struct Timeline(Mutex<Vec<TimelineEntry>>);

impl Observer for Timeline {
    fn entry(&self, entry: &TimelineEntry) {
        self.0.lock().push(entry.clone());
    }
}

/// Runs a scenario and then cleans up; the timeline, or the reason of a failure with it.
fn run(scenario: &Scenario) -> Result<Vec<TimelineEntry>, String> {
    let timeline = Timeline::default();
    let outcome = virtual_runtime().unwrap().block_on(async {
        let clock = Clock::starting_at("2026-03-02T12:00:00Z".parse().unwrap());
        let mut config =
            LabConfig::embedded(clock, Entropy::seeded(3), Path::new(ROOT).join("presets"));
        config.presets.active = scenario.preset.clone();
        config.components.nodes = NodePools::built_in();
        let lab = Lab::start(config);
        let lab = lab.await.unwrap();
        let warnings = lab.presets().state().warnings.clone();
        assert!(warnings.is_empty(), "{warnings:?}");
        let environment = ScenarioEnvironment::of_lab(&lab);
        let outcome = run_scenario(&environment, scenario, &timeline).await;
        let problems = outcome.clean_up.run(&environment).await;
        match problems.is_empty() {
            true => outcome.result.map_err(|error| error.to_string()),
            false => Err(problems.join("; ")),
        }
    });
    let entries = timeline.0.into_inner();
    match outcome {
        Ok(_) => Ok(entries),
        Err(reason) => {
            let lines: Vec<String> = entries.iter().map(ToString::to_string).collect();
            let lines = lines.join("\n");
            Err(format!("{}: {reason}\n{lines}", scenario.name))
        }
    }
}

/// An Event about a pending Workload that the timeline repeats before the next reservation of quota.
fn repeated_reason(entries: &[TimelineEntry]) -> Option<&str> {
    let mut reported: BTreeSet<&str> = BTreeSet::new();
    for entry in entries {
        let Some((object, reason)) = entry.text.split_once(": ") else {
            continue;
        };
        if entry.kind != TimelineEntryKind::Event {
            continue;
        }
        if reason.starts_with("QuotaReserved ") {
            reported.retain(|text| !text.starts_with(object));
        } else if reason.starts_with("Pending ") && !reported.insert(&entry.text) {
            return Some(&entry.text);
        }
    }
    None
}

#[test]
fn events_are_reported_before_the_expectations_that_they_meet() {
    let scenario = scenarios().into_iter().find(|s| s.name == "stop-policy");
    let entries = run(&scenario.unwrap()).unwrap();
    let position = |kind: TimelineEntryKind, text: &str| {
        let mut all = entries.iter();
        let found = all.position(|entry| entry.kind == kind && entry.text.contains(text));
        found.unwrap_or_else(|| panic!("{text:?} is missing in {entries:#?}"))
    };
    let evicted = position(TimelineEntryKind::Event, "EvictedDueToClusterQueueStopped");
    let met = position(TimelineEntryKind::ExpectationMet, "ClusterQueueStopped");
    assert!(evicted < met, "{entries:#?}");
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
            let repeated = |entries: Vec<TimelineEntry>| {
                let text = repeated_reason(&entries)?;
                Some(format!("{}: repeats {text:?}", scenario.name))
            };
            failed
                .lock()
                .extend(run(&scenario).map_or_else(Some, repeated));
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
