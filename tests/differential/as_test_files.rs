//! Recordings as test files of `kueue-lab test`: the objects of the setup are the queues, and each recorded
//! step is a step with the recorded admissions as expectations.
//!
//! A scenario is converted up to the first step that test files do not have: one pod of several that
//! finishes, a partially admitted Job whose pods finish one after the other, changes of Workloads by name,
//! operations on pod groups, and requests that upstream rejected.

use std::path::Path;

use kueue_lab_scenario::{TestFile, TestOptions, run_tests};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::recorded_set::RecordedSet;
use super::scenario_lab::NODE_POOLS;
use super::{KNOWN_GAPS, scenario_names};

/// One in this many scenarios of the first set runs.
const SAMPLE: usize = 40;
/// The creations of a step are this far apart.
const BETWEEN_CREATIONS: &str = "1150ms";

#[test]
fn recordings_pass_as_test_files() {
    let [set, _] = RecordedSet::all();
    let gaps = scenario_names(KNOWN_GAPS);
    let names = set.names().into_iter().step_by(SAMPLE);
    let folder = tempfile::tempdir().unwrap();
    let (mut files, mut expectations) = (Vec::new(), 0);
    for name in names.filter(|name| !gaps.contains(name)) {
        let steps = convert(&set, &name, folder.path());
        expectations += steps;
        let path = folder.path().join(&name).join("a.test.yaml");
        files.push(TestFile::load(&path, folder.path()).unwrap_or_else(|e| panic!("{name}: {e}")));
    }
    assert!(files.len() >= 8 && expectations > 40, "{expectations}");
    let options = TestOptions {
        filter: None,
        fail_fast: false,
        threads: None,
        explain: &|_, _, _| Box::pin(async { None }),
        stop: CancellationToken::new(),
    };
    let results = run_tests(&files, &options, |_| ());
    let failed: Vec<_> = results.iter().filter(|r| r.failure.is_some()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Writes a scenario as a test file with its queues, configuration and nodes; returns the number of steps
/// with expectations.
fn convert(set: &RecordedSet, name: &str, folder: &Path) -> usize {
    let (scenario, outcome) = (set.scenario(name), set.outcome(name));
    let folder = folder.join(name);
    std::fs::create_dir_all(folder.join("queues")).unwrap();
    let write = |file: &str, text: &str| std::fs::write(folder.join(file), text).unwrap();
    let objects = scenario["setup"].as_array().unwrap().iter();
    let documents: Vec<String> = objects.map(Value::to_string).collect();
    write("queues/setup.yaml", &documents.join("\n---\n"));
    write("kueue.yaml", &set.configuration(&scenario));
    write("nodes.yaml", &format!("pools:\n{}", NODE_POOLS.as_str()));

    let namespace = scenario["namespace"].as_str().unwrap();
    let recorded = outcome["steps"].as_array().unwrap();
    let ends = ["stableUntil", "truncated", "livelock"];
    let end = ends.iter().filter_map(|end| outcome[end].as_u64()).min();
    let end = end.map_or(recorded.len(), |end| end as usize);
    let mut steps = Vec::new();
    let mut count = 0;
    for (step, record) in scenario["steps"]
        .as_array()
        .unwrap()
        .iter()
        .zip(&recorded[1..end.max(1)])
    {
        let actions = actions(step, record, namespace);
        let Some(actions) = actions.filter(|_| !finishes_in_parts(&scenario, record)) else {
            break;
        };
        steps.extend(actions);
        let expect = expectations(&record["state"], namespace);
        if !expect.is_empty() {
            count += 1;
            steps.push(json!({"expect": expect}));
        }
    }
    let test = json!({
        "queues": "queues", "kueue": "kueue.yaml", "nodes": "nodes.yaml",
        "cases": [{"name": name, "steps": steps}],
    });
    write("a.test.yaml", &format!("{test:#}"));
    count
}

/// Whether a Job that can be admitted with fewer pods finishes.
fn finishes_in_parts(scenario: &Value, record: &Value) -> bool {
    let finished = record["chosen"]
        .as_str()
        .filter(|_| record["op"] == "finish");
    let creations = scenario["steps"].as_array().unwrap().iter();
    let creations = creations.flat_map(|step| {
        let also = step["also"].as_array().into_iter().flatten();
        std::iter::once(step).chain(also)
    });
    let mut created = creations.filter(|creation| creation["key"].as_str() == finished);
    created.any(|creation| {
        let annotations = &creation["objects"][0]["metadata"]["annotations"];
        finished.is_some() && !annotations["kueue.x-k8s.io/job-min-parallelism"].is_null()
    })
}

/// The actions of a recorded step; `None` if test files do not have them.
fn actions(step: &Value, record: &Value, namespace: &str) -> Option<Vec<Value>> {
    if !record["errors"].is_null() {
        return None;
    }
    let op = step["op"].as_str().unwrap();
    if op == "create" {
        let also = step["also"].as_array().into_iter().flatten();
        let creations = std::iter::once(step).chain(also).enumerate();
        let action = |(index, creation): (usize, &Value)| match index {
            0 => json!({"apply": creation["objects"]}),
            _ => json!({"after": BETWEEN_CREATIONS, "apply": creation["objects"]}),
        };
        return Some(creations.map(action).collect());
    }
    if op == "patch" {
        let mut object = json!({"kind": step["kind"], "name": step["name"]});
        if let Some(namespace) = step["namespace"].as_str() {
            object["namespace"] = namespace.into();
        }
        return Some(vec![
            json!({"patch": {"object": object, "merge": step["patch"]}}),
        ]);
    }
    let Some(target) = record["chosen"].as_str() else {
        // No object matched, and nothing was done.
        return Some(Vec::new());
    };
    let name = target.strip_prefix("Job/")?;
    let object = json!({"kind": "Job", "namespace": namespace, "name": name});
    let action = match op {
        "finish" => json!({"finish": format!("{namespace}/{name}")}),
        "delete" => json!({"delete": object}),
        "setPriority" => {
            let labels = json!({"kueue.x-k8s.io/priority-class": step["class"]});
            json!({"patch": {"object": object, "merge": {"metadata": {"labels": labels}}}})
        }
        _ => return None,
    };
    Some(vec![action])
}

/// The recorded admissions, flavors and ends as expectations.
fn expectations(state: &Value, namespace: &str) -> Vec<Value> {
    let is_true = |workload: &Value, condition: &str| workload[condition]["status"] == "True";
    let (mut by_state, mut expect) = (Map::new(), Vec::new());
    for (key, workload) in state["workloads"].as_object().into_iter().flatten() {
        let jobs = match key.split_once('/') {
            Some(("Pod", name)) => format!("{namespace}/pod-{name}-*"),
            Some((_, name)) => format!("{namespace}/{name}"),
            None => continue,
        };
        let state = match () {
            () if is_true(workload, "Finished") => "finished",
            () if is_true(workload, "Admitted") => "admitted",
            () => "pending",
        };
        let of_state = by_state.entry(state).or_insert_with(|| json!([]));
        of_state.as_array_mut().unwrap().push(jobs.clone().into());
        let assignments = workload["assignments"].as_array();
        if let (Some([assignment]), "admitted") = (assignments.map(Vec::as_slice), state) {
            let flavors = &assignment["flavors"];
            expect.push(json!({"flavors": {"jobs": jobs, "flavors": flavors}}));
        }
    }
    expect.extend(
        by_state
            .into_iter()
            .map(|(state, jobs)| json!({state: jobs})),
    );
    expect
}
