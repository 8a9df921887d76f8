//! Properties for any cluster, any keys and any size.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::driver::{press, render_text};
use super::fixture::{busy, scenario, state_of};
use crate::glyphs::ASCII;
use crate::keymap::Scope;
use crate::msg::Msg;
use crate::text::width;
use crate::update::update;

fn any_key() -> impl Strategy<Value = &'static str> {
    let keys: Vec<&'static str> = Scope::all()
        .flat_map(Scope::bindings)
        .flat_map(|b| b.keys.iter().copied())
        .chain([
            "backspace",
            "é",
            "漢",
            "7",
            "ctrl-w",
            "ctrl-u",
            "team",
            "-l a=b",
            "ns ml",
        ])
        .collect();
    prop::sample::select(keys)
}

fn fits(picture: &str, columns: u16, rows: u16) {
    assert!(picture.lines().count() <= usize::from(rows));
    for line in picture.lines() {
        assert!(width(line) <= usize::from(columns), "{line:?}");
    }
}

/// Objects with arbitrary text and amounts.
fn any_objects() -> impl Strategy<Value = Vec<Value>> {
    let name = "[a-z]{1,3}|\\PC{0,12}|漢{1,30}";
    let amount = prop::sample::select(vec![
        "0",
        "-3",
        "1e30",
        "1.5m",
        "1000000000Gi",
        "9",
        "x",
        "",
    ]);
    let object = (name, name, name, amount.clone(), amount, any::<i32>(), 0usize..6).prop_map(
        |(a, b, c, x, y, n, kind)| match kind {
            0 => json!({"kind": "ClusterQueue", "metadata": {"name": a},
                "spec": {"cohortName": b, "resourceGroups": [{"flavors": [{"name": c, "resources": [
                    {"name": "cpu", "nominalQuota": x, "borrowingLimit": y, "lendingLimit": x}]}]}]},
                "status": {"pendingWorkloads": n, "flavorsReservation": [{"name": c, "resources": [{"name": "cpu", "total": y}]}]}}),
            1 => json!({"kind": "Cohort", "metadata": {"name": a}, "spec": {"parentName": b}}),
            2 => json!({"kind": "LocalQueue", "metadata": {"namespace": b, "name": a}, "spec": {"clusterQueue": c}}),
            3 => json!({"kind": "Workload", "metadata": {"namespace": b, "name": a, "uid": c,
                    "creationTimestamp": "2026-03-02T12:00:00Z"},
                "spec": {"queueName": c, "priority": n, "podSets": [{"name": a, "count": n, "template": {"spec": {"containers": [
                    {"name": "c", "resources": {"requests": {"cpu": x, "nvidia.com/gpu": y}}}]}}}]},
                "status": {"conditions": [{"type": "Evicted", "status": "True", "reason": "Preempted", "message": c, "lastTransitionTime": "2026-03-02T12:00:00Z"},
                    {"type": "Preempted", "status": "True", "reason": a, "message": format!("Preempted to accommodate a workload (UID: {a}, JobUID: {b}) due to {c}"), "lastTransitionTime": "0001-01-01T00:00:00Z"},
                    {"type": "QuotaReserved", "status": if n > 0 {"True"} else {"False"}, "reason": b, "message": c, "lastTransitionTime": "2026-03-02T12:00:00Z"}],
                    "admission": {"clusterQueue": a, "podSetAssignments": [{"name": a, "count": n, "flavors": {"cpu": c}, "resourceUsage": {"cpu": y}}]}}}),
            4 => json!({"kind": "Node", "metadata": {"name": a}, "spec": {"taints": [{"key": b, "effect": c}]},
                "status": {"allocatable": {"cpu": x, "memory": y, "a.b/c": x}}}),
            _ => json!({"kind": "Pod", "metadata": {"namespace": b, "name": a, "uid": c,
                    "annotations": {"kueue.x-k8s.io/workload": a}},
                "spec": {"nodeName": a, "containers": [{"name": "c", "resources": {"requests": {"cpu": y, "a.b/c": x}}}]},
                "status": {"phase": c}}),
        },
    );
    prop::collection::vec(object, 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_keys_and_no_size_break_the_screen(
        keys in prop::collection::vec(any_key(), 0..25),
        columns in prop_oneof![0u16..210, Just(65535)],
        rows in prop_oneof![0u16..70, Just(65535)],
        ascii in any::<bool>(),
        demo in any::<bool>(),
    ) {
        let mut state = busy();
        if ascii {
            state.env.glyphs = &ASCII;
        }
        if demo {
            update(&mut state, Msg::ScenarioProgress(std::sync::Arc::new(scenario())));
        }
        update(&mut state, Msg::Resize(columns, rows));
        press(&mut state, &keys);
        let picture = render_text(&state, columns, rows);
        fits(&picture, columns, rows);
        prop_assert!(picture.chars().all(|c| c == '\n' || !c.is_control()));
        if ascii {
            prop_assert!(picture.is_ascii());
        }
    }

    #[test]
    fn no_cluster_breaks_the_screen(
        objects in any_objects(),
        keys in prop::collection::vec(any_key(), 0..10),
        columns in 1u16..160,
        rows in 1u16..50,
    ) {
        let mut state = state_of(objects);
        for view in ["1", "2", "3", "4", "6"] {
            press(&mut state, &[view]);
            fits(&render_text(&state, columns, rows), columns, rows);
            press(&mut state, &["enter"]);
            fits(&render_text(&state, columns, rows), columns, rows);
            press(&mut state, &["esc"]);
        }
        press(&mut state, &keys);
        fits(&render_text(&state, columns, rows), columns, rows);
    }
}
