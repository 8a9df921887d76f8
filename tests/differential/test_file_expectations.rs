//! Recorded states as expectations of test files.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::test_file_steps::jobs_of;

/// The recorded admissions, flavors, counts, ends and usage as expectations.
pub(crate) fn expectations(state: &Value, namespace: &str) -> Vec<Value> {
    let mut expect = workload_expectations(state, namespace);
    let queues = state["clusterQueues"].as_object().into_iter().flatten();
    for (name, queue) in queues {
        expect.extend(usage_expectations(name, &queue["usage"]));
        if let Some(share) = queue["weightedShare"].as_i64() {
            expect.push(json!({"share": {"clusterQueue": name, "share": share}}));
        }
    }
    expect
}

fn workload_expectations(state: &Value, namespace: &str) -> Vec<Value> {
    let mut expect = Vec::new();
    // The Workloads of each pattern of jobs.
    let mut of_jobs: BTreeMap<String, Vec<(&str, &Value)>> = BTreeMap::new();
    for (key, workload) in state["workloads"].as_object().into_iter().flatten() {
        let jobs = jobs_of(key, namespace);
        of_jobs.entry(jobs).or_default().push((key, workload));
    }
    let mut by_state = Map::new();
    for (jobs, workloads) in of_jobs {
        let [(key, workload)] = workloads.as_slice() else {
            expect.extend(counts(&jobs, &workloads));
            continue;
        };
        let state = state_of(workload);
        let of_state = by_state.entry(state).or_insert_with(|| json!([]));
        of_state.as_array_mut().unwrap().push(jobs.clone().into());
        let assignments = workload["assignments"].as_array();
        if let (Some([assignment]), "admitted") = (assignments.map(Vec::as_slice), state) {
            let flavors = &assignment["flavors"];
            expect.push(json!({"flavors": {"jobs": jobs, "flavors": flavors}}));
            expect.extend(fields(
                key,
                namespace,
                json!({
                    "status.admission.podSetAssignments[0].count": assignment["count"],
                }),
            ));
        }
        if workload["active"] == false {
            expect.extend(fields(key, namespace, json!({"spec.active": false})));
        }
    }
    let by_state = by_state.into_iter();
    expect.extend(by_state.map(|(state, jobs)| json!({state: jobs})));
    expect
}

/// The numbers of Workloads of the same jobs in each state.
fn counts(jobs: &str, workloads: &[(&str, &Value)]) -> Vec<Value> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, workload) in workloads {
        *counts.entry(state_of(workload)).or_default() += 1;
    }
    let counts = counts.into_iter();
    counts
        .map(|(state, count)| json!({state: {"jobs": jobs, "count": count}}))
        .collect()
}

fn state_of(workload: &Value) -> &'static str {
    match () {
        () if is_true(workload, "Finished") => "finished",
        () if is_true(workload, "Admitted") => "admitted",
        () => "pending",
    }
}

fn is_true(workload: &Value, condition: &str) -> bool {
    workload[condition]["status"] == "True"
}

/// Fields of the Workload of a Job or of a group of pods.
fn fields(key: &str, namespace: &str, fields: Value) -> Option<Value> {
    let name = match key.split_once('/')? {
        ("Job", name) if !name.contains('~') => format!("job-{name}-*"),
        ("PodGroup", name) => name.to_owned(),
        _ => return None,
    };
    let object = json!({"kind": "Workload", "namespace": namespace, "name": name});
    Some(json!({"object": object, "fields": fields}))
}

/// The usage of a ClusterQueue, with the borrowed part: `flavor/resource: "5(borrowed 2)"`.
fn usage_expectations(queue: &str, usage: &Value) -> Vec<Value> {
    let mut of_flavors: BTreeMap<&str, [Map<String, Value>; 2]> = BTreeMap::new();
    for (key, amounts) in usage.as_object().into_iter().flatten() {
        let Some((flavor, resource)) = key.split_once('/') else {
            continue;
        };
        let amounts = amounts.as_str().unwrap_or_default();
        let (total, borrowed) = match amounts.split_once("(borrowed ") {
            Some((total, borrowed)) => (total, borrowed.trim_end_matches(')')),
            None => (amounts, "0"),
        };
        let [totals, borrows] = of_flavors.entry(flavor).or_default();
        totals.insert(resource.to_owned(), total.into());
        borrows.insert(resource.to_owned(), borrowed.into());
    }
    let of_flavor = |(flavor, amounts): (&str, [Map<String, Value>; 2])| {
        let expect = ["usage", "borrowed"].into_iter().zip(amounts);
        let expect = expect.map(|(what, amounts)| {
            json!({what: {"clusterQueue": queue, "flavor": flavor, "resources": amounts}})
        });
        expect.collect::<Vec<_>>()
    };
    of_flavors.into_iter().flat_map(of_flavor).collect()
}
