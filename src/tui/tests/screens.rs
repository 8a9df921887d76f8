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
fn shot(name: &str, state: &State, sizes: &[(u16, u16)]) {
    for (columns, rows) in sizes {
        let picture = render_text(state, *columns, *rows);
        insta::assert_snapshot!(format!("{name}-{columns}x{rows}"), picture);
    }
}

const BOTH: &[(u16, u16)] = &[(80, 24), (200, 60)];
const SMALL: &[(u16, u16)] = &[(80, 24)];

#[test]
fn queues() {
    shot(
        "queues",
        &busy(),
        &[(80, 24), (200, 60), (47, 13), (120, 30)],
    );
}

#[test]
fn queues_folded() {
    let mut state = busy();
    press(&mut state, &["down", "space"]);
    shot("queues-folded", &state, SMALL);
}

#[test]
fn workloads() {
    let mut state = busy();
    press(&mut state, &["2"]);
    shot(
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
    shot("workloads-filtered", &state, SMALL);
}

#[test]
fn preemptions() {
    let mut state = busy();
    press(&mut state, &["3"]);
    shot("preemptions", &state, BOTH);
}

#[test]
fn nodes() {
    let mut state = busy();
    press(&mut state, &["4"]);
    shot("nodes", &state, BOTH);
}

#[test]
fn presets() {
    let mut state = busy();
    press(&mut state, &["5", "down"]);
    shot("presets", &state, BOTH);
}

#[test]
fn events() {
    let mut state = busy();
    press(&mut state, &["6"]);
    shot("events", &state, BOTH);
}

#[test]
fn jobs() {
    let mut state = busy();
    press(&mut state, &["7"]);
    shot("jobs", &state, BOTH);
    press(&mut state, &["/", "RUNNING", "enter", "enter"]);
    shot("details-job", &state, SMALL);
}

#[test]
fn details_of_a_waiting_workload() {
    let mut state = busy();
    press(&mut state, &["2", "/", "train-b", "enter", "enter"]);
    shot("details-waiting", &state, &[(80, 24), (120, 60)]);
}

#[test]
fn details_of_a_workload_that_never_fits() {
    let mut state = busy();
    press(&mut state, &["2", "/", "canary", "enter", "enter"]);
    shot("details-never", &state, &[(100, 50)]);
}

#[test]
fn details_of_an_evicted_workload() {
    let mut state = busy();
    press(&mut state, &["2", "/", "sweep", "enter", "enter"]);
    shot("details-evicted", &state, &[(100, 60)]);
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
    shot("loop-queues", &state, BOTH);
    press(&mut state, &["2"]);
    shot("loop-workloads", &state, BOTH);
    press(&mut state, &["/", "sweep", "enter", "enter"]);
    shot("loop-details", &state, SMALL);
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
    shot("loop-details-queue", &state, SMALL);
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
    shot("details-queue", &state, &[(120, 60)]);
}

#[test]
fn details_of_a_running_workload() {
    let mut state = busy();
    press(&mut state, &["2", "/", "train-a", "enter", "enter"]);
    shot("details-running", &state, &[(100, 50)]);
}

#[test]
fn details_of_a_node() {
    let mut state = busy();
    press(&mut state, &["4", "/", "gpu-1", "enter", "enter"]);
    shot("details-node", &state, &[(80, 40)]);
}

#[test]
fn details_of_a_broken_preset() {
    let mut state = busy();
    press(&mut state, &["5", "down", "enter"]);
    shot("details-preset", &state, SMALL);
}

#[test]
fn details_of_an_eviction() {
    let mut state = busy();
    press(&mut state, &["3", "enter"]);
    shot("details-eviction", &state, &[(80, 30)]);
}

#[test]
fn yaml_loading_loaded_and_failed() {
    let mut state = busy();
    press(&mut state, &["2"]);
    let cmds = press(&mut state, &["y"]);
    shot("yaml-awaited", &state, SMALL);
    let Cmd::Operation(operation) = &cmds[0] else {
        panic!("{cmds:?}");
    };
    let page = operation.get::<FetchObject>().unwrap().page.clone();
    let yaml = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata:\n  name: \"a: b\"\nspec:\n  podSets:\n  - name: main\n\u{1b}[31mred\n".to_owned();
    update(&mut state, Msg::PageLoaded(page.clone(), Ok(yaml)));
    shot("yaml", &state, SMALL);
    update(
        &mut state,
        Msg::PageLoaded(page, Err("workloads \"x\" not found".to_owned())),
    );
    shot("yaml-failed", &state, SMALL);
}

#[test]
fn help() {
    let mut state = busy();
    press(&mut state, &["?"]);
    shot("help", &state, &[(80, 24), (100, 140)]);
}

#[test]
fn questions_menus_and_forms() {
    let mut state = busy();
    press(&mut state, &["q"]);
    shot("confirm-quit", &state, SMALL);
    press(&mut state, &["n", "2", "ctrl-d"]);
    shot("confirm-delete", &state, SMALL);
    press(&mut state, &["n", "p"]);
    shot("menu-presets", &state, SMALL);
    press(&mut state, &["esc", "s", "right", "down", "down", "1", "2"]);
    shot("form", &state, &[(80, 24), (40, 10)]);
}

#[test]
fn typing_a_command() {
    let mut state = busy();
    press(&mut state, &[":", "pre"]);
    shot("command", &state, SMALL);
    press(&mut state, &["tab"]);
    shot("command-completed", &state, SMALL);
    press(&mut state, &["esc", ":", "nonsense", "enter"]);
    shot("command-unknown", &state, SMALL);
}

#[test]
fn a_running_demo() {
    let mut state = busy();
    update(&mut state, Msg::ScenarioProgress(Arc::new(scenario())));
    shot("scenario", &state, BOTH);
    press(&mut state, &["2"]);
    shot("scenario-workloads", &state, SMALL);
}

#[test]
fn an_empty_cluster() {
    let mut state = empty();
    shot("empty-queues", &state, SMALL);
    press(&mut state, &["2"]);
    shot("empty-workloads", &state, SMALL);
    press(&mut state, &["5"]);
    shot("empty-presets", &state, SMALL);
}

#[test]
fn a_read_only_window_offers_no_changes() {
    let mut state = empty();
    state.env.read_only = true;
    shot("only-looks-queues", &state, SMALL);
    press(&mut state, &["2"]);
    shot("only-looks-workloads", &state, SMALL);
    let mut state = busy();
    state.env.read_only = true;
    press(&mut state, &["2"]);
    shot("only-looks-busy", &state, &[(160, 30)]);
}

#[test]
fn a_cluster_without_kueue() {
    let mut state = empty();
    for (kind, trouble) in [
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
            Msg::WatchUpdate(WatchUpdate::Status(kind, WatchStatus::Failing(trouble))),
        );
    }
    shot("trouble-queues", &state, SMALL);
    press(&mut state, &["4"]);
    shot("trouble-nodes", &state, SMALL);
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
    shot("error", &state, SMALL);
    press(&mut state, &["m"]);
    shot("messages", &state, SMALL);
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
    shot("pod-group-waits", &state, SMALL);
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
