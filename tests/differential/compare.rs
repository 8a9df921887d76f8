//! Compares the state after a step with what Kueue had.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Value, json};

/// Kinds of differences, the most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Livelock,
    Admission,
    Flavor,
    Victim,
    Active,
    Reason,
    Message,
    Usage,
    Queue,
    Meta,
    Events,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Livelock => "livelock",
            Kind::Admission => "admission",
            Kind::Flavor => "flavor",
            Kind::Victim => "victim",
            Kind::Active => "active",
            Kind::Reason => "reason",
            Kind::Message => "message",
            Kind::Usage => "usage",
            Kind::Queue => "queue",
            Kind::Meta => "meta",
            Kind::Events => "events",
        }
    }

    /// Whether everything after such a difference is a consequence of it.
    pub fn is_decision(self) -> bool {
        self <= Kind::Active
    }
}

/// A difference between Kueue and the engine.
#[derive(Clone, Debug)]
pub struct Difference {
    pub step: usize,
    pub op: String,
    pub path: String,
    pub kind: Kind,
    pub kueue: Value,
    pub ours: Value,
}

impl Difference {
    pub fn panicked(text: &str) -> Self {
        Difference {
            step: 0,
            op: String::new(),
            path: "panic".to_owned(),
            kind: Kind::Livelock,
            kueue: Value::Null,
            ours: json!(text),
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

type Flat = BTreeMap<String, (Kind, Value)>;

const CONDITIONS: [&str; 5] = [
    "quotaReserved",
    "Admitted",
    "Evicted",
    "Preempted",
    "Requeued",
];

/// The Events to compare. Whether a workload that still waits is told of again depends on what
/// other controllers wrote to it meanwhile.
fn is_compared(reason: &str) -> bool {
    let decided = [
        "QuotaReserved",
        "Admitted",
        "Preempted",
        "PreemptedWorkload",
    ];
    decided.contains(&reason) || reason.starts_with("EvictedDueTo")
}

fn flatten(step: &Value) -> Flat {
    let mut flat = Flat::new();
    let state = &step["state"];
    for (key, w) in state["workloads"].as_object().into_iter().flatten() {
        workload(&mut flat, key, w);
    }
    for (name, q) in state["clusterQueues"].as_object().into_iter().flatten() {
        let mut put = |field: &str, kind, value| {
            flat.insert(format!("clusterQueues/{name}/{field}"), (kind, value));
        };
        // How many are pending, and the shares, Kueue only writes when it looks at the ClusterQueue
        // for another reason.
        for field in ["reserving", "admitted"] {
            put(field, Kind::Queue, q[field].clone());
        }
        let active = &q["active"];
        put(
            "active",
            Kind::Queue,
            json!([active["status"], active["reason"]]),
        );
        put("active.message", Kind::Message, active["message"].clone());
        for field in ["reservation", "usage"] {
            let used = q[field].as_object().into_iter().flatten();
            let used: BTreeMap<_, _> = used.filter(|(_, v)| **v != "0").collect();
            put(field, Kind::Usage, json!(used));
        }
    }
    let mut victims = BTreeSet::new();
    for event in step["events"].as_array().into_iter().flatten() {
        let reason = event["reason"].as_str().unwrap_or_default();
        if event["kind"] != "Workload" || !is_compared(reason) {
            continue;
        }
        let key = event["key"].as_str().unwrap_or_default();
        if reason == "Preempted" {
            victims.insert(key);
        }
        let note = event["note"].as_str().unwrap_or_default();
        let path = format!("events/{key}|{reason}|{note}");
        flat.insert(path, (Kind::Events, json!(true)));
    }
    flat.insert("events/victims".to_owned(), (Kind::Victim, json!(victims)));
    flat
}

fn workload(flat: &mut Flat, key: &str, w: &Value) {
    let mut put = |field: &str, kind, value| {
        flat.insert(format!("workloads/{key}/{field}"), (kind, value));
    };
    put("present", Kind::Admission, json!(true));
    put("admitted", Kind::Admission, w["admitted"].clone());
    let reserved = w["quotaReserved"]["status"].as_str().unwrap_or("absent");
    put("quotaReserved", Kind::Admission, json!(reserved));
    put("clusterQueue", Kind::Admission, w["clusterQueue"].clone());
    let assignments = w["assignments"].as_array();
    let flavors = assignments.map(|all| {
        let flavors = all
            .iter()
            .map(|a| json!([a["name"], a["count"], a["flavors"]]));
        flavors.collect::<Vec<_>>()
    });
    put("assignments", Kind::Flavor, json!(flavors));
    let usage = assignments.map(|all| all.iter().map(|a| a["usage"].clone()).collect::<Vec<_>>());
    put("assignments/usage", Kind::Usage, json!(usage));
    put("active", Kind::Active, w["active"].clone());
    put("priority", Kind::Active, w["priority"].clone());
    for (type_, kind) in [
        ("Evicted", Kind::Victim),
        ("Preempted", Kind::Victim),
        ("Finished", Kind::Admission),
    ] {
        let is_true = w[type_]["status"] == "True";
        put(&format!("{type_}.status"), kind, json!(is_true));
    }
    for type_ in CONDITIONS {
        let c = &w[type_];
        let said = (!c.is_null()).then(|| json!([c["status"], c["reason"]]));
        put(&format!("{type_}.reason"), Kind::Reason, json!(said));
        put(
            &format!("{type_}.message"),
            Kind::Message,
            c["message"].clone(),
        );
    }
    put("evictions", Kind::Reason, w["evictions"].clone());
    if w["Finished"].is_null() {
        put("reclaimablePods", Kind::Meta, w["reclaimablePods"].clone());
    }
    put(
        "resourceRequests",
        Kind::Meta,
        w["resourceRequests"].clone(),
    );
}

/// How our step differs from Kueue's, the most severe first. What Kueue itself does differently
/// from run to run is left out.
pub fn differences(index: usize, outcome: &Value, ours: &Value) -> Vec<Difference> {
    let kueue = &outcome["steps"][index];
    let unstable: BTreeSet<&str> = outcome["unstable"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|u| u["step"] == index)
        .filter_map(|u| u["path"].as_str())
        .collect();
    let unstable_events = unstable.iter().any(|p| p.starts_with("events/"));
    let (a, b) = (flatten(kueue), flatten(ours));
    let paths: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let mut found = Vec::new();
    for path in paths {
        let (x, y) = (a.get(path), b.get(path));
        if x == y || unstable.contains(path.as_str()) {
            continue;
        }
        let kind = x.or(y).unwrap().0;
        if kind == Kind::Events && unstable_events {
            continue;
        }
        let absent = || json!("<absent>");
        found.push(Difference {
            step: index,
            op: op(kueue),
            path: path.clone(),
            kind,
            kueue: x.map_or_else(absent, |v| v.1.clone()),
            ours: y.map_or_else(absent, |v| v.1.clone()),
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
