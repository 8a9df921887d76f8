//! The cost of a frame of the terminal UI: applying a change, refreshing derived state, drawing.
//! The budget of a frame is 16 ms.

use divan::Bencher;
use kueue_lab_tui::input::Key;
use kueue_lab_tui::model::import::import_objects;
use kueue_lab_tui::model::{Delta, WatchUpdate};
use kueue_lab_tui::msg::Msg;
use kueue_lab_tui::screen;
use kueue_lab_tui::state::{Env, State};
use kueue_lab_tui::update::{refresh, update};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::{Value, json};

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    divan::main();
}

const WORKLOAD_COUNTS: [usize; 2] = [1_000, 10_000];

fn workload(n: usize) -> Value {
    let (reason, status) = if n.is_multiple_of(3) {
        ("QuotaReserved", "True")
    } else {
        ("WaitingForQuota", "False")
    };
    let mut object = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
        "metadata": {"namespace": "default", "name": format!("job-train-{n:05}"), "uid": format!("u{n}"),
            "creationTimestamp": "2026-03-02T12:00:00Z",
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": format!("train-{n}"), "uid": format!("j{n}"), "controller": true}]},
        "spec": {"queueName": "lq", "priority": (n % 7) * 100, "podSets": [{"name": "main", "count": 1,
            "template": {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2", "nvidia.com/gpu": "1"}}}]}}}]},
        "status": {"conditions": [
            {"type": "QuotaReserved", "status": status, "reason": reason, "lastTransitionTime": "2026-03-02T12:00:01Z",
                "message": "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor h100, 4 more needed"}]},
    });
    if status == "True" {
        object["status"]["admission"] = json!({"clusterQueue": "cq", "podSetAssignments": [
            {"name": "main", "count": 1, "flavors": {"cpu": "h100"}, "resourceUsage": {"cpu": "2"}}]});
    }
    object
}

fn state_with_workloads(many: usize, columns: u16, rows: u16) -> State {
    let mut objects = vec![
        json!({"kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": {"cohortName": "team", "resourceGroups": [
            {"flavors": [{"name": "h100", "resources": [{"name": "cpu", "nominalQuota": "64"}, {"name": "nvidia.com/gpu", "nominalQuota": "8"}]}]}]}}),
        json!({"kind": "LocalQueue", "metadata": {"namespace": "default", "name": "lq"}, "spec": {"clusterQueue": "cq"}}),
    ];
    for n in 0..many {
        objects.push(workload(n));
        if n.is_multiple_of(3) {
            objects.push(json!({"kind": "Pod", "metadata": {"namespace": "default", "name": format!("p{n}"), "uid": format!("p{n}"),
                "annotations": {"kueue.x-k8s.io/workload": format!("job-train-{n:05}")}},
                "spec": {"nodeName": format!("node-{}", n % 50), "containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]},
                "status": {"phase": "Running"}}));
        }
    }
    for n in 0..50 {
        objects.push(
            json!({"kind": "Node", "metadata": {"name": format!("node-{n}")},
            "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": "8"}}}),
        );
    }
    let mut state = State::new(Env::default());
    for change in import_objects(objects).unwrap_or_default() {
        update(&mut state, Msg::WatchUpdate(change));
    }
    update(&mut state, Msg::Resize(columns, rows));
    state
}

fn frame(state: &mut State, (columns, rows): (u16, u16)) -> Buffer {
    refresh(state);
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
    screen::draw(state, &mut buffer);
    buffer
}

/// A frame after one Workload changed, in each view.
fn frame_after_change(bencher: Bencher<'_, '_>, many: usize, view: &str, size: (u16, u16)) {
    let mut state = state_with_workloads(many, size.0, size.1);
    let key = Key::parse(view);
    key.map(|key| update(&mut state, Msg::Key(key)));
    let changed = import_objects([workload(1)]).unwrap_or_default();
    let row = changed.into_iter().find_map(|change| match change {
        WatchUpdate::Workload(Delta::Replaced(rows)) => rows.into_iter().next(),
        _ => None,
    });
    bencher.bench_local(|| {
        let put = row.clone().map(|row| Delta::Updated(Box::new(row)));
        put.map(|put| update(&mut state, Msg::WatchUpdate(WatchUpdate::Workload(put))));
        frame(&mut state, size)
    });
}

#[divan::bench(args = WORKLOAD_COUNTS)]
fn workloads_80x24(bencher: Bencher<'_, '_>, many: usize) {
    frame_after_change(bencher, many, "2", (80, 24));
}

#[divan::bench(args = WORKLOAD_COUNTS)]
fn workloads_200x60(bencher: Bencher<'_, '_>, many: usize) {
    frame_after_change(bencher, many, "2", (200, 60));
}

#[divan::bench(args = WORKLOAD_COUNTS)]
fn queues_200x60(bencher: Bencher<'_, '_>, many: usize) {
    frame_after_change(bencher, many, "1", (200, 60));
}

#[divan::bench(args = WORKLOAD_COUNTS)]
fn nodes_200x60(bencher: Bencher<'_, '_>, many: usize) {
    frame_after_change(bencher, many, "4", (200, 60));
}

/// A frame where nothing changed but the selection.
#[divan::bench(args = WORKLOAD_COUNTS)]
fn scrolling_200x60(bencher: Bencher<'_, '_>, many: usize) {
    let mut state = state_with_workloads(many, 200, 60);
    for key in ["2", "G"] {
        Key::parse(key).map(|key| update(&mut state, Msg::Key(key)));
    }
    let keys = ["k", "j"].map(Key::parse);
    let mut turn = 0;
    bencher.bench_local(|| {
        turn += 1;
        keys[turn % 2].map(|key| update(&mut state, Msg::Key(key)));
        frame(&mut state, (200, 60))
    });
}

/// Applying a list of Workloads.
#[divan::bench(args = WORKLOAD_COUNTS)]
fn frame_after_list(bencher: Bencher<'_, '_>, many: usize) {
    let objects: Vec<Value> = (0..many).map(workload).collect();
    bencher
        .with_inputs(|| {
            (
                State::new(Env::default()),
                import_objects(objects.clone()).unwrap_or_default(),
            )
        })
        .bench_local_values(|(mut state, changes)| {
            for change in changes {
                update(&mut state, Msg::WatchUpdate(change));
            }
            state
        });
}
