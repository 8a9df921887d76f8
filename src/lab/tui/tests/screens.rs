//! Snapshots of the screens.

use std::sync::Arc;

use serde_json::json;

use super::driver::{press, render_text};
use super::fixture::{busy, busy_with, empty, scenario, state_of};
use crate::actions::FetchObject;
use crate::backend::OperationError;
use crate::glyphs::ASCII;
use crate::model::watch_status::{WatchFailure, WatchStatus};
use crate::model::{Kind, WatchUpdate};
use crate::msg::{Cmd, Msg};
use crate::screen_dump::render;
use crate::state::State;
use crate::theme::Theme;
use crate::update::update;

/// Compares the screen in several sizes with its snapshots.
fn assert_screen(name: &str, state: &State, sizes: &[(u16, u16)]) {
    for (columns, rows) in sizes {
        let picture = render_text(state, *columns, *rows);
        insta::assert_snapshot!(format!("{name}-{columns}x{rows}"), picture);
    }
}

const BOTH: &[(u16, u16)] = &[(80, 24), (200, 60)];
const SMALL: &[(u16, u16)] = &[(80, 24)];

#[test]
fn queues() {
    assert_screen(
        "queues",
        &busy(),
        &[(80, 24), (200, 60), (47, 13), (120, 30)],
    );
}

#[test]
fn queues_folded() {
    let mut state = busy();
    press(&mut state, &["down", "z"]);
    assert_screen("queues-folded", &state, SMALL);
}

#[test]
fn workloads() {
    let mut state = busy();
    press(&mut state, &["2"]);
    assert_screen(
        "workloads",
        &state,
        &[(80, 24), (200, 60), (120, 30), (40, 10)],
    );
}

#[test]
fn workloads_filtered_and_sorted() {
    let mut state = busy();
    press(
        &mut state,
        &["2", "P", "P", "t", "/", "default|web", "enter"],
    );
    assert_screen("workloads-filtered", &state, SMALL);
}

#[test]
fn preemptions() {
    let mut state = busy();
    press(&mut state, &["3"]);
    assert_screen("preemptions", &state, BOTH);
}

#[test]
fn nodes() {
    let mut state = busy();
    press(&mut state, &["4"]);
    assert_screen("nodes", &state, BOTH);
}

#[test]
fn deleted_nodes() {
    let mut state = busy();
    press(&mut state, &["4"]);
    let deleted = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned());
        Msg::DeletedNodes(Arc::new(names.collect()))
    };
    update(&mut state, deleted(&["cpu-3"]));
    assert_screen("nodes-deleted", &state, SMALL);
    // More nodes than lines.
    assert!(render_text(&state, 80, 10).contains("1 deleted: cpu-3"));
    update(&mut state, deleted(&[]));
    assert!(!render_text(&state, 80, 24).contains("deleted: "));
}

#[test]
fn presets() {
    let mut state = busy();
    press(&mut state, &["5", "down"]);
    assert_screen("presets", &state, BOTH);
}

#[test]
fn events() {
    let mut state = busy();
    press(&mut state, &["6"]);
    assert_screen("events", &state, BOTH);
}

#[test]
fn jobs() {
    let mut state = busy();
    press(&mut state, &["7"]);
    assert_screen("jobs", &state, BOTH);
    press(&mut state, &["/", "RUNNING", "enter", "enter"]);
    assert_screen("details-job", &state, SMALL);
}

#[test]
fn details_of_a_waiting_workload() {
    let mut state = busy();
    press(&mut state, &["2", "/", "train-b", "enter", "enter"]);
    assert_screen("details-waiting", &state, &[(80, 24), (120, 60)]);
}

#[test]
fn details_of_a_workload_that_never_fits() {
    let mut state = busy();
    press(&mut state, &["2", "/", "canary", "enter", "enter"]);
    assert_screen("details-never", &state, &[(100, 50)]);
}

#[test]
fn details_of_an_evicted_workload() {
    let mut state = busy();
    press(&mut state, &["2", "/", "sweep", "enter", "enter"]);
    assert_screen("details-evicted", &state, &[(100, 60)]);
}

/// A state in which `sweep` and `serve` preempt each other.
fn preemption_loop() -> State {
    let mut objects = Vec::new();
    for round in 0..8 {
        for (n, (by, name, uid)) in [
            ("uid-wl-serve", "ml/job-sweep-9d1e0", "uid-wl-sweep"),
            ("uid-wl-sweep", "web/job-serve-77aa0", "uid-wl-serve"),
        ]
        .into_iter()
        .enumerate()
        {
            let (namespace, name) = name.split_once('/').unwrap();
            objects.push(json!({
                "apiVersion": "v1", "kind": "Event",
                "metadata": {"namespace": namespace, "name": format!("loop-{round}-{n}")},
                "involvedObject": {"kind": "Workload", "namespace": namespace, "name": name, "uid": uid},
                "reason": "Preempted", "type": "Normal",
                "message": format!("Preempted to accommodate a workload (UID: {by}, JobUID: j) due to reclamation within the cohort; preemptor path: /org/a; preemptee path: /org/b"),
                "eventTime": format!("2026-03-02T12:04:{:02}.{n}00000Z", 10 + round),
            }));
        }
    }
    busy_with(objects)
}

#[test]
fn loops() {
    let mut state = preemption_loop();
    assert_screen("loop-queues", &state, BOTH);
    press(&mut state, &["2"]);
    assert_screen("loop-workloads", &state, BOTH);
    press(&mut state, &["/", "sweep", "enter", "enter"]);
    assert_screen("loop-details", &state, SMALL);
}

#[test]
fn a_cluster_queue_names_its_loops() {
    let mut state = preemption_loop();
    press(
        &mut state,
        &[
            "/", "research", "enter", "down", "down", "down", "down", "enter",
        ],
    );
    assert_screen("loop-details-queue", &state, SMALL);
}

#[test]
fn details_of_a_cluster_queue() {
    let mut state = busy();
    press(
        &mut state,
        &[
            "/", "research", "enter", "down", "down", "down", "down", "enter",
        ],
    );
    assert_screen("details-queue", &state, &[(120, 60)]);
}

#[test]
fn details_of_a_running_workload() {
    let mut state = busy();
    press(&mut state, &["2", "/", "train-a", "enter", "enter"]);
    assert_screen("details-running", &state, &[(100, 50)]);
}

#[test]
fn details_of_a_node() {
    let mut state = busy();
    press(&mut state, &["4", "/", "gpu-1", "enter", "enter"]);
    assert_screen("details-node", &state, &[(80, 40)]);
}

#[test]
fn details_of_an_invalid_preset() {
    let mut state = busy();
    press(&mut state, &["5", "down", "enter"]);
    assert_screen("details-preset", &state, SMALL);
}

#[test]
fn details_of_an_eviction() {
    let mut state = busy();
    press(&mut state, &["3", "enter"]);
    assert_screen("details-eviction", &state, &[(80, 30)]);
}

#[test]
fn yaml_loading_loaded_and_failed() {
    let mut state = busy();
    press(&mut state, &["2"]);
    let cmds = press(&mut state, &["y"]);
    assert_screen("yaml-loading", &state, SMALL);
    let Cmd::Operation(operation) = &cmds[0] else {
        panic!("{cmds:?}");
    };
    let page = operation.get::<FetchObject>().unwrap().page.clone();
    let yaml = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata:\n  name: \"a: b\"\nspec:\n  podSets:\n  - name: main\n\u{1b}[31mred\n".to_owned();
    update(&mut state, Msg::PageLoaded(page.clone(), Ok(yaml)));
    assert_screen("yaml", &state, SMALL);
    update(
        &mut state,
        Msg::PageLoaded(
            page,
            Err(OperationError("workloads \"x\" not found".to_owned())),
        ),
    );
    assert_screen("yaml-failed", &state, SMALL);
}

#[test]
fn help() {
    let mut state = busy();
    press(&mut state, &["?"]);
    assert_screen("help", &state, &[(80, 24), (100, 140)]);
}

#[test]
fn confirmations_menus_and_forms() {
    let mut state = busy();
    press(&mut state, &["q"]);
    assert_screen("confirm-quit", &state, SMALL);
    press(&mut state, &["n", "2", "ctrl-d"]);
    assert_screen("confirm-delete", &state, SMALL);
    press(&mut state, &["n", "p"]);
    assert_screen("menu-presets", &state, SMALL);
    press(&mut state, &["esc", "s", "right", "down", "down", "1", "2"]);
    assert_screen("form", &state, &[(80, 24), (40, 10)]);
}

#[test]
fn typing_a_command() {
    let mut state = busy();
    press(&mut state, &[":", "pre"]);
    assert_screen("command", &state, SMALL);
    press(&mut state, &["tab"]);
    assert_screen("command-completed", &state, SMALL);
    press(&mut state, &["esc", ":", "nonsense", "enter"]);
    assert_screen("command-unknown", &state, SMALL);
}

#[test]
fn a_running_demo() {
    let mut state = busy();
    update(&mut state, Msg::ScenarioProgress(Arc::new(scenario())));
    assert_screen("scenario", &state, BOTH);
    press(&mut state, &["2"]);
    assert_screen("scenario-workloads", &state, SMALL);
}

#[test]
fn an_empty_cluster() {
    let mut state = empty();
    assert_screen("empty-queues", &state, SMALL);
    press(&mut state, &["2"]);
    assert_screen("empty-workloads", &state, SMALL);
    press(&mut state, &["5"]);
    assert_screen("empty-presets", &state, SMALL);
}

#[test]
fn a_read_only_window_has_no_keys_for_changes() {
    let mut state = empty();
    state.env.read_only = true;
    assert_screen("read-only-queues", &state, SMALL);
    press(&mut state, &["2"]);
    assert_screen("read-only-workloads", &state, SMALL);
    let mut state = busy();
    state.env.read_only = true;
    press(&mut state, &["2"]);
    assert_screen("read-only-busy", &state, &[(160, 30)]);
}

#[test]
fn a_cluster_without_kueue() {
    let mut state = empty();
    for (kind, failure) in [
        (Kind::ClusterQueue, WatchFailure::NotInstalled),
        (
            Kind::Node,
            WatchFailure::Forbidden(
                "nodes is forbidden: User \"dev\" cannot list resource \"nodes\"".to_owned(),
            ),
        ),
    ] {
        update(
            &mut state,
            Msg::WatchUpdate(WatchUpdate::Status(kind, WatchStatus::Failing(failure))),
        );
    }
    assert_screen("watch-failure-queues", &state, SMALL);
    press(&mut state, &["4"]);
    assert_screen("watch-failure-nodes", &state, SMALL);
}

#[test]
fn an_error_is_not_replaced_by_a_result() {
    let mut state = busy();
    press(&mut state, &["esc"]);
    let error = OperationError(
        "admission webhook denied the request: spec.queueName: Invalid value: \"x y\"".to_owned(),
    );
    update(&mut state, Msg::OperationFinished(Err(error)));
    update(
        &mut state,
        Msg::OperationFinished(Ok("submitted 2 workloads to ml/research".to_owned())),
    );
    assert_screen("error", &state, SMALL);
    press(&mut state, &["m"]);
    assert_screen("messages", &state, SMALL);
}

#[test]
fn ascii_only() {
    let mut state = busy();
    state.env.glyphs = &ASCII;
    for (name, key) in [("queues", "1"), ("nodes", "4")] {
        press(&mut state, &[key]);
        let picture = render_text(&state, 80, 24);
        assert!(picture.is_ascii());
        insta::assert_snapshot!(format!("ascii-{name}"), picture);
    }
    press(&mut state, &["s"]);
    assert!(render_text(&state, 80, 24).is_ascii());
}

#[test]
fn colours_add_nothing_to_the_text() {
    for keys in [
        ["1", "esc"],
        ["2", "esc"],
        ["3", "esc"],
        ["4", "esc"],
        ["5", "esc"],
        ["6", "enter"],
    ] {
        let mut state = busy();
        press(&mut state, &keys);
        let colourful = render_text(&state, 200, 60);
        state.env.theme = Theme::new(false);
        assert_eq!(render_text(&state, 200, 60), colourful);
        let plain = render(&state, 200, 60);
        let reset = ratatui::style::Color::Reset;
        assert!(plain.content.iter().all(|c| c.fg == reset && c.bg == reset));
    }
}

#[test]
fn an_incomplete_pod_group_has_no_workload() {
    let pod = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "ml", "name": name,
            "labels": {"kueue.x-k8s.io/pod-group-name": "gang", "kueue.x-k8s.io/queue-name": "research"},
            "annotations": {"kueue.x-k8s.io/pod-group-total-count": "4"}},
            "spec": {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}], "containers": []}})
    };
    let mut state = state_of(vec![pod("a"), pod("b"), pod("c")]);
    press(&mut state, &["2"]);
    assert_screen("pod-group-waits", &state, SMALL);
}

#[test]
fn workloads_name_the_worker_clusters_of_multikueue() {
    let workload = |name: &str, status: serde_json::Value| {
        json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
            "metadata": {"namespace": "ml", "name": name}, "status": status,
            "spec": {"queueName": "research", "podSets": [{"name": "main", "count": 1,
                "template": {"spec": {"containers": []}}}]}})
    };
    let mut state = state_of(vec![
        workload("runs", json!({"clusterName": "worker2"})),
        workload(
            "waits",
            json!({"nominatedClusterNames": ["worker1", "worker3"]}),
        ),
    ]);
    press(&mut state, &["2"]);
    let text = render_text(&state, 160, 20);
    let line = |name: &str| {
        let mut lines = text.lines().filter(|line| line.contains(name));
        lines.next().unwrap_or_default().to_owned()
    };
    assert!(line("runs").contains("worker2: "), "{text}");
    assert!(line("waits").contains("worker1 or worker3: "), "{text}");
    press(&mut state, &["/", "worker2", "enter"]);
    let text = render_text(&state, 160, 20);
    assert!(text.contains("runs") && !text.contains("waits"), "{text}");
}
