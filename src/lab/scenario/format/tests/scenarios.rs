//! Demos are loaded, or refused with a position.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::scenario::*;
use kueue_lab_lab::{FileSource, LAB_FILES};
use kueue_lab_presets::BuiltInFile;

fn load(text: &'static str) -> Result<Scenario, ScenarioError> {
    let task = BuiltInFile {
        path: "skypilot/t.task.yaml",
        text: "name: t\nrun: sleep 5\n",
    };
    let bad = BuiltInFile {
        path: "skypilot/bad.task.yaml",
        text: "nmae: t\n",
    };
    let scenario = BuiltInFile {
        path: "scenarios/s.yaml",
        text,
    };
    let files: &'static [BuiltInFile] = Box::leak(Box::new([task, bad, scenario]));
    Scenario::load(&FileSource::Shipped(files), Path::new("scenarios/s.yaml"))
}

#[test]
fn a_scenario_is_loaded_with_all_its_files() {
    let scenario = load(
        "# Shows a thing.\npreset: p\npace: 5\nlimit: 10m\nsteps:\n- launch: {task: ../skypilot/t.task.yaml, as: job1}\n  expect:\n  - {job: job1, status: running, within: 2m}\n- after: 10s\n  say: a queue grows\n  patch: {object: {kind: ClusterQueue, name: q}, merge: {spec: {}}}\n  expect:\n  - object: {kind: Workload, name: \"pod-job1-*\", namespace: default}\n    conditions: {Admitted: true, Preempted: {reason: InClusterQueue}}\n    fields: {status.admission.clusterQueue: q}\n    holds: 5s\n- when: {job: job1, status: SUCCEEDED}\n  apply: {apiVersion: v1, kind: ConfigMap, metadata: {generateName: x-}}\n",
    )
    .unwrap();
    assert_eq!(
        (scenario.name.as_str(), scenario.summary.as_str()),
        ("s", "Shows a thing.")
    );
    assert_eq!(scenario.steps.len(), 3);
    assert_eq!(scenario.steps[0].description, "sky jobs launch -n job1");
    assert_eq!(
        scenario.steps[0].expect[0].to_string(),
        "job job1 is RUNNING"
    );
    assert_eq!(
        scenario.steps[1].trigger,
        StepTrigger::After(Duration::from_secs(10))
    );
    assert_eq!(
        scenario.steps[1].expect[0].to_string(),
        "Workload default/pod-job1-* with Admitted=True, Preempted=*/InClusterQueue, status.admission.clusterQueue=\"q\" for 5s"
    );
    assert_eq!(scenario.steps[2].description, "apply ConfigMap x-");
}

#[test]
fn invalid_scenarios_are_rejected_with_a_position() {
    for (text, expected) in [
        (
            "steps:\n- lunch: {}\n",
            "scenarios/s.yaml:2:3: unknown field \"lunch\"; did you mean \"launch\"?",
        ),
        (
            "steps:\n- launch: {task: nowhere.yaml}\n",
            "scenarios/s.yaml:2:18: there is no file scenarios/nowhere.yaml in the binary",
        ),
        (
            "steps:\n- launch: {task: ../skypilot/bad.task.yaml}\n",
            "skypilot/bad.task.yaml:1:1: unknown field \"nmae\"",
        ),
        (
            "steps:\n- expect:\n  - {job: job9, status: RUNNING}\n",
            "scenarios/s.yaml:3:11: no step before this one launches \"job9\"",
        ),
        (
            "steps:\n- launch: {task: ../skypilot/t.task.yaml}\n  expect: [{job: t, status: RUNING}]\n",
            "scenarios/s.yaml:3:29: unknown status \"RUNING\"; the statuses are PENDING",
        ),
        (
            "steps:\n- {at: 1s, after: 2s, wait: 1s}\n",
            "scenarios/s.yaml:2:3: a step has one of at, after and when",
        ),
        (
            "steps:\n- {wait: 1s, cancel: x}\n",
            "scenarios/s.yaml:2:22: no step before",
        ),
        (
            "steps:\n- {}\n",
            "scenarios/s.yaml:2:3: the step has no action and no expectation",
        ),
        (
            "steps:\n- {wait: soon}\n",
            "scenarios/s.yaml:2:10: expected a time such as 90s",
        ),
        (
            "steps:\n- expect:\n  - object: {kind: Workloads, name: x}\n",
            "scenarios/s.yaml:3:20: unknown kind \"Workloads\"; did you mean \"Workload\"?",
        ),
        (
            "steps:\n- expect:\n  - {object: {kind: Pod, name: x}, status: RUNNING}\n",
            "scenarios/s.yaml:3:5: status and recoveries are for jobs",
        ),
        (
            "steps:\n- expect:\n  - {object: {kind: Pod}}\n",
            "scenarios/s.yaml:3:14: select objects by",
        ),
        (
            "steps:\n- expect: [{within: 5s}]\n",
            "scenarios/s.yaml:2:12: expect one of job, object, admitted",
        ),
        (
            "steps:\n- apply: {kind: X}\n",
            "scenarios/s.yaml:2:10: an object has",
        ),
        (
            "pace: 0\nsteps: [{wait: 1s}]\n",
            "scenarios/s.yaml:1:7: pace is a number",
        ),
        (
            "pace: 1\nsteps: []\n",
            "scenarios/s.yaml:2:1: a scenario has from 1 to 1000 steps",
        ),
        (
            "steps:\n- expect: [{usage: {clusterQueue: q, resources: {}}}]\n",
            "scenarios/s.yaml:2:20: resources has at least one resource",
        ),
        (
            "steps:\n- expect: [{flavors: {jobs: a, flavors: {}}}]\n",
            "scenarios/s.yaml:2:22: flavors has at least one resource",
        ),
        (
            "steps:\n- jobs: {name: train, queue: q}\n  expect: [{admitted: trian}]\n",
            "scenarios/s.yaml:3:23: there is no job \"trian\" in this step; did you mean \"train\"?",
        ),
        (
            "steps:\n- {wait: 4000d}\n",
            "scenarios/s.yaml:2:10: a time is at most 3650d",
        ),
        (
            "steps:\n- expect: [{waits: {jobs: a, time: \"> 1h, < 4000d\"}}]\n",
            "scenarios/s.yaml:2:36: a time is at most 3650d",
        ),
        (
            "name: x\n",
            "scenarios/s.yaml:1:1: the field \"steps\" is missing",
        ),
    ] {
        let found = load(text).unwrap_err().to_string();
        assert!(
            found.starts_with(expected),
            "{text}\n  {found}\n  {expected}"
        );
    }
}

#[test]
fn steps_about_jobs_and_nodes_have_descriptions() {
    let steps = "steps:\n\
        - finish: [a, b]\n\
        - finish: {jobs: a, pods: all}\n\
        - fail: {jobs: a, pods: 1}\n\
        - deletePods: {node: n1}\n\
        - unready: {jobs: a, pods: 2}\n\
        - deactivate: team-a/*\n\
        - priority: {jobs: a, class: high}\n\
        - taint: {node: n1, key: k, effect: NoExecute}\n\
        - check: {name: c, jobs: a, state: Retry, requeueAfter: 1m}\n\
        - provisioningRequest: {jobs: a, conditions: {Failed: \"True\"}}\n\
        - create: {apiVersion: v1, kind: Node, metadata: {name: n2}}\n  refused: \"*exists*\"\n";
    let scenario = load(steps).unwrap();
    let descriptions: Vec<&str> = scenario
        .steps
        .iter()
        .map(|step| step.description.as_str())
        .collect();
    assert_eq!(
        descriptions,
        [
            "finish the pods of a, b",
            "finish all pods of a",
            "fail one pod of a",
            "delete the pods on node n1",
            "2 pods of a become unready",
            "deactivate team-a/*",
            "a get the priority high",
            "taint node n1",
            "check c of a is Retry",
            "ProvisioningRequest of a: Failed",
            "create Node n2",
        ]
    );
    assert_eq!(scenario.steps[10].refused.as_deref(), Some("*exists*"));
}

#[test]
fn invalid_steps_about_jobs_and_nodes_are_rejected_with_a_remedy() {
    for (step, expected) in [
        (
            "finish: {pods: 1}",
            "2:11: name at least one job, or a node",
        ),
        (
            "finish: {jobs: a, pods: 0}",
            "2:27: pods is a number of pods of each job, at least 1, or all",
        ),
        ("finish: {jobs: a, pods: some}", "2:27: pods is a number"),
        (
            "finish: {node: n1, pods: all}",
            "2:28: pods: all needs the jobs that finish",
        ),
        (
            "deletePods: {jobs: a, pods: all}",
            "2:31: pods is a number of pods of each job, at least 1",
        ),
        (
            "deletePods: {job: a}",
            "2:16: unknown field \"job\"; did you mean \"jobs\"?",
        ),
        ("activate: []", "2:13: name at least one job"),
        (
            "priority: {jobs: a}",
            "2:13: the field \"class\" is missing",
        ),
        (
            "taint: {node: n1, key: k}",
            "2:10: a taint has an effect; the effects are NoSchedule",
        ),
        (
            "taint: {node: n1, key: k, effect: NoExcute}",
            "2:37: unknown effect \"NoExcute\"; did you mean \"NoExecute\"?",
        ),
        (
            "untaint: {node: n1, key: k, value: v}",
            "2:12: a taint is removed by its key and effect",
        ),
        (
            "check: {name: c, jobs: a, state: Reddy}",
            "2:36: unknown state \"Reddy\"; did you mean \"Ready\"?",
        ),
        (
            "check: {name: c, jobs: a, state: Ready, requeueAfter: 1m}",
            "2:57: requeueAfter is the delay of a Retry",
        ),
        (
            "check: {name: c, active: true, message: m}",
            "2:10: a check has either active, or jobs and a state",
        ),
        (
            "provisioningRequest: {jobs: a, conditions: {}}",
            "2:24: conditions has at least one condition",
        ),
        (
            "{wait: 1s, refused: x}",
            "2:23: refused belongs to a step with a request",
        ),
    ] {
        let text = format!("steps:\n- {step}\n");
        let found = load(Box::leak(text.into_boxed_str()))
            .unwrap_err()
            .to_string();
        let expected = format!("scenarios/s.yaml:{expected}");
        assert!(
            found.starts_with(&expected),
            "{step}\n  {found}\n  {expected}"
        );
    }
}

#[test]
fn every_scenario_loads_from_disk_and_from_the_binary() {
    let disk = FileSource::Folder(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../lab"));
    let built_in = FileSource::Shipped(LAB_FILES);
    assert_eq!(disk.scenarios("scenarios"), built_in.scenarios("scenarios"));
    let load = |files: &FileSource| -> BTreeMap<String, String> {
        let paths = files.scenarios("scenarios");
        let read = paths.iter().map(|p| Scenario::load(files, p).unwrap());
        read.map(|s| (s.name, s.summary)).collect()
    };
    let scenarios = load(&built_in);
    assert_eq!(scenarios, load(&disk));
    assert!(scenarios.contains_key("skypilot-priority-preemption"));
    assert!(
        scenarios.values().all(|s| !s.is_empty() && s.len() < 110),
        "{scenarios:?}"
    );
}
