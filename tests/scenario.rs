//! Scenarios on the embedded API, in virtual time: steps, expectations and failures.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use kube::runtime::watcher::Config;
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::Entropy;
use kueue_lab_clock::{Clock, virtual_runtime};
use kueue_lab_lab::FileSource;
use kueue_lab_scenario::{
    Observer, Outcome, Progress, Scenario, ScenarioEnvironment, StepState, TimelineEntry,
    run_scenario,
};
use kueue_lab_skypilot::SkyEnv;
use kueue_lab_skypilot::jobs::ManagedJobs;
use parking_lot::Mutex;

#[derive(Default)]
struct RecordingObserver {
    lines: Mutex<Vec<String>>,
    last: Mutex<Progress>,
}

impl Observer for RecordingObserver {
    fn entry(&self, entry: &TimelineEntry) {
        self.lines.lock().push(entry.to_string());
    }
    fn progress(&self, progress: &Progress) {
        *self.last.lock() = progress.clone();
    }
}

/// Runs an inline scenario in virtual time.
fn run_text(text: &str) -> (Outcome, RecordingObserver) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("scenario.yaml"), text).unwrap();
    let files = FileSource::Folder(folder.path().to_owned());
    let scenario = Scenario::load(&files, Path::new("scenario.yaml")).unwrap();
    let observer = RecordingObserver::default();
    let outcome = virtual_runtime().unwrap().block_on(async {
        let clock = Clock::virtual_from("2026-03-02T12:00:00Z".parse().unwrap());
        let entropy = Entropy::seeded(1);
        let server = ApiServer::builder(clock.clone(), entropy.clone()).build();
        let client = server.client();
        let environment = ScenarioEnvironment {
            jobs: ManagedJobs::new(client.clone(), clock.clone(), entropy, SkyEnv::new("lab")),
            client,
            watch_config: Config::default(),
            clock,
            presets: None,
            pauses_before_steps: false,
            machines: None,
        };
        run_scenario(&environment, &scenario, &observer).await
    });
    (outcome, observer)
}

const MAP: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: x}}, data: {size: \"1\"}}";

#[test]
fn a_passing_scenario_reports_every_step() {
    let (outcome, observer) = run_text(&format!(
        "steps:\n- apply: {MAP}\n  expect:\n  - object: {{kind: ConfigMap, name: a*, labels: {{app: x}}}}\n    fields: {{data.size: 1, data.mass: null}}\n    count: 1\n- after: 90s\n  say: it changes\n  patch: {{object: {{kind: ConfigMap, name: a}}, merge: {{data: {{size: \"2\"}}}}}}\n  expect:\n  - {{object: {{kind: ConfigMap, name: a}}, fields: {{data.size: \"2\"}}, holds: 10s}}\n- at: 200s\n  delete: {{kind: ConfigMap, name: a}}\n  expect:\n  - {{object: {{kind: ConfigMap, name: a}}, absent: true}}\n"
    ));
    assert_eq!(
        outcome.result.as_deref(),
        Ok("scenario passed in 3m 20s of lab time")
    );
    let lines = observer.lines.lock().clone();
    assert_eq!(
        lines,
        [
            "  0:00  apply ConfigMap a",
            "  0:00    ✓ 1 of ConfigMap a* app=x with data.size=1, data.mass=null",
            "  1:30  it changes",
            "  1:40    ✓ ConfigMap a with data.size=\"2\" for 10s",
            "  3:20  delete ConfigMap a",
            "  3:20    ✓ no ConfigMap a",
        ]
    );
    let last = observer.last.lock();
    assert!(
        last.steps
            .iter()
            .all(|s| s.state == StepState::Done && s.at.is_some())
    );
    assert!(last.outcome.as_ref().unwrap().is_ok());
}

#[test]
fn a_failed_expectation_reports_the_observed_state() {
    for (step, expected) in [
        (
            "expect:\n  - {object: {kind: ConfigMap, name: a}, fields: {data.size: \"7\"}, within: 5s}",
            "ConfigMap a with data.size=\"7\": not within 5s; a: data.size is \"1\"",
        ),
        (
            "expect:\n  - {object: {kind: ConfigMap, name: b, namespace: default}, within: 5s}",
            "ConfigMap default/b: not within 5s; none of the",
        ),
        (
            "expect:\n  - {object: {kind: Workload, name: b}, within: 5s}",
            "Workload b: not within 5s; there is no Workload",
        ),
        (
            "expect:\n  - {object: {kind: ConfigMap, name: a}, conditions: {Ready: true}, within: 1m}",
            "ConfigMap a with Ready=True: not within 1m; a: there is no condition Ready",
        ),
        (
            "expect:\n  - {object: {kind: ConfigMap, name: a}, absent: true, within: 1s}",
            "no ConfigMap a: not within 1s; 1 match: a",
        ),
        (
            "delete: {kind: ConfigMap, name: \"z*\"}",
            "there is no ConfigMap z*",
        ),
        ("switch: other", "this lab has no presets folder"),
        (
            "apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: nowhere}}",
            "",
        ),
    ] {
        let (outcome, observer) = run_text(&format!("steps:\n- apply: {MAP}\n- {step}\n"));
        let reason = outcome.result.unwrap_err().to_string();
        assert!(
            reason.starts_with("step 2 (") && reason.contains("scenario.yaml:3:3): "),
            "{reason}"
        );
        assert!(reason.contains(expected), "{reason}\n{expected}");
        let last = observer.last.lock();
        assert!(matches!(last.steps[1].state, StepState::Failed(_)));
        assert!(observer.lines.lock().last().unwrap().contains('✗'));
    }
}

#[test]
fn a_scenario_times_out() {
    let (outcome, _) = run_text("limit: 1m\nsteps:\n- wait: 2m\n");
    let reason = outcome.result.unwrap_err().to_string();
    let expected =
        "scenario.yaml:3:3): the limit of 1m is exceeded in this step; set limit for more";
    assert!(
        reason.starts_with("step 1 (") && reason.ends_with(expected),
        "{reason}"
    );
    assert_eq!(outcome.took.as_secs(), 60);
}

#[test]
fn a_transient_state_fails_the_expectation() {
    let (outcome, _) = run_text(&format!(
        "steps:\n- apply: {MAP}\n- when: {{object: {{kind: ConfigMap, name: a}}}}\n  delete: {{kind: ConfigMap, name: a}}\n- expect:\n  - {{object: {{kind: ConfigMap, name: a}}, absent: true, holds: 1m}}\n"
    ));
    assert!(outcome.result.is_ok(), "{outcome:?}");
}

#[test]
fn unknown_names_are_found_before_the_first_step() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.yaml");
    for (step, expected) in [
        (
            "jobs: {name: j, queue: gpuss, namespace: team-a, requests: {nvidia.com/gpu: 1}}",
            "s.yaml:4:26: there is no LocalQueue \"team-a/gpuss\"; did you mean \"team-a/gpus\"?",
        ),
        (
            "sample: team-a-trian",
            "s.yaml:4:11: there is no sample \"team-a-trian\"; did you mean \"team-a-train\"?",
        ),
        (
            "switch: team-cohrt",
            "s.yaml:4:11: there is no preset \"team-cohrt\"; did you mean \"team-cohort\"?",
        ),
        (
            "{wait: 1s, expect: [{usage: {clusterQueue: team-aa, resources: {nvidia.com/gpu: 0}}}]}",
            "there is no ClusterQueue \"team-aa\"; did you mean \"team-a\"?",
        ),
    ] {
        let text = format!("preset: team-cohort\nsteps:\n- wait: 1s\n- {step}\n");
        std::fs::write(&file, text).unwrap();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_kueue-lab"))
            .args(["demo", "--headless"])
            .arg(&file)
            .env("XDG_STATE_HOME", folder.path())
            .output()
            .unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{step}\n{err}");
        assert!(err.contains(expected), "{expected}\n{err}");
    }
}
