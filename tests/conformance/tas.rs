//! Topology-aware scheduling: tables of the placement search and of assignments.

use std::collections::BTreeMap;

use kueue_lab_api::v1beta2 as api;
use kueue_lab_engine::Gates;
use kueue_lab_engine::resources::{Requests, ResourceName};
use kueue_lab_engine::tas::{FindOptions, TasCache, TasPodSetRequests, truncate};
use kueue_lab_engine::topology_assignment::{TopologyAssignment, TopologyDomainAssignment};
use kueue_lab_engine::workload::TopologyDomainRequests;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::CaseCheck;

/// The suites by file.
pub(crate) const SUITES: &[(&str, CaseCheck)] = &[
    ("cache/TestFindTopologyAssignments", |case| {
        find_topology_assignments(&case.raw())
    }),
    (
        "cache/TestFindTopologyAssignmentsMultiLayerReplacement",
        |case| find_replacement_assignments(&case.raw()),
    ),
    ("cache/TestMergeTopologyAssignments", |case| {
        merge_topology_assignments(&case.raw())
    }),
    ("cache/TestTruncateAssignment", |case| {
        truncate_assignment(&case.raw())
    }),
];

const FLAVOR: &str = "tas";

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    serde_json::from_value(value.clone()).map_err(|e| format!("cannot read {value}: {e}"))
}

/// A list or map that may be absent or null.
fn read_or_default<T: DeserializeOwned + Default>(value: &Value) -> Result<T, String> {
    if value.is_null() {
        return Ok(T::default());
    }
    read(value)
}

fn gates(case: &Value) -> Gates {
    let given = case["gates"].as_object().into_iter().flatten();
    crate::case::gates(given.map(|(name, value)| (name.as_str(), value == true)))
}

fn requests(value: &Value) -> Result<Requests, String> {
    let by_name: BTreeMap<String, i64> = read_or_default(value)?;
    Ok(by_name
        .iter()
        .map(|(name, &amount)| (ResourceName::new(name), amount))
        .collect())
}

fn usage(value: &Value) -> Result<Vec<TopologyDomainRequests>, String> {
    let each = value.as_array().into_iter().flatten();
    each.map(|domain| {
        Ok(TopologyDomainRequests {
            values: read(&domain["values"])?,
            single_pod_requests: requests(&domain["singlePodRequests"])?,
            count: read_or_default(&domain["count"])?,
        })
    })
    .collect()
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct WantedDomain {
    values: Vec<String>,
    count: i32,
}

/// The uncompressed form of an assignment.
fn internal(value: &Value) -> Result<TopologyAssignment, String> {
    let domains: Vec<WantedDomain> = read_or_default(&value["domains"])?;
    Ok(TopologyAssignment {
        levels: read_or_default(&value["levels"])?,
        domains: domains
            .into_iter()
            .map(|d| TopologyDomainAssignment {
                values: d.values,
                count: d.count,
            })
            .collect(),
    })
}

/// A cache with one flavor on the nodes of a case and a second one that uses `priorFlavorUsage`.
fn cache(case: &Value) -> Result<TasCache, String> {
    let config = &case["config"];
    let mut cache = TasCache::new(&gates(case));
    let levels: Vec<String> = read_or_default(&config["levels"])?;
    let levels: Vec<Value> = levels.iter().map(|l| json!({ "nodeLabel": l })).collect();
    let topology = config["topologyName"].as_str().unwrap_or("default");
    cache.upsert_topology(&read(
        &json!({"metadata": {"name": topology}, "spec": {"levels": levels}}),
    )?);
    for name in [FLAVOR, "sibling"] {
        let labels = match &config["flavorNodeLabels"] {
            Value::Null => json!({}),
            labels => labels.clone(),
        };
        cache.upsert_flavor(&read(&json!({
            "metadata": {"name": name},
            "spec": {"topologyName": topology, "nodeLabels": labels},
        }))?);
    }
    for node in case["objects"]["nodes"].as_array().into_iter().flatten() {
        cache.upsert_node(&read(node)?);
    }
    for pod in case["objects"]["pods"].as_array().into_iter().flatten() {
        cache.upsert_pod(&read(pod)?);
    }
    cache.add_usage(FLAVOR, "prior-wl", &usage(&config["priorOwnUsage"])?);
    cache.add_usage("sibling", "prior-wl", &usage(&config["priorFlavorUsage"])?);
    Ok(cache)
}

fn pod_set(config: &Value) -> Result<api::PodSet, String> {
    let mut spec = json!({"containers": []});
    for key in ["tolerations", "nodeSelector"] {
        if !config[key].is_null() {
            spec[key] = config[key].clone();
        }
    }
    if !config["nodeAffinity"].is_null() {
        spec["affinity"] = json!({"nodeAffinity": config["nodeAffinity"]});
    }
    let mut pod_set = json!({"name": config["podSetName"], "template": {"spec": spec}});
    if !config["topologyRequest"].is_null() {
        pod_set["topologyRequest"] = config["topologyRequest"].clone();
    }
    read(&pod_set)
}

fn difference(what: &str, want: &Value, got: &Value) -> Result<(), String> {
    if want == got {
        return Ok(());
    }
    Err(format!("{what}\n    want {want}\n    got  {got}"))
}

fn shown_assignment(assignment: &TopologyAssignment) -> Value {
    serde_json::to_value(assignment).unwrap_or_default()
}

fn find_topology_assignments(case: &Value) -> Result<(), String> {
    let mut cache = cache(case)?;
    let workload: Option<api::Workload> = read_or_default(&case["objects"]["workload"])?;
    let configs = case["config"]["podSets"].as_array().cloned();
    let configs = configs.unwrap_or_default();
    let pod_sets: Vec<api::PodSet> = configs.iter().map(pod_set).collect::<Result<_, _>>()?;
    let previous: Vec<Option<api::TopologyAssignment>> = configs
        .iter()
        .map(|c| read_or_default(&c["previousAssignment"]))
        .collect::<Result<_, _>>()?;
    let mut asked = Vec::new();
    for ((config, pod_set), previous) in configs.iter().zip(&pod_sets).zip(&previous) {
        asked.push(TasPodSetRequests {
            pod_set,
            pod_set_updates: Vec::new(),
            single_pod_requests: requests(&config["requests"])?,
            count: read_or_default(&config["count"])?,
            flavor: FLAVOR.into(),
            implied: pod_set.topology_request.is_none(),
            pod_set_group_name: config["podSetGroupName"].as_str(),
            previous_assignment: previous.as_ref(),
        });
    }
    let snapshots = cache.snapshots();
    let result = snapshots.find_topology_assignments(
        &[(FLAVOR.into(), asked)].into(),
        FindOptions {
            workload: workload.as_ref(),
            simulate_empty: case["config"]["simulateEmpty"] == true,
        },
    );
    let wanted = case["want"]["podSets"].as_object();
    for (name, want) in wanted.into_iter().flatten() {
        let got = result.0.get(name);
        let reason = got.and_then(|g| g.failure.as_ref());
        let reason = reason.map(ToString::to_string).unwrap_or_default();
        difference(
            &format!("failure reason of pod set {name:?}"),
            &json!(want["failureReason"].as_str().unwrap_or_default()),
            &json!(reason),
        )?;
        let assignment = got.and_then(|g| g.topology_assignment.as_ref());
        let want = match &want["topologyAssignment"] {
            Value::Null => Value::Null,
            assignment => shown_assignment(&internal(assignment)?),
        };
        difference(
            &format!("assignment of pod set {name:?}"),
            &want,
            &assignment.map_or(Value::Null, shown_assignment),
        )?;
    }
    let missing = wanted.map_or(0, serde_json::Map::len);
    difference(
        "number of pod sets",
        &json!(missing),
        &json!(result.0.len()),
    )
}

fn find_replacement_assignments(case: &Value) -> Result<(), String> {
    let mut cache = cache(case)?;
    let config = &case["config"];
    let workload: api::Workload = read(&case["objects"]["incoming"])?;
    let pod_set = pod_set(config)?;
    let asked = TasPodSetRequests {
        pod_set: &pod_set,
        pod_set_updates: Vec::new(),
        single_pod_requests: requests(&config["singlePodRequests"])?,
        count: read_or_default(&config["count"])?,
        flavor: FLAVOR.into(),
        implied: false,
        pod_set_group_name: None,
        previous_assignment: None,
    };
    let result = cache.snapshots().find_topology_assignments(
        &[(FLAVOR.into(), vec![asked])].into(),
        FindOptions {
            workload: Some(&workload),
            ..Default::default()
        },
    );
    let got = result
        .0
        .get(&pod_set.name)
        .ok_or("the pod set has no result")?;
    let reason = got.failure.as_ref().map(ToString::to_string);
    difference(
        "failure reason",
        &json!(case["want"]["reason"].as_str().unwrap_or_default()),
        &json!(reason.unwrap_or_default()),
    )?;
    let want = match &case["want"]["assignment"] {
        Value::Null => Value::Null,
        assignment => shown_assignment(&internal(assignment)?),
    };
    let got = got
        .topology_assignment
        .as_ref()
        .map_or(Value::Null, shown_assignment);
    difference("assignment", &want, &got)
}

fn merge_topology_assignments(case: &Value) -> Result<(), String> {
    let mut case = case.clone();
    // The nodes of this suite have no Ready condition.
    for node in case["objects"]["nodes"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        node["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
    }
    let mut cache = cache(&case)?;
    let snapshot = cache.snapshots().get(FLAVOR).ok_or("no topology")?;
    let merged = snapshot.merge_assignments(
        &internal(&case["config"]["a"])?,
        &internal(&case["config"]["b"])?,
    );
    let want = internal(&case["want"]["value"])?;
    difference(
        "merged",
        &shown_assignment(&want),
        &shown_assignment(&merged),
    )
}

fn truncate_assignment(case: &Value) -> Result<(), String> {
    let config = &case["config"];
    let count = read_or_default(&config["newCount"])?;
    let got = truncate(&internal(&config["assignment"])?, count);
    let want = internal(&case["want"]["value"])?;
    difference(
        "cut down",
        &shown_assignment(&want),
        &shown_assignment(&got),
    )
}
