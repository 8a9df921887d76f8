//! Keys and commands.

use std::sync::Arc;

use jiff::SignedDuration;
use kueue_lab_recording::{Direction, LandmarkKind};
use serde_json::json;

use super::driver::{press, render_text};
use super::fixture::{busy, busy_with, empty, presets, scenario};
use crate::actions::{
    CancelManagedJob, DeleteObjects, ExplainWorkload, FetchObject, SetPaused, StartDemo, SubmitJob,
    SwitchPreset,
};
use crate::backend::{Demo, DemoPace, DemoStart, OtherWorkloads, PresetState, ScenarioOutcome};
use crate::model::cohort_tree::QuotaNode;
use crate::model::{ManagedJobRef, ObjectKey, ObjectRef};
use crate::msg::{Cmd, Msg};
use crate::operation::Operation;
use crate::state::{
    Dialog, GoInTime, PageContent, PageKind, Past, RowId, SampleJob, State, ViewId,
};
use crate::update::LoadCandidates;
use crate::update::update;
use crate::views::{self, QueueRow, QueuesView, WorkloadsView};

#[test]
fn quitting_needs_confirmation_only_if_it_stops_the_lab() {
    let mut state = busy();
    assert_eq!(press(&mut state, &["q"]), []);
    assert_eq!(press(&mut state, &["n", "q", "y"]), [Cmd::Quit]);
    assert_eq!(press(&mut state, &["ctrl-c", "ctrl-c"]), [Cmd::Quit]);
    state.env.stops_lab = false;
    assert_eq!(press(&mut state, &["q"]), [Cmd::Quit]);
}

#[test]
fn deleting_a_workload_deletes_its_owners() {
    let mut state = busy();
    let cmds = press(&mut state, &["2", "/", "train-a", "enter", "ctrl-d", "y"]);
    let job = ObjectRef {
        api_version: "batch/v1".to_owned(),
        kind: "Job".to_owned(),
        key: ObjectKey::new("ml", "train-a"),
    };
    assert_eq!(cmds, [Cmd::operation(DeleteObjects(vec![job]))]);
}

#[test]
fn enter_does_not_confirm_a_deletion() {
    let mut state = busy();
    state.env.cluster = "prod".to_owned();
    let keys = ["2", "/", "train-a", "enter", "ctrl-d", "enter"];
    assert_eq!(press(&mut state, &keys), []);
    let screen = render_text(&state, 80, 24);
    assert!(screen.contains("Cluster: prod"), "{screen}");
    assert!(!screen.contains("enter"), "{screen}");
    assert_eq!(press(&mut state, &["y"]).len(), 1);
}

/// A lab with the head Pod of a cluster of SkyPilot and its Workload.
fn with_head_pod(pod: &str, cluster: &str) -> State {
    busy_with(vec![
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {
            "namespace": "default", "name": pod, "uid": "head",
            "labels": {"skypilot-cluster-name": cluster}}}),
        json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {
            "namespace": "default", "name": format!("of-{pod}"), "uid": "head-workload",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": pod,
                "uid": "head", "controller": true}]},
            "spec": {"queueName": "lq", "podSets": []}}),
    ])
}

#[test]
fn deleting_a_workload_of_skypilot_cancels_its_managed_job() {
    let mut state = with_head_pod("job1-1-head", "job1-1-5c1e");
    let keys = ["2", "/", "job1-1-head", "enter", "ctrl-d"];
    press(&mut state, &keys);
    let screen = render_text(&state, 80, 24);
    assert!(screen.contains("job of SkyPilot is cancelled"), "{screen}");
    let CancelManagedJob(job) = operation(&press(&mut state, &["y"]));
    let ManagedJobRef::OfCluster(cluster) = job else {
        panic!("{job:?} is no job of a cluster")
    };
    assert_eq!(cluster.name, "job1-1-5c1e");
    assert_eq!(cluster.pods[0].key.name, "job1-1-head");
}

#[test]
fn deleting_a_managed_job_cancels_it() {
    let mut state = busy();
    press(&mut state, &["7", "/", "RECOVERING", "enter", "ctrl-d"]);
    let screen = render_text(&state, 80, 24);
    assert!(screen.contains("Cancel managed job 2 (train)?"), "{screen}");
    let CancelManagedJob(job) = operation(&press(&mut state, &["y"]));
    let expected = ManagedJobRef::Object {
        name: "job-b".to_owned(),
        title: "managed job 2 (train)".to_owned(),
    };
    assert_eq!(job, expected);
    // A job that has ended cannot be cancelled.
    press(&mut state, &["esc", "/", "SUCCEEDED", "enter", "ctrl-d"]);
    assert!(state.ui.dialog.is_none());
}

#[test]
fn the_workloads_of_a_managed_job_are_those_of_its_pods() {
    let mut state = with_head_pod("eval-3-head", "eval-3-9c1d");
    press(&mut state, &["7", "/", "RUNNING", "enter", "w"]);
    assert_eq!(state.ui.view, ViewId::Workloads);
    let names: Vec<_> = state
        .ui
        .list()
        .rows
        .iter()
        .map(|row| views::of_row(row).row_name(&state, row))
        .collect();
    assert_eq!(names, [Some("of-eval-3-head".to_owned())]);
}

#[test]
fn the_footer_has_the_keys_of_the_row() {
    let mut state = busy();
    let footer = |state: &State| {
        let screen = render_text(state, 200, 40);
        screen.lines().last().unwrap_or_default().to_owned()
    };
    press(&mut state, &["5"]);
    let of_preset = footer(&state);
    assert!(of_preset.contains("a apply"), "{of_preset}");
    for missing in ["describe", "yaml", "delete", "sample"] {
        assert!(!of_preset.contains(missing), "{of_preset}");
    }
    press(&mut state, &["4"]);
    let of_node = footer(&state);
    assert!(of_node.contains("describe"), "{of_node}");
    press(&mut state, &["enter"]);
    let of_page = footer(&state);
    assert!(
        of_page.contains("yaml") && !of_page.contains("explain"),
        "{of_page}"
    );
    press(&mut state, &["y"]);
    assert!(!footer(&state).contains("yaml"));
}

#[test]
fn keys_of_a_view_work_on_its_pages() {
    let mut state = busy();
    let cmds = press(&mut state, &["5", "enter", "a"]);
    let switched: SwitchPreset = operation(&cmds);
    assert_eq!(switched, SwitchPreset("skypilot-priority".to_owned()));
    press(&mut state, &["S"]);
    assert!(state.ui.dialog.is_none());
    let note = state.ui.notifications.newest_first().next().unwrap();
    assert!(
        note.text.contains("skypilot-priority is not active"),
        "{}",
        note.text
    );
    press(&mut state, &["esc", "esc", "G", "enter", "S"]);
    assert!(state.ui.dialog.is_some());
    press(&mut state, &["esc", "esc", "1", "enter", "w"]);
    assert_eq!(state.ui.view, ViewId::Workloads);
    assert!(state.ui.page.is_none());
}

#[test]
fn space_pauses_and_resumes_lab_time() {
    let mut state = busy();
    assert_eq!(press(&mut state, &["space"]), [], "the speed is fixed");
    state.env.can_set_speed = true;
    let pause = Cmd::operation(SetPaused(true));
    assert_eq!(press(&mut state, &["space"]), std::slice::from_ref(&pause));
    assert_eq!(
        press(&mut state, &[":", "pause", "enter"]),
        std::slice::from_ref(&pause)
    );
    assert_eq!(press(&mut state, &[":", "speed 0", "enter"]), [pause]);
    state.env.is_paused = true;
    assert!(render_text(&state, 80, 24).contains(" paused "));
    assert_eq!(
        press(&mut state, &["space"]),
        [Cmd::operation(SetPaused(false))]
    );
}

#[test]
fn impossible_commands_are_not_completed() {
    let mut state = busy();
    press(&mut state, &[":", "sp", "tab"]);
    assert_eq!(state.ui.prompt.as_ref().unwrap().text(), "sp");
    state.env.can_set_speed = true;
    press(&mut state, &["esc", ":", "sp", "tab"]);
    assert_eq!(state.ui.prompt.as_ref().unwrap().text(), "speed");
}

#[test]
fn evictions_are_sorted_by_name() {
    let mut state = busy();
    press(&mut state, &["3", "N"]);
    let names = |state: &State| {
        let view = views::by_id(ViewId::Evictions);
        let rows = state.ui.list().rows.iter();
        let names = rows.filter_map(|row| view.row_name(state, row));
        names.collect::<Vec<_>>()
    };
    let sorted = names(&state);
    assert!(sorted.len() > 1 && sorted.is_sorted(), "{sorted:?}");
    press(&mut state, &["N"]);
    assert!(names(&state).iter().rev().is_sorted());
}

#[test]
fn a_similar_command_is_suggested_and_the_hint_expires() {
    let mut state = busy();
    for (typed, known) in [
        ("qeues", "queues"),
        ("peset", "preset"),
        ("worklods", "workloads"),
    ] {
        press(&mut state, &[":", typed, "enter"]);
        let note = state.ui.notifications.newest_first().next().unwrap();
        assert!(
            note.text.contains(&format!("did you mean :{known}?")),
            "{}",
            note.text
        );
    }
    press(&mut state, &[":", "xyzzy", "enter"]);
    let note = state.ui.notifications.newest_first().next().unwrap();
    assert!(!note.text.contains("did you mean"), "{}", note.text);
    state.data.now = state
        .data
        .now
        .checked_add(SignedDuration::from_secs(5))
        .unwrap();
    press(&mut state, &["2"]);
    let note = state.ui.notifications.newest_first().next().unwrap();
    assert!(note.text.contains("xyzzy") && note.dismissed);
}

#[test]
fn the_heading_of_a_sorted_column_is_not_cut() {
    let mut state = busy();
    for key in ["P", "O", "A"] {
        press(&mut state, &["2", key]);
        for (columns, rows) in [(80, 24), (160, 50)] {
            let screen = render_text(&state, columns, rows);
            let heading = screen.lines().nth(2).unwrap_or_default();
            assert!(!heading.contains('…'), "{heading}");
        }
    }
}

#[test]
fn read_only_changes_nothing() {
    let mut state = busy();
    state.env.read_only = true;
    let cmds = press(
        &mut state,
        &[
            "2",
            "ctrl-d",
            "s",
            "p",
            "D",
            "5",
            "a",
            ":",
            "preset team-cohort",
            "enter",
        ],
    );
    assert_eq!(cmds, []);
    assert!(state.ui.dialog.is_none());
    let refusals = state.ui.notifications.newest_first();
    let refusals = refusals.filter(|n| n.text.contains("read-only")).count();
    assert_eq!(refusals, 6);
}

#[test]
fn one_key_runs_the_demo_of_the_active_preset() {
    let mut state = busy();
    let start = |name: &str| DemoStart {
        name: name.to_owned(),
        pace: DemoPace::Pauses,
        other_workloads: OtherWorkloads::Refuse,
    };
    let demo = start("cohort-borrow-and-reclaim");
    assert_eq!(
        press(&mut state, &["D"]),
        [Cmd::operation(StartDemo(demo.clone()))]
    );
    // Workloads in its way are deleted after a question.
    let others = vec!["default/low".to_owned()];
    assert_eq!(
        update(&mut state, Msg::OtherWorkloads(demo.clone(), others)),
        []
    );
    let alone = DemoStart {
        other_workloads: OtherWorkloads::Delete,
        ..demo
    };
    assert_eq!(
        press(&mut state, &["y"]),
        [Cmd::operation(StartDemo(alone))]
    );
    // With a pace it has no pauses.
    let paced = DemoStart {
        pace: DemoPace::Speed(5.0),
        ..start("cohort-borrow-and-reclaim")
    };
    assert_eq!(
        press(
            &mut state,
            &[":", "demo cohort-borrow-and-reclaim 5", "enter"]
        ),
        [Cmd::operation(StartDemo(paced))]
    );
    // A demo of another preset switches to it after a confirmation.
    assert_eq!(press(&mut state, &[":", "demo sky", "tab", "enter"]), []);
    assert!(state.ui.dialog.is_some());
    assert_eq!(press(&mut state, &["n"]), []);
    press(&mut state, &[":", "demo sky", "tab", "enter"]);
    let other = start("skypilot-priority-preemption");
    assert_eq!(
        press(&mut state, &["y"]),
        [Cmd::operation(StartDemo(other))]
    );
    // The menu starts with the demos of the active preset.
    state.env.demos.push(Demo {
        name: "another".to_owned(),
        preset: Some("team-cohort".to_owned()),
        ..Demo::default()
    });
    assert_eq!(press(&mut state, &["D"]), []);
    let Some(Dialog::Menu(menu)) = &state.ui.dialog else {
        panic!("no menu");
    };
    let names: Vec<_> = menu.items.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "cohort-borrow-and-reclaim",
            "another",
            "skypilot-priority-preemption"
        ]
    );
}

#[test]
fn unavailable_actions_show_their_reason() {
    let mut state = empty();
    state.env.demos.clear();
    state.env.can_explain = false;
    for key in ["D", "p", "s"] {
        assert_eq!(press(&mut state, &[key]), []);
        assert!(state.ui.notifications.current().is_some(), "{key}");
        press(&mut state, &["esc", "esc"]);
    }
}

#[test]
fn the_form_has_the_resources_of_the_queue() {
    let mut state = busy();
    let cmds = press(
        &mut state,
        &[
            "/", "research", "enter", "G", "s", "down", "right", "down", "3", "down", "2", "down",
            "1", "enter",
        ],
    );
    let sample = SampleJob {
        queue: ObjectKey::new("ml", "research"),
        pods: 3,
        requests: vec![
            ("cpu".to_owned(), "2".to_owned()),
            ("nvidia.com/gpu".to_owned(), "1".to_owned()),
        ],
        priority_class: Some("low".to_owned()),
        seconds: 60,
        copies: 1,
    };
    assert_eq!(cmds, [Cmd::operation(SubmitJob(sample))]);
}

#[test]
fn pages_open_over_views_and_close_back() {
    let mut state = busy();
    press(&mut state, &["2", "enter"]);
    let page = state.ui.page.clone().unwrap();
    assert_eq!(page.kind, PageKind::Details);
    let key = workload(page.row.as_ref()).unwrap();
    let cmds = press(&mut state, &["y"]);
    let fetch = operation::<FetchObject>(&cmds);
    assert_eq!(fetch.object.key, key);
    press(&mut state, &["esc"]);
    let page = state.ui.page.clone().unwrap();
    assert_eq!(page.kind, PageKind::Details);
    press(&mut state, &["esc"]);
    assert!(state.ui.page.is_none());
    assert_eq!(state.ui.view, ViewId::Workloads);
}

#[test]
fn keys_on_a_page_act_on_its_row() {
    let mut state = busy();
    press(&mut state, &["2", "/", "train-a", "enter", "y"]);
    let row = state.current_row().cloned();
    let key = workload(row.as_ref()).unwrap();
    let explained: ExplainWorkload = operation(&press(&mut state, &["x"]));
    assert_eq!(explained.0, key);
    let described: FetchObject = operation(&press(&mut state, &["d"]));
    assert_eq!(described.object.key, key);
    let deleted: DeleteObjects = operation(&press(&mut state, &["ctrl-d", "y"]));
    assert_eq!(deleted.0[0].key.name, "train-a");
}

#[test]
fn the_prompt_is_edited_at_its_cursor() {
    let mut state = busy();
    press(&mut state, &["2", "/", "tain", "home", "right", "r"]);
    let prompt = state.ui.prompt.clone().unwrap();
    assert_eq!((prompt.text(), prompt.cursor()), ("train", 2));
    assert_eq!(state.ui.list().rows.len(), 2);
    press(&mut state, &["end", "s", "left", "del", "ctrl-a", "ctrl-k"]);
    let prompt = state.ui.prompt.clone().unwrap();
    assert_eq!((prompt.text(), prompt.cursor()), ("", 0));
}

#[test]
fn history_goes_back_and_forward() {
    let mut state = busy();
    press(&mut state, &["2", "4", "6", "[", "["]);
    assert_eq!(state.ui.view, ViewId::Workloads);
    press(&mut state, &["]"]);
    assert_eq!(state.ui.view, ViewId::Nodes);
    press(&mut state, &["backspace"]);
    assert_eq!(state.ui.view, ViewId::Workloads);
    press(&mut state, &["shift-tab"]);
    assert_eq!(state.ui.view, ViewId::Queues);
}

#[test]
fn escape_clears_the_message_then_the_filter() {
    let mut state = busy();
    press(
        &mut state,
        &["esc", "esc", "esc", "2", "/", "train", "enter"],
    );
    assert_eq!(state.ui.list().rows.len(), 2);
    press(&mut state, &["c"]);
    assert!(state.ui.notifications.current().is_some());
    press(&mut state, &["esc"]);
    assert!(state.ui.notifications.current().is_none());
    assert_eq!(state.ui.list().rows.len(), 2);
    press(&mut state, &["esc"]);
    assert_eq!(state.ui.list().rows.len(), 12);
}

#[test]
fn a_cancelled_filter_is_restored() {
    let mut state = busy();
    press(&mut state, &["2", "/", "train", "enter", "/", "xyz"]);
    assert!(state.ui.list().rows.is_empty());
    press(&mut state, &["esc"]);
    assert_eq!(state.ui.list().rows.len(), 2);
}

#[test]
fn a_namespace_narrows_every_view() {
    let mut state = busy();
    press(&mut state, &[":", "ns ml", "enter", "2"]);
    let only_ml = |state: &crate::state::State| {
        state.ui.list().rows.iter().all(|row| {
            let key = workload(Some(row)).or_else(|| match row.get::<QueueRow>()? {
                QueueRow::LocalQueue(key) => Some(key.clone()),
                _ => None,
            });
            key.is_none_or(|key| key.namespace == "ml")
        })
    };
    assert!(only_ml(&state) && !state.ui.list().rows.is_empty());
    press(&mut state, &["1"]);
    assert!(only_ml(&state) && !state.ui.list().rows.is_empty());
    press(&mut state, &["0", "2"]);
    assert_eq!(state.ui.list().rows.len(), 12);
}

#[test]
fn a_paste_goes_to_the_prompt_only() {
    let mut state = busy();
    assert_eq!(update(&mut state, Msg::Paste("qy\n".to_owned())), []);
    assert!(state.ui.dialog.is_none());
    press(&mut state, &[":"]);
    update(&mut state, Msg::Paste("ns ml\nq".to_owned()));
    assert_eq!(state.ui.prompt.as_ref().unwrap().text(), "ns mlq");
}

#[test]
fn the_mouse_selects_and_opens() {
    let mut state = busy();
    update(&mut state, Msg::Click(13, 1));
    assert_eq!(state.ui.view, ViewId::Workloads);
    update(&mut state, Msg::Click(10, 5));
    assert_eq!(state.ui.list().selected_index, 2);
    update(&mut state, Msg::Click(10, 5));
    assert!(state.ui.page.is_some());
    update(&mut state, Msg::Scroll(1));
    assert_eq!(state.ui.page.as_ref().unwrap().offset, 3);
}

#[test]
fn explaining_runs_the_explainer() {
    let mut state = busy();
    let cmds = press(&mut state, &["2", "x"]);
    let ExplainWorkload(key) = operation(&cmds);
    let page = PageKind::Explain(key);
    let text = Ok("because\nof this".to_owned());
    update(&mut state, Msg::PageLoaded(page, text));
    assert_eq!(state.ui.page.as_ref().unwrap().content.line_count(), 2);
}

#[test]
fn the_details_of_a_pending_workload_have_its_preemption_candidates() {
    let mut state = busy();
    let cmds = press(&mut state, &["2", "enter"]);
    let LoadCandidates(key) = operation(&cmds);
    let candidates = "2 candidates: team-a/x, team-a/y: preempted";
    let loaded = |of: &ObjectKey| Msg::CandidatesLoaded(of.clone(), Some(candidates.to_owned()));
    // The answer for a page that was left.
    update(&mut state, loaded(&ObjectKey::new("other", "workload")));
    let page = |state: &State| match &state.ui.page.as_ref().unwrap().content {
        PageContent::Live(lines) => {
            let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
            lines.join("\n")
        }
        other => panic!("{other:?}"),
    };
    assert!(!page(&state).contains(candidates));
    update(&mut state, loaded(&key));
    assert!(page(&state).contains(candidates), "{}", page(&state));
    // They are those of its conditions, which did not change.
    let now = state.data.now;
    assert_eq!(update(&mut state, Msg::Tick(now)), []);
}

/// The Workload of a row of the view of workloads.
fn workload(row: Option<&RowId>) -> Option<ObjectKey> {
    row?.get::<ObjectKey>().cloned()
}

/// The only command, which has to be an operation of this type.
fn operation<O: Operation>(cmds: &[Cmd]) -> O {
    match cmds {
        [Cmd::Operation(operation)] => operation.get::<O>().unwrap().clone(),
        other => panic!("{other:?}"),
    }
}

fn selected(state: &crate::state::State) -> Option<&RowId> {
    state.ui.list().selected()
}

#[test]
fn from_a_queue_to_its_workloads_and_back() {
    let mut state = busy();
    press(&mut state, &["/", "product", "enter", "G", "w"]);
    assert_eq!(state.ui.view, ViewId::Workloads);
    let rows = &state.ui.list().rows;
    let of_web = |id: &RowId| workload(Some(id)).is_some_and(|key| key.namespace == "web");
    assert!(!rows.is_empty() && rows.iter().all(of_web), "{rows:?}");
    press(&mut state, &["u"]);
    let product = QuotaNode::ClusterQueue("product".to_owned());
    let product = QueuesView::row_id(QueueRow::Node(product));
    assert_eq!(selected(&state), Some(&product));
}

#[test]
fn from_a_cohort_to_the_workloads_of_its_queues() {
    let mut state = busy();
    press(&mut state, &["g", "w"]);
    let rows = &state.ui.list().rows;
    let in_cohort = |id: &RowId| workload(Some(id)).is_some_and(|key| key.namespace != "default");
    assert!(rows.len() > 4 && rows.iter().all(in_cohort), "{rows:?}");
}

#[test]
fn from_evictions_and_events_to_their_workload() {
    let sweep = WorkloadsView::row_id(ObjectKey::new("ml", "job-sweep-9d1e0"));
    let mut state = busy();
    press(&mut state, &["3", "g", "w"]);
    assert_eq!(selected(&state), Some(&sweep));
    let mut state = busy();
    press(
        &mut state,
        &["6", "/", "^job serve|Started", "enter", "g", "w"],
    );
    let serve = WorkloadsView::row_id(ObjectKey::new("web", "job-serve-77aa0"));
    assert_eq!(selected(&state), Some(&serve));
    let mut state = busy();
    press(&mut state, &["6", "/", "old-4d4d4", "enter", "w"]);
    assert_eq!(state.ui.view, ViewId::Events);
    assert!(state.ui.notifications.current().is_some());
}

#[test]
fn only_a_finished_demo_can_be_closed() {
    let mut state = busy();
    let mut progress = scenario();
    update(
        &mut state,
        Msg::ScenarioProgress(Arc::new(progress.clone())),
    );
    press(&mut state, &["esc", "esc", "esc", "esc"]);
    assert!(state.visible_scenario().is_some());
    progress.outcome = Some(ScenarioOutcome::Passed("as expected".to_owned()));
    update(
        &mut state,
        Msg::ScenarioProgress(Arc::new(progress.clone())),
    );
    press(&mut state, &["esc", "esc"]);
    assert!(state.visible_scenario().is_none());
    progress.outcome = None;
    update(&mut state, Msg::ScenarioProgress(Arc::new(progress)));
    assert!(state.visible_scenario().is_some());
}

#[test]
fn a_fixed_preset_resolves_its_error() {
    let mut state = busy();
    let error = "preset spot-and-on-demand: queues.yaml:17:11";
    let shown = state
        .ui
        .notifications
        .current()
        .map(|(n, _)| n.text.clone());
    assert!(shown.is_some_and(|text| text.starts_with(error)));
    let mut list = presets();
    list.presets[1].state = PresetState::Active;
    list.presets[1].revision += 1;
    list.presets[1].summary = "1 changed".to_owned();
    update(&mut state, Msg::Presets(Arc::new(list)));
    let shown = state.ui.notifications.current();
    assert_eq!(
        shown.map(|(n, more)| (n.text.as_str(), more)),
        Some(("preset spot-and-on-demand: 1 changed", 0))
    );
}

#[test]
fn a_page_is_searched() {
    let mut state = busy();
    press(&mut state, &["?"]);
    let lines = state.ui.page.as_ref().unwrap().content.line_count();
    state.ui.page.as_mut().unwrap().height = 10;
    // Nothing of the typed text is a key: `s` and `D` would submit Jobs and run the demo.
    assert_eq!(press(&mut state, &["/", "sample", "D", "backspace"]), []);
    let page = state.ui.page.as_ref().unwrap();
    let matches: Vec<usize> = page.matching_lines().collect();
    assert!(matches.len() > 1 && matches.len() < lines, "{matches:?}");
    press(&mut state, &["enter"]);
    let line = |state: &State| state.ui.page.as_ref().unwrap().search.as_ref()?.line;
    let mut visited = vec![line(&state)];
    for _ in 0..matches.len() {
        press(&mut state, &["n"]);
        visited.push(line(&state));
        let page = state.ui.page.as_ref().unwrap();
        let window = page.offset..page.offset + page.height;
        assert!(line(&state).is_some_and(|line| window.contains(&line)));
    }
    let around = matches.iter().chain(&matches[..1]);
    assert_eq!(visited, around.copied().map(Some).collect::<Vec<_>>());
    press(&mut state, &["N"]);
    assert_eq!(line(&state), matches.last().copied());
    // The first escape ends the search, the second one closes the page.
    press(&mut state, &["esc"]);
    assert!(state.ui.page.as_ref().unwrap().search.is_none());
    press(&mut state, &["esc"]);
    assert!(state.ui.page.is_none());
}

#[test]
fn a_cancelled_search_restores_the_one_before() {
    let mut state = busy();
    press(&mut state, &["?", "/", "quit", "enter", "/", "x", "esc"]);
    let page = state.ui.page.as_ref().unwrap();
    assert_eq!(page.search.as_ref().map(|s| s.text.as_str()), Some("quit"));
    press(&mut state, &["/", "ctrl-u", "enter"]);
    assert!(state.ui.page.as_ref().unwrap().search.is_none());
}

/// The page of all messages.
fn messages(state: &State) -> String {
    let mut state = state.clone();
    press(&mut state, &["m"]);
    render_text(&state, 160, 40)
}

/// The fixture at a moment of the past.
fn in_the_past(can_leave: bool) -> State {
    let mut state = busy();
    let now = state.data.now;
    let past = Past {
        begin: now - SignedDuration::from_secs(600),
        end: now,
        is_playing: false,
        speed: 1.0,
        can_leave,
    };
    update(&mut state, Msg::Moment(now, Some(past)));
    state
}

#[test]
fn a_lab_with_a_history_goes_back() {
    let mut state = busy();
    assert_eq!(press(&mut state, &["<"]), []);
    assert!(messages(&state).contains("nothing is recorded here"));
    state.env.can_go_back = true;
    let back = Cmd::GoInTime(GoInTime::Seconds(-10));
    assert_eq!(press(&mut state, &["<"]), [back]);
    // These keys mean something else in the present.
    assert_eq!(press(&mut state, &["}"]), []);
}

#[test]
fn keys_move_and_play_the_past() {
    let mut state = in_the_past(true);
    let cmds = press(&mut state, &["space", ",", ".", ">", "}", "+"]);
    let preempted: &[_] = &[LandmarkKind::Preempted];
    let expected = [
        GoInTime::TogglePlaying,
        GoInTime::Change(Direction::Back),
        GoInTime::Change(Direction::Forward),
        GoInTime::Seconds(10),
        GoInTime::Decision(Direction::Forward, preempted),
        GoInTime::Speed(2.0),
    ];
    assert_eq!(cmds, expected.map(Cmd::GoInTime));
    let cmds = press(&mut state, &[":next admission", "enter"]);
    let admitted: &[_] = &[LandmarkKind::Admitted];
    let next = GoInTime::Decision(Direction::Forward, admitted);
    assert_eq!(cmds, [Cmd::GoInTime(next)]);
    let at = state.data.now - SignedDuration::from_secs(90);
    let cmds = press(&mut state, &[":at -90s", "enter"]);
    assert_eq!(cmds, [Cmd::GoInTime(GoInTime::Time(at))]);
    // The messages of the fixture are closed first.
    let cmds = std::iter::repeat_with(|| press(&mut state, &["esc"])).take(9);
    let cmds: Vec<Cmd> = cmds.flatten().collect();
    assert_eq!(cmds.last(), Some(&Cmd::GoInTime(GoInTime::Leave)));
}

#[test]
fn the_past_is_read_only_and_says_its_time() {
    for can_leave in [true, false] {
        let mut state = in_the_past(can_leave);
        let header = render_text(&state, 80, 24);
        assert!(
            header.lines().next().unwrap().contains("as of "),
            "{header}"
        );
        assert_eq!(press(&mut state, &["s"]), []);
        assert!(state.ui.dialog.is_none());
        let messages = messages(&state);
        assert!(messages.contains("cannot be changed"), "{messages}");
    }
    // A recording has no present.
    assert_eq!(press(&mut in_the_past(false), &["esc"; 9]), []);
}

#[test]
fn an_earlier_moment_has_no_later_events() {
    let mut state = in_the_past(true);
    let events = |state: &State| state.data.events.newest_first().count();
    let evictions = |state: &State| state.data.evictions.newest_first().count();
    let all = events(&state);
    assert!(all > 0 && evictions(&state) > 0);
    let oldest = state.data.events.oldest_first().next().unwrap().at;
    let past = state.ui.past.clone();
    update(&mut state, Msg::Moment(oldest, past));
    assert!(events(&state) < all);
    assert!(
        state
            .data
            .events
            .newest_first()
            .all(|event| event.at <= oldest)
    );
    let mut evictions = state.data.evictions.newest_first();
    assert!(evictions.all(|eviction| eviction.at <= oldest));
}
