//! Plays a scenario step by step.

use std::sync::Arc;

use jiff::SignedDuration;
use kueue_lab::admission::workload::predicates;
use kueue_lab::api::load::structural_defaults;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::compare::{Difference, Kind, differences};
use super::controllers::Controllers;
use super::owners::{Owner, RoleNames};
use super::state;

/// So long a step is given, in seconds.
const STEP: i64 = 10;

fn typed<T: DeserializeOwned>(object: &Value) -> T {
    let mut object = object.clone();
    structural_defaults(&mut object);
    serde_json::from_value(object).unwrap()
}

struct Replay<'a> {
    lab: Controllers<'a>,
    /// ClusterQueues, LocalQueues and cohorts as they are now.
    objects: Vec<Value>,
}

impl Replay<'_> {
    fn apply(&mut self, object: &Value) {
        let now = self.lab.now;
        let engine = &mut self.lab.engine;
        match object["kind"].as_str().unwrap() {
            "Namespace" => {
                let mut namespace = object.clone();
                let name = namespace["metadata"]["name"].clone();
                namespace["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
                engine.upsert_namespace(&serde_json::from_value(namespace).unwrap(), now);
            }
            "WorkloadPriorityClass" => {
                let name = object["metadata"]["name"].as_str().unwrap().to_owned();
                let value = object["value"].as_i64().unwrap();
                self.lab.classes.insert(name, value);
            }
            "ResourceFlavor" => engine.upsert_flavor(Arc::new(typed(object)), now),
            "ClusterQueue" => engine.upsert_cluster_queue(Arc::new(typed(object)), now),
            "LocalQueue" => engine.upsert_local_queue(Arc::new(typed(object))),
            "Cohort" => engine.upsert_cohort(Arc::new(typed(object)), now).unwrap(),
            kind => panic!("no {kind} in scenarios"),
        }
        let same = |o: &Value| {
            o["kind"] == object["kind"] && o["metadata"]["name"] == object["metadata"]["name"]
        };
        self.objects.retain(|o| !same(o));
        self.objects.push(object.clone());
    }

    /// Does what a step says. The target is the one Kueue's run chose.
    fn step(&mut self, step: &Value, outcome: &Value) {
        let chosen = outcome["chosen"].as_str();
        match (step["op"].as_str().unwrap(), chosen) {
            ("create", _) => {
                let also = step["also"].as_array().into_iter().flatten();
                for (i, creation) in std::iter::once(step).chain(also).enumerate() {
                    if i > 0 {
                        // Before what the first creation freed is looked at.
                        let until = self.lab.now + SignedDuration::from_millis(950);
                        self.lab.settle(until);
                    }
                    if outcome["errors"].is_null() {
                        let objects = creation["objects"].as_array().unwrap();
                        let key = creation["key"].as_str().unwrap();
                        self.lab.create(Owner::new(key, objects));
                    }
                }
            }
            ("patch", _) => {
                let same =
                    |o: &&Value| o["kind"] == step["kind"] && o["metadata"]["name"] == step["name"];
                let mut object = self.objects.iter().find(same).unwrap().clone();
                json_patch::merge(&mut object, &step["patch"]);
                if outcome["errors"].is_null() {
                    self.apply(&object);
                }
            }
            (_, None) => {}
            ("delete", Some(key)) => self.lab.delete(key),
            ("setActive", Some(key)) => {
                if let Some(wl) = self.lab.workload(key) {
                    let (wl, active) = (predicates::key(wl), step["active"].as_bool());
                    self.lab.write(&wl, |wl| wl.spec.active = active);
                }
            }
            ("setPriority", Some(key)) => {
                let class = step["class"].as_str().unwrap();
                self.lab.set_class(key, class);
            }
            ("finish", Some(key)) => {
                if let Some(owner) = self.lab.owners.get_mut(key) {
                    owner.done = true;
                }
            }
            ("finishOne", Some(key)) => {
                if let Some(owner) = self.lab.owners.get_mut(key) {
                    owner.succeeded += 1;
                    owner.done = owner.succeeded >= owner.completions();
                }
            }
            (op, _) => panic!("no {op} in scenarios"),
        }
    }
}

/// Plays a scenario; gives the differences of the first step that differs, or of all steps that
/// differ in what is said only.
pub fn replay(scenario: &Value, outcome: &Value, roles: &RoleNames) -> Vec<Difference> {
    let fair_sharing = scenario["config"]["fairSharing"] == true;
    let mut replay = Replay {
        lab: Controllers::new(fair_sharing, roles),
        objects: Vec::new(),
    };
    for object in scenario["setup"].as_array().unwrap() {
        replay.apply(object);
    }
    let number = |field: &str| outcome[field].as_u64().map_or(usize::MAX, |n| n as usize);
    let last = number("stableUntil")
        .min(number("livelock"))
        .min(number("truncated"));
    let mut found = Vec::new();
    let steps = outcome["steps"].as_array().unwrap();
    for (i, kueue) in steps.iter().enumerate().take(last) {
        replay.lab.next_step();
        if i > 0 {
            replay.step(&scenario["steps"][i - 1], kueue);
        }
        let until = replay.lab.now + SignedDuration::from_secs(STEP);
        let rests = replay.lab.settle(until);
        let ours = state::snapshot(&mut replay.lab, &replay.objects);
        if std::env::var_os("KUEUE_LAB_TRACE").is_some() {
            println!("step {i}");
            for event in ours["events"].as_array().unwrap() {
                println!("    {} {} {}", event["key"], event["reason"], event["note"]);
            }
        }
        let mut different = differences(i, outcome, &ours);
        if !rests {
            different.insert(
                0,
                Difference {
                    step: i,
                    op: kueue["op"].to_string(),
                    path: "rest".to_owned(),
                    kind: Kind::Livelock,
                    kueue: true.into(),
                    ours: false.into(),
                },
            );
        }
        let over = different.first().is_some_and(|d| d.kind.is_decision());
        found.extend(different);
        if over {
            break;
        }
    }
    found.sort_by_key(|d| d.kind);
    found
}
