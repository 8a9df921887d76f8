//! The model on objects recorded from a cluster with upstream Kueue.

use kueue_lab_testing::recordings;
use serde_json::Value;

use super::derived::DerivedData;
use super::import::import_objects;
use super::workload::{WorkloadState, status_reason};
use super::{ClusterData, Row};

/// The data of one recorded state of a reference run.
fn recorded_state(file: &str) -> (ClusterData, DerivedData) {
    let dir = recordings("reference-runs");
    let mut objects: Vec<Value> = Vec::new();
    for path in [format!("{file}.yaml"), format!("{file}.cluster.yaml")] {
        let text = std::fs::read_to_string(dir.join(path)).unwrap();
        for document in serde_yaml::Deserializer::from_str(&text) {
            objects.push(serde::Deserialize::deserialize(document).unwrap());
        }
    }
    let mut data = ClusterData {
        now: "2026-11-20T21:30:00Z".parse().unwrap(),
        ..ClusterData::default()
    };
    for update in import_objects(objects).unwrap() {
        data.apply(update);
    }
    let mut derived = DerivedData::default();
    derived.refresh(&data);
    (data, derived)
}

fn line(data: &ClusterData, derived: &DerivedData, job: &str) -> String {
    let wl = data
        .workloads
        .iter()
        .find(|wl| wl.owners.iter().any(|o| o.name == job))
        .unwrap_or_else(|| panic!("no workload of {job}"));
    let position = derived
        .position(wl.key())
        .map_or(String::new(), |p| format!(" #{}/{}", p.number, p.of));
    format!(
        "{}{position}: {}",
        wl.state().as_str(),
        status_reason(wl, data, derived).line()
    )
}

#[test]
fn a_preemption_reads_as_it_happened() {
    let (data, derived) = recorded_state("job-priority-preemption/3-high-running");
    assert_eq!(
        line(&data, &derived, "job-high"),
        "Admitted: running on default-flavor"
    );
    assert_eq!(
        line(&data, &derived, "job-low"),
        "Pending #1/1: waits: 3 more cpu in default-flavor"
    );
    let eviction = data.evictions.newest_first().next().unwrap();
    assert!(eviction.evicted.key.name.starts_with("job-job-low"));
    let preemptor = eviction.preemptor.as_ref().unwrap();
    assert!(preemptor.key.name.starts_with("job-job-high"));
    assert_eq!(
        (preemptor.priority, eviction.evicted.priority),
        (Some(1000), Some(100))
    );
    assert_eq!(eviction.policy, "withinClusterQueue: LowerPriority");
    assert_eq!(data.evictions.newest_first().count(), 1);
}

#[test]
fn never_is_not_taken_for_not_now() {
    let (data, derived) = recorded_state("cohort-borrow-and-reclaim/3-pending");
    let lines: Vec<String> = data
        .workloads
        .iter()
        .filter(|wl| wl.state() == WorkloadState::Pending)
        .map(|wl| status_reason(wl, &data, &derived).line())
        .collect();
    assert!(
        lines.contains(&"never: 20 cpu > maximum 12 in default-flavor".to_owned()),
        "{lines:?}"
    );
    assert!(lines.iter().any(|l| l.starts_with("waits: ")), "{lines:?}");
}

#[test]
fn every_pending_reason_is_distinguished() {
    let (data, derived) = recorded_state("pending-reasons-and-strict-fifo/2-strictfifo");
    let line = |job| line(&data, &derived, job);
    assert_eq!(
        line("j-nolq"),
        "Pending: never: LocalQueue no-such-lq doesn't exist"
    );
    assert_eq!(
        line("j-nocq"),
        "Pending: never: ClusterQueue does-not-exist doesn't exist"
    );
    assert_eq!(
        line("j-hold"),
        "Pending: held: LocalQueue lq-hold is inactive"
    );
    assert_eq!(
        line("j-badflavor"),
        "Pending #1/1: held: ClusterQueue cq-badflavor is inactive: references missing ResourceFlavor(s): no-such-flavor"
    );
    assert!(line("small").contains("StrictFIFO"), "{}", line("small"));
}
