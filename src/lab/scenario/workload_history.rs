//! The admissions and preemptions of each Workload since the start of a scenario, from the versions of its object.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::glob::matches_job;
use super::job_template::DEFAULT_NAMESPACE;
use kueue_lab_json::ValueExt;
use kueue_lab_reason::{PreemptionMessage, preemptor_uid};

/// The Workloads of a scenario, also deleted ones, in the order of their creation.
#[derive(Debug, Default)]
pub(super) struct WorkloadHistory {
    workloads: Vec<ObservedWorkload>,
    /// Index by UID.
    by_uid: BTreeMap<String, usize>,
    admissions: u64,
}

/// A Workload.
#[derive(Debug)]
pub(super) struct ObservedWorkload {
    pub(super) uid: String,
    pub(super) namespace: String,
    pub(super) name: String,
    /// The names of the jobs that own it.
    pub(super) owners: Vec<String>,
    pub(super) created: Timestamp,
    /// The admissions, in order.
    pub(super) admissions: Vec<ObservedAdmission>,
    pub(super) preemptions: Vec<ObservedPreemption>,
    pub(super) is_deleted: bool,
    /// The last version of the object.
    pub(super) object: Value,
}

/// An admission.
#[derive(Debug)]
pub(super) struct ObservedAdmission {
    pub(super) at: Timestamp,
    /// Its number among all admissions of the scenario.
    pub(super) number: u64,
}

/// A preemption.
#[derive(Debug)]
pub(super) struct ObservedPreemption {
    pub(super) reason: String,
    /// The UID of the preempting Workload.
    pub(super) preemptor: Option<String>,
    /// The ClusterQueue of the preempting Workload; empty if the message does not name it.
    pub(super) preemptor_queue: String,
    transition: String,
}

impl WorkloadHistory {
    /// Records a version of a Workload.
    pub(super) fn record(&mut self, object: &Value, now: Timestamp) {
        let text = |pointer: &str| {
            let text = object.pointer(pointer).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let uid = text("/metadata/uid");
        let index = *self.by_uid.entry(uid.clone()).or_insert_with(|| {
            let owners = object["metadata"]["ownerReferences"].as_array();
            let owners = owners.into_iter().flatten();
            self.workloads.push(ObservedWorkload {
                uid,
                namespace: text("/metadata/namespace"),
                name: text("/metadata/name"),
                owners: owners
                    .filter_map(|owner| owner["name"].as_str().map(str::to_owned))
                    .collect(),
                created: now,
                admissions: Vec::new(),
                preemptions: Vec::new(),
                is_deleted: false,
                object: Value::Null,
            });
            self.workloads.len() - 1
        });
        let workload = &mut self.workloads[index];
        let was_admitted = workload.is_admitted();
        workload.object = object.clone();
        if workload.is_admitted() && !was_admitted {
            self.admissions += 1;
            workload.admissions.push(ObservedAdmission {
                at: now,
                number: self.admissions,
            });
        }
        let Some(preempted) = workload.true_condition("Preempted") else {
            return;
        };
        let text = |field: &str| preempted[field].as_str().unwrap_or_default().to_owned();
        let transition = text("lastTransitionTime");
        let is_known = workload.preemptions.last();
        if is_known.is_some_and(|known| known.transition == transition) {
            return;
        }
        let message = text("message");
        let preemptor = preemptor_uid(&message);
        let preemption = ObservedPreemption {
            reason: text("reason"),
            preemptor: preemptor.map(str::to_owned),
            preemptor_queue: PreemptionMessage::parse(&message)
                .preemptor_queue()
                .to_owned(),
            transition,
        };
        workload.preemptions.push(preemption);
    }

    /// Records that a Workload is deleted.
    pub(super) fn record_deletion(&mut self, namespace: &str, name: &str) {
        let named = |w: &&mut ObservedWorkload| w.namespace == namespace && w.name == name;
        if let Some(deleted) = self.workloads.iter_mut().rev().find(named) {
            deleted.is_deleted = true;
        }
    }

    /// The Workloads that match one of some patterns, without the deleted ones unless `deleted`.
    pub(super) fn matching<'a>(
        &'a self,
        patterns: &'a [String],
        deleted: bool,
    ) -> impl Iterator<Item = &'a ObservedWorkload> {
        let is_wanted = move |w: &&ObservedWorkload| deleted || !w.is_deleted;
        let workloads = self.workloads.iter().filter(is_wanted);
        workloads.filter(|w| patterns.iter().any(|pattern| w.matches(pattern)))
    }

    /// The Workload with a UID.
    pub(super) fn by_uid(&self, uid: &str) -> Option<&ObservedWorkload> {
        self.by_uid.get(uid).map(|index| &self.workloads[*index])
    }

    /// All Workloads.
    pub(super) fn all(&self) -> &[ObservedWorkload] {
        &self.workloads
    }
}

impl ObservedWorkload {
    /// Whether `[NAMESPACE/]NAME` matches a job of the Workload, or the Workload.
    pub(super) fn matches(&self, pattern: &str) -> bool {
        let names = self.owners.iter().chain([&self.name]).map(String::as_str);
        matches_job(pattern, &self.namespace, names)
    }

    /// The name of its job, or its own without one; with the namespace unless that is `default`.
    pub(super) fn title(&self) -> String {
        let name = self.owners.first().unwrap_or(&self.name);
        match self.namespace.as_str() {
            DEFAULT_NAMESPACE => name.clone(),
            namespace => format!("{namespace}/{name}"),
        }
    }

    pub(super) fn condition(&self, kind: &str) -> Option<&Value> {
        self.object.condition(kind)
    }

    pub(super) fn true_condition(&self, kind: &str) -> Option<&Value> {
        self.condition(kind).filter(|c| c["status"] == "True")
    }

    pub(super) fn is_finished(&self) -> bool {
        self.true_condition("Finished").is_some()
    }

    pub(super) fn is_admitted(&self) -> bool {
        self.true_condition("Admitted").is_some()
    }

    /// Whether it waits for quota or for admission checks.
    pub(super) fn is_pending(&self) -> bool {
        !self.is_admitted() && !self.is_finished() && !self.is_deleted
    }

    /// The reasons for which it waits, as `Reason: message`, the first one that of the quota.
    pub(super) fn pending_reasons(&self) -> Vec<String> {
        let kinds = ["QuotaReserved", "Admitted", "Evicted"];
        let conditions = kinds.iter().filter_map(|kind| self.condition(kind));
        let waits = conditions.filter(|c| (c["status"] == "False") != (c["type"] == "Evicted"));
        waits
            .map(|condition| {
                let text = |field: &str| condition[field].as_str().unwrap_or_default();
                format!("{}: {}", text("reason"), text("message"))
            })
            .collect()
    }

    /// Its state in a few words.
    pub(super) fn state(&self) -> String {
        if self.is_finished() {
            return "finished".into();
        }
        if self.is_deleted {
            return "deleted".into();
        }
        if self.is_admitted() {
            return "admitted".into();
        }
        match self.pending_reasons().first() {
            Some(reason) => format!("pending ({reason})"),
            None => "pending".into(),
        }
    }

    /// The flavors of its resources, by resource, those of all pod sets.
    pub(super) fn flavors(&self) -> BTreeMap<&str, Vec<&str>> {
        let pod_sets = self.object["status"]["admission"]["podSetAssignments"].as_array();
        let mut flavors: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for pod_set in pod_sets.into_iter().flatten() {
            for (resource, flavor) in pod_set["flavors"].as_object().into_iter().flatten() {
                let of_resource = flavors.entry(resource).or_default();
                let flavor = flavor.as_str().unwrap_or_default();
                if !of_resource.contains(&flavor) {
                    of_resource.push(flavor);
                }
            }
        }
        flavors
    }
}
