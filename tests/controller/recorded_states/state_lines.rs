//! [`StateLines`]: the state of a cluster as lines of text, without values that differ between runs.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::Value;

/// Lines of text by object.
pub(super) type StateLines = BTreeSet<String>;

/// Replaces values that differ between runs.
pub(super) struct Normalizer {
    uid: Regex,
    workload: Regex,
    seconds: Regex,
}

impl Normalizer {
    pub(super) fn new() -> Self {
        let regex = |text| Regex::new(text).unwrap();
        Self {
            uid: regex("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
            workload: regex(r"\b((?:job|pod)-[a-z0-9-]*[a-z0-9])-[0-9a-f]{5}\b"),
            seconds: regex(r"was \d+s"),
        }
    }

    fn text(&self, text: &str) -> String {
        let text = self.uid.replace_all(text, "<uid>");
        let text = self.workload.replace_all(&text, "$1-<hash>");
        self.seconds.replace_all(&text, "was Ns").into_owned()
    }

    /// The lines of these objects.
    pub(super) fn state_lines(&self, objects: &[Value]) -> StateLines {
        let mut picture = StateLines::new();
        for object in objects {
            let mut lines = match object["kind"].as_str() {
                Some("Workload") => workload(object),
                Some("Job") => job(object),
                Some("Pod") => pod(object),
                Some("Event") => event(object),
                _ => Vec::new(),
            };
            if object["kind"] != "Event" {
                let about = format!(
                    "{} {}",
                    text(object, "/kind"),
                    text(object, "/metadata/name")
                );
                lines
                    .iter_mut()
                    .for_each(|line| *line = format!("{about}: {line}"));
            }
            picture.extend(lines.iter().map(|line| self.text(line)));
        }
        picture
    }
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn list<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn conditions(object: &Value) -> Vec<String> {
    list(object, "/status/conditions")
        .map(|c| {
            let part = |key| c[key].as_str().unwrap_or_default();
            format!(
                "{}={}/{} {:?}",
                part("type"),
                part("status"),
                part("reason"),
                part("message")
            )
        })
        .collect()
}

fn fields_at(object: &Value, pointers: &[&str]) -> Vec<String> {
    let known = pointers
        .iter()
        .filter_map(|p| Some((p, object.pointer(p)?)));
    known.map(|(p, value)| format!("{p} {value}")).collect()
}

fn workload(wl: &Value) -> Vec<String> {
    let mut lines = conditions(wl);
    lines.extend(fields_at(
        wl,
        &[
            "/spec/active",
            "/spec/priority",
            "/spec/priorityClassRef",
            "/spec/queueName",
            "/metadata/finalizers",
            "/status/admission/clusterQueue",
            "/status/resourceRequests",
            "/status/schedulingStats",
            "/status/reclaimablePods",
            "/status/requeueState/count",
        ],
    ));
    for set in list(wl, "/spec/podSets") {
        lines.push(format!(
            "set {} {} {}",
            set["name"], set["count"], set["topologyRequest"]
        ));
    }
    for a in list(wl, "/status/admission/podSetAssignments") {
        lines.push(format!(
            "assigned {} {} {} {}",
            a["name"], a["count"], a["flavors"], a["resourceUsage"]
        ));
    }
    for check in list(wl, "/status/admissionChecks") {
        let updates = &check["podSetUpdates"];
        lines.push(format!(
            "check {} {} {} {updates}",
            check["name"], check["state"], check["message"]
        ));
    }
    for owner in list(wl, "/metadata/ownerReferences") {
        lines.push(format!(
            "owner {} {} {}",
            owner["kind"], owner["name"], owner["controller"]
        ));
    }
    lines
}

fn job(job: &Value) -> Vec<String> {
    let mut lines = conditions(job);
    let counts = ["/status/active", "/status/succeeded", "/status/failed"];
    lines.extend(fields_at(job, &counts));
    lines.extend(fields_at(
        job,
        &["/spec/suspend", "/spec/parallelism", "/spec/completions"],
    ));
    lines.extend(fields_at(
        job,
        &[
            "/spec/template/spec/nodeSelector",
            "/spec/template/spec/tolerations",
        ],
    ));
    lines.extend(kueue_labels_and_annotations(
        "template ",
        &job["spec"]["template"]["metadata"],
    ));
    lines
}

/// Kueue's labels and annotations.
fn kueue_labels_and_annotations(prefix: &str, meta: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for kind in ["labels", "annotations"] {
        let marks: BTreeMap<&String, &Value> =
            meta[kind].as_object().into_iter().flatten().collect();
        let ours = marks
            .iter()
            .filter(|(key, _)| key.contains("kueue.x-k8s.io"));
        lines.extend(ours.map(|(key, value)| format!("{prefix}{kind} {key} {value}")));
    }
    lines
}

fn pod(pod: &Value) -> Vec<String> {
    // Pods of Jobs have random names; they are described with their Job.
    if list(pod, "/metadata/ownerReferences").any(|owner| owner["kind"] == "Job") {
        return Vec::new();
    }
    let mut lines = kueue_labels_and_annotations("", &pod["metadata"]);
    lines.extend(fields_at(
        pod,
        &[
            "/metadata/finalizers",
            "/status/phase",
            "/spec/nodeSelector",
        ],
    ));
    for gate in list(pod, "/spec/schedulingGates") {
        lines.push(format!("gate {}", gate["name"]));
    }
    lines
}

fn event(event: &Value) -> Vec<String> {
    let by = text(event, "/reportingController");
    if !by.contains("kueue") {
        return Vec::new();
    }
    let regarding = &event["regarding"];
    vec![format!(
        "EVENT {} {} {by} {} {} {}: {}",
        regarding["kind"],
        regarding["name"],
        event["type"],
        event["reason"],
        event["action"],
        event["note"],
    )]
}
