//! Recordings as test files of `kueue-lab test`: the objects of the setup are the queues and nodes, and each
//! recorded step is a step with the recorded state as expectations.
//!
//! A scenario is converted up to the first step that test files do not have: operations on one of the pods of a
//! Deployment, whose names are random, and the end of pods that do not run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kueue_lab_scenario::{CaseStart, TestFile, TestOptions, run_tests};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::recorded_set::RecordedSet;
use super::scenario_lab::NODE_POOLS;
use super::test_file_expectations::expectations;
use super::test_file_steps::actions;
use super::{KNOWN_GAPS, scenario_names};

/// One in this many scenarios of each set runs.
const SAMPLES: [usize; 2] = [92, 16];
/// Scenarios of admission fair sharing, in which usage is sampled every second, are slow.
const SLOW: &str = "w4";
/// The fields of steps that the sample has at least.
const ACTIONS: [&str; 12] = [
    "activate",
    "apply",
    "check",
    "deactivate",
    "delete",
    "deletePods",
    "fail",
    "finish",
    "patch",
    "priority",
    "provisioningRequest",
    "when",
];

#[test]
fn recordings_pass_as_test_files() {
    let gaps = scenario_names(KNOWN_GAPS);
    let folder = tempfile::tempdir().unwrap();
    let (mut files, mut checked_steps) = (Vec::new(), 0);
    let mut actions = BTreeSet::new();
    for (set, sample) in RecordedSet::all().iter().zip(SAMPLES) {
        let names = set.names().into_iter();
        let names = names.filter(|name| !name.starts_with(SLOW)).step_by(sample);
        for name in names.filter(|name| !gaps.contains(name)) {
            let converted = Conversion::new(set, &name).write(folder.path());
            checked_steps += converted.checked_steps;
            actions.extend(converted.actions);
            let file = TestFile::load(&converted.path, folder.path());
            files.push(file.unwrap_or_else(|e| panic!("{name}: {e}")));
        }
    }
    assert!(files.len() >= 14 && checked_steps > 80, "{checked_steps}");
    let missing = ACTIONS.iter().filter(|action| !actions.contains(**action));
    let missing: Vec<_> = missing.collect();
    assert!(
        missing.is_empty(),
        "no recording has {missing:?}: {actions:?}"
    );
    let options = TestOptions {
        timeout: std::time::Duration::from_secs(120),
        filter: None,
        fail_fast: false,
        threads: None,
        start: CaseStart::Shared,
        explain: &|_, _, _| Box::pin(async { None }),
        stop: CancellationToken::new(),
    };
    let results = run_tests(&files, &options, |_| ());
    let failed: Vec<_> = results.iter().filter(|r| r.failure.is_some()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Writes all recordings as test files to the folder of `KUEUE_LAB_TEST_FILES`.
#[test]
fn recordings_are_written_as_test_files() {
    let Some(folder) = std::env::var_os("KUEUE_LAB_TEST_FILES").map(PathBuf::from) else {
        return;
    };
    for set in RecordedSet::all() {
        let names = set.names();
        let (all, mut whole) = (names.len(), 0);
        for name in names {
            let converted = Conversion::new(&set, &name).write(&folder);
            match converted.missing_step {
                None => whole += 1,
                Some(step) => println!("{name} is converted up to step {step}"),
            }
        }
        println!("{whole} of {all} scenarios are converted as a whole");
    }
}

fn fields(step: &Value) -> Vec<String> {
    step.as_object().unwrap().keys().cloned().collect()
}

/// An object as text, without the status, which a step writes.
fn without_status(object: &Value) -> String {
    let mut object = object.clone();
    object.as_object_mut().unwrap().remove("status");
    object.to_string()
}

/// A recording that is written as a test file.
struct Conversion<'a> {
    set: &'a RecordedSet,
    name: &'a str,
    scenario: Value,
    outcome: Value,
}

/// A written test file.
struct Converted {
    path: PathBuf,
    /// The number of recorded steps with expectations.
    checked_steps: usize,
    /// The number of the first step that test files do not have.
    missing_step: Option<usize>,
    /// The fields of the steps, such as `finish`.
    actions: BTreeSet<String>,
}

impl<'a> Conversion<'a> {
    fn new(set: &'a RecordedSet, name: &'a str) -> Self {
        Self {
            scenario: set.scenario(name),
            outcome: set.outcome(name),
            set,
            name,
        }
    }

    /// Writes the test file with its queues, configuration and nodes.
    fn write(&self, folder: &Path) -> Converted {
        let folder = folder.join(self.name);
        std::fs::create_dir_all(folder.join("queues")).unwrap();
        let write = |file: &str, text: &str| std::fs::write(folder.join(file), text).unwrap();
        let setup = self.scenario["setup"].as_array().unwrap().iter();
        let (nodes, queues): (Vec<&Value>, Vec<&Value>) =
            setup.partition(|object| object["kind"] == "Node");
        let documents: Vec<String> = queues.iter().map(|o| without_status(o)).collect();
        write("queues/setup.yaml", &documents.join("\n---\n"));
        write("kueue.yaml", &self.set.configuration(&self.scenario));
        write("nodes.yaml", &format!("pools:\n{}", NODE_POOLS.as_str()));

        let checks = queues
            .into_iter()
            .filter(|object| object["kind"] == "AdmissionCheck");
        let with_status: Vec<&Value> = nodes.into_iter().chain(checks).collect();
        let mut steps = Vec::new();
        if !with_status.is_empty() {
            steps.push(json!({"apply": with_status}));
        }
        let (checked_steps, missing_step) = self.steps(&mut steps);
        let test = json!({
            "queues": "queues", "kueue": "kueue.yaml", "nodes": "nodes.yaml",
            "cases": [{"name": self.name, "steps": steps}],
        });
        write("a.test.yaml", &format!("{test:#}"));
        Converted {
            path: folder.join("a.test.yaml"),
            checked_steps,
            missing_step,
            actions: steps.iter().flat_map(fields).collect(),
        }
    }

    /// Appends the steps; returns the number of those with expectations, and the first that test files do
    /// not have.
    fn steps(&self, steps: &mut Vec<Value>) -> (usize, Option<usize>) {
        let namespace = self.scenario["namespace"].as_str().unwrap();
        let recorded = self.outcome["steps"].as_array().unwrap();
        let ends = ["stableUntil", "truncated", "livelock", "doubtful"];
        let ends = ends.iter().filter_map(|end| self.outcome[end].as_u64());
        let end = ends.min().map_or(recorded.len(), |end| end as usize);
        let todo = self.scenario["steps"].as_array().unwrap().iter();
        let mut checked_steps = 0;
        for (index, (step, record)) in todo.zip(&recorded[1..end.max(1)]).enumerate() {
            let Some(actions) = actions(step, record, &recorded[index], namespace) else {
                return (checked_steps, Some(index + 1));
            };
            let waits = !actions.is_empty();
            steps.extend(actions);
            if step["noQuiet"] == true {
                continue;
            }
            if let Some(quiet) = self.quiet_period().filter(|_| waits) {
                steps.push(json!({"wait": quiet}));
            }
            let expect = expectations(&record["state"], namespace);
            if !expect.is_empty() {
                checked_steps += 1;
                steps.push(json!({"expect": expect}));
            }
        }
        (checked_steps, None)
    }

    /// The time after a step in which nothing changed, if it is longer than that of tests.
    fn quiet_period(&self) -> Option<String> {
        let seconds = self.scenario["quiet"].as_f64()?;
        Some(format!("{seconds}s"))
    }
}
