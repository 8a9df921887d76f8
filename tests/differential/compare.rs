//! Compares the state after each step with upstream's, as `compare.py` of the recordings does.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Value, json};

use super::observed_state::CONDITIONS;
use super::recording_gaps::lost_events;

/// Kinds of differences, the most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DifferenceKind {
    Setup,
    Step,
    DetectedLoop,
    Admission,
    Flavor,
    Topology,
    Preemption,
    Active,
    Check,
    Reason,
    Message,
    Usage,
    Job,
    Pod,
    Queue,
    Share,
    Meta,
    Events,
}

impl DifferenceKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            DifferenceKind::Setup => "setup",
            DifferenceKind::Step => "step",
            DifferenceKind::DetectedLoop => "livelock",
            DifferenceKind::Admission => "admission",
            DifferenceKind::Flavor => "flavor",
            DifferenceKind::Topology => "topology",
            DifferenceKind::Preemption => "victim",
            DifferenceKind::Active => "active",
            DifferenceKind::Check => "check",
            DifferenceKind::Reason => "reason",
            DifferenceKind::Message => "message",
            DifferenceKind::Usage => "usage",
            DifferenceKind::Job => "job",
            DifferenceKind::Pod => "pod",
            DifferenceKind::Queue => "queue",
            DifferenceKind::Share => "share",
            DifferenceKind::Meta => "meta",
            DifferenceKind::Events => "events",
        }
    }

    /// Whether later differences can be consequences of this one.
    pub(crate) fn is_decision(self) -> bool {
        self <= DifferenceKind::Check
    }
}

/// A difference between upstream Kueue and the lab.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    pub step: usize,
    pub op: String,
    pub path: String,
    pub kind: DifferenceKind,
    pub kueue: Value,
    pub ours: Value,
}

impl Difference {
    pub(crate) fn scheduling_loop(step: usize, op: String, ours: &str) -> Self {
        Difference {
            step,
            op,
            path: "rest".to_owned(),
            kind: DifferenceKind::DetectedLoop,
            kueue: true.into(),
            ours: ours.into(),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (step, op, path, kind) = (self.step, &self.op, &self.path, self.kind.as_str());
        write!(f, "{kind} at step {step} ({op}) {path}")?;
        write!(
            f,
            "\n      Kueue: {}\n      ours:  {}",
            self.kueue, self.ours
        )
    }
}

type FlatState = BTreeMap<String, (DifferenceKind, Value)>;

/// The number of messages and Events of either side, and of the equal ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MessageCounts {
    pub total: usize,
    pub equal: usize,
}

impl MessageCounts {
    fn count(&mut self, kind: DifferenceKind, kueue: Option<&Value>, ours: Option<&Value>) {
        let present = [kueue, ours].into_iter().flatten().any(|v| !v.is_null());
        if present && matches!(kind, DifferenceKind::Message | DifferenceKind::Events) {
            self.total += 1;
            self.equal += usize::from(kueue == ours);
        }
    }
}

/// The result of comparing a scenario.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comparison {
    /// The most severe first.
    pub differences: Vec<Difference>,
    /// Counted before the first step with another decision.
    pub messages: MessageCounts,
}

fn each<'a>(state: &'a Value, field: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    state[field].as_object().into_iter().flatten()
}

fn flatten(step: &Value) -> FlatState {
    let mut flat = FlatState::new();
    let state = &step["state"];
    for field in ["chosen", "keys", "object"] {
        if let Some(value) = step.get(field) {
            flat.insert(
                format!("step/{field}"),
                (DifferenceKind::Step, value.clone()),
            );
        }
    }
    for (i, e) in step["errors"].as_array().into_iter().flatten().enumerate() {
        let error = json!([e["status"], e["reason"]]);
        flat.insert(format!("step/error{i}"), (DifferenceKind::Step, error));
        let path = format!("step/error{i}/message");
        flat.insert(path, (DifferenceKind::Message, e["message"].clone()));
    }
    for (key, w) in each(state, "workloads") {
        workload(&mut flat, key, w);
    }
    for (name, q) in each(state, "clusterQueues") {
        queue(&mut flat, &format!("clusterQueues/{name}"), q);
    }
    for (name, q) in each(state, "localQueues") {
        // Upstream's LocalQueue counts can be stale.
        active(&mut flat, &format!("localQueues/{name}"), q);
    }
    for (name, c) in each(state, "cohorts") {
        let share = c["weightedShare"].clone();
        flat.insert(
            format!("cohorts/{name}/weightedShare"),
            (DifferenceKind::Share, share),
        );
    }
    for (field, kind) in [("jobs", DifferenceKind::Job), ("pods", DifferenceKind::Pod)] {
        for (name, object) in each(state, field) {
            for (part, value) in object.as_object().into_iter().flatten() {
                flat.insert(format!("{field}/{name}/{part}"), (kind, value.clone()));
            }
        }
    }
    further_objects(&mut flat, state);
    let mut victims = BTreeSet::new();
    for event in step["events"].as_array().into_iter().flatten() {
        let text = |field: &str| event[field].as_str().unwrap_or_default();
        if event["kind"] != "Workload" {
            continue;
        }
        let (key, reason) = (text("key"), text("reason"));
        if reason == "Preempted" {
            victims.insert(key);
        }
        let path = format!("events/{key}|{}|{reason}|{}", text("type"), text("note"));
        flat.insert(path, (DifferenceKind::Events, json!(true)));
    }
    flat.insert(
        "events/victims".to_owned(),
        (DifferenceKind::Preemption, json!(victims)),
    );
    flat
}

/// The objects that only the second set of recordings has.
fn further_objects(flat: &mut FlatState, state: &Value) {
    for (owner, nodes) in each(state, "podNodes") {
        let path = format!("podNodes/{owner}");
        flat.insert(path, (DifferenceKind::Pod, nodes.clone()));
    }
    for (field, kind) in [
        ("statefulSets", DifferenceKind::Job),
        ("deployments", DifferenceKind::Job),
        ("jobSets", DifferenceKind::Job),
        ("provReqs", DifferenceKind::Check),
    ] {
        for (name, object) in each(state, field) {
            for (part, value) in object.as_object().into_iter().flatten() {
                flat.insert(format!("{field}/{name}/{part}"), (kind, value.clone()));
            }
        }
    }
    for field in ["clusterQueues", "localQueues"] {
        for (name, queue) in each(state, field) {
            if queue["terminating"] == true {
                let path = format!("{field}/{name}/terminating");
                flat.insert(path, (DifferenceKind::Check, json!(true)));
            }
        }
    }
    for (name, flavor) in each(state, "flavors") {
        for (part, kind) in [
            ("terminating", DifferenceKind::Check),
            ("inUse", DifferenceKind::Meta),
        ] {
            flat.insert(
                format!("flavors/{name}/{part}"),
                (kind, flavor[part].clone()),
            );
        }
    }
}

fn active(flat: &mut FlatState, path: &str, q: &Value) {
    let active = &q["active"];
    let condition = json!([active["status"], active["reason"]]);
    flat.insert(format!("{path}/active"), (DifferenceKind::Queue, condition));
    let message = active["message"].clone();
    flat.insert(
        format!("{path}/active.message"),
        (DifferenceKind::Message, message),
    );
}

fn queue(flat: &mut FlatState, path: &str, q: &Value) {
    active(flat, path, q);
    for field in ["pending", "reserving", "admitted"] {
        flat.insert(
            format!("{path}/{field}"),
            (DifferenceKind::Queue, q[field].clone()),
        );
    }
    for field in ["reservation", "usage"] {
        let used = each(q, field).filter(|(_, v)| **v != "0");
        let used: BTreeMap<_, _> = used.collect();
        flat.insert(
            format!("{path}/{field}"),
            (DifferenceKind::Usage, json!(used)),
        );
    }
    if let Some(share) = q.get("weightedShare") {
        flat.insert(
            format!("{path}/weightedShare"),
            (DifferenceKind::Share, share.clone()),
        );
    }
}

fn workload(flat: &mut FlatState, key: &str, w: &Value) {
    let mut put = |field: &str, kind, value| {
        flat.insert(format!("workloads/{key}/{field}"), (kind, value));
    };
    put("present", DifferenceKind::Admission, json!(true));
    put("admitted", DifferenceKind::Admission, w["admitted"].clone());
    let reserved = w["quotaReserved"]["status"].as_str().unwrap_or("absent");
    put("quotaReserved", DifferenceKind::Admission, json!(reserved));
    put(
        "clusterQueue",
        DifferenceKind::Admission,
        w["clusterQueue"].clone(),
    );
    let assignments = w["assignments"].as_array();
    let flavors = assignments.map(|all| {
        let flavors = all
            .iter()
            .map(|a| json!([a["name"], a["count"], a["flavors"]]));
        flavors.collect::<Vec<_>>()
    });
    put("assignments", DifferenceKind::Flavor, json!(flavors));
    let usage = assignments.map(|all| all.iter().map(|a| a["usage"].clone()).collect::<Vec<_>>());
    put("assignments/usage", DifferenceKind::Usage, json!(usage));
    put("topology", DifferenceKind::Topology, w["topology"].clone());
    if let Some(checks) = w["checks"].as_array() {
        let states = checks
            .iter()
            .map(|c| json!([c["name"], c["state"], c["podSetUpdates"]]));
        put("checks", DifferenceKind::Check, states.collect());
        let more = checks
            .iter()
            .map(|c| json!([c["retryCount"], c["requeueAfterSeconds"]]));
        put("checks/more", DifferenceKind::Meta, more.collect());
        for check in checks {
            let path = format!(
                "checks/{}/message",
                check["name"].as_str().unwrap_or_default()
            );
            put(&path, DifferenceKind::Message, check["message"].clone());
        }
    }
    for field in ["unhealthyNodes", "maxExec", "requeueAt"] {
        put(field, DifferenceKind::Meta, w[field].clone());
    }
    put("active", DifferenceKind::Active, w["active"].clone());
    put("priority", DifferenceKind::Active, w["priority"].clone());
    for (type_, kind) in [
        ("Evicted", DifferenceKind::Preemption),
        ("Preempted", DifferenceKind::Preemption),
        ("Finished", DifferenceKind::Admission),
    ] {
        let is_true = w[type_]["status"] == "True";
        put(&format!("{type_}.status"), kind, json!(is_true));
    }
    for type_ in ["quotaReserved"].into_iter().chain(CONDITIONS) {
        let c = &w[type_];
        let condition = (!c.is_null()).then(|| json!([c["status"], c["reason"]]));
        put(
            &format!("{type_}.reason"),
            DifferenceKind::Reason,
            json!(condition),
        );
        put(
            &format!("{type_}.message"),
            DifferenceKind::Message,
            c["message"].clone(),
        );
    }
    put("evictions", DifferenceKind::Reason, w["evictions"].clone());
    for field in [
        "queue",
        "podSets",
        "requeueState",
        "reclaimablePods",
        "resourceRequests",
        "terminating",
    ] {
        put(field, DifferenceKind::Meta, w[field].clone());
    }
}

/// The differences of a step, the most severe first. Fields that differ between upstream's own runs are
/// not compared, nor Events that the recording lacks.
fn differences(
    index: usize,
    kueue: &Value,
    unstable: &[Value],
    ours: &Value,
    lost_events: bool,
    messages: &mut MessageCounts,
) -> Vec<Difference> {
    let unstable = unstable.iter().filter(|u| u["step"] == index);
    let unstable: BTreeSet<&str> = unstable.filter_map(|u| u["path"].as_str()).collect();
    let unstable_events = unstable.iter().any(|p| p.starts_with("events/"));
    let (mut a, mut b) = (flatten(kueue), flatten(ours));
    if lost_events {
        for flat in [&mut a, &mut b] {
            flat.retain(|path, _| !path.starts_with("events/"));
        }
    }
    let paths: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let mut found = Vec::new();
    for path in paths {
        let (x, y) = (a.get(path), b.get(path));
        let value = |side: Option<&(DifferenceKind, Value)>| side.map(|v| v.1.clone());
        let kind = x.or(y).unwrap().0;
        if unstable.contains(path.as_str()) || (kind == DifferenceKind::Events && unstable_events) {
            continue;
        }
        messages.count(kind, x.map(|v| &v.1), y.map(|v| &v.1));
        if x == y {
            continue;
        }
        let absent = || json!("<absent>");
        found.push(Difference {
            step: index,
            op: op(kueue),
            path: path.clone(),
            kind,
            kueue: value(x).unwrap_or_else(absent),
            ours: value(y).unwrap_or_else(absent),
        });
    }
    found.sort_by_key(|d| d.kind);
    found
}

fn op(step: &Value) -> String {
    let op = step["op"].as_str().unwrap_or_default();
    let what = [&step["chosen"], &step["object"], &step["keys"]];
    let what = what.into_iter().find(|v| !v.is_null());
    format!("{op} {}", what.unwrap_or(&Value::Null))
}

/// The differences of an outcome, the most severe first, up to the first difference in a decision.
pub(crate) fn compare(kueue: &Value, ours: &Value) -> Comparison {
    let mut found = Vec::new();
    let mut messages = MessageCounts::default();
    if kueue["setupErrors"].is_null() != ours["setupErrors"].is_null() {
        found.push(Difference {
            step: 0,
            op: "setup".to_owned(),
            path: "setupErrors".to_owned(),
            kind: DifferenceKind::Setup,
            kueue: kueue["setupErrors"].clone(),
            ours: ours["setupErrors"].clone(),
        });
        return Comparison {
            differences: found,
            messages,
        };
    }
    let number = |field: &str| kueue[field].as_u64().map_or(usize::MAX, |n| n as usize);
    let last = number("stableUntil").min(number("livelock"));
    let unstable = kueue["unstable"].as_array().cloned().unwrap_or_default();
    let events_lost = !kueue["eventsLost"].is_null() && kueue["eventsLost"] != false;
    let mut before = None;
    for (i, step) in kueue["steps"].as_array().unwrap().iter().enumerate() {
        if i >= last {
            break;
        }
        let Some(other) = ours["steps"].get(i) else {
            found.push(Difference::scheduling_loop(i, op(step), "not reached"));
            break;
        };
        let lost = lost_events(before.replace(step), step) || events_lost;
        let mut counts = messages;
        let mut different = differences(i, step, &unstable, other, lost, &mut counts);
        if other["quiescent"] == false && step["quiescent"] == true {
            different.push(Difference::scheduling_loop(i, op(step), "not quiescent"));
        }
        let decided_differently = different.iter().any(|d| d.kind.is_decision());
        found.extend(different);
        if decided_differently {
            break;
        }
        messages = counts;
    }
    found.sort_by_key(|d| d.kind);
    Comparison {
        differences: found,
        messages,
    }
}
