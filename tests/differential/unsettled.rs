//! The checks of `replay2.py`, the recorder, for a state in which work is still under way.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::object_tracker::ObjectTracker;
use super::observed_state::is_true;

const ADMISSION_POD_FINALIZER: &str = "kueue";

/// The first sign of work under way; `loose` names the checks that do not apply to the scenario.
pub(crate) fn unsettled(objects: &ObjectTracker, loose: &BTreeSet<&str>) -> Option<String> {
    let state = State {
        workloads: objects.workloads(),
        cluster_queues: objects.objects("clusterqueues"),
        local_queues: objects.objects("localqueues"),
        objects,
        loose,
    };
    state
        .terminating()
        .or_else(|| state.workload())
        .or_else(|| state.job())
        .or_else(|| state.cluster_queue_counts())
        .or_else(|| state.stateful_set())
}

struct State<'a> {
    workloads: BTreeMap<String, Value>,
    cluster_queues: BTreeMap<String, Value>,
    local_queues: BTreeMap<String, Value>,
    objects: &'a ObjectTracker,
    loose: &'a BTreeSet<&'a str>,
}

fn count(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn terminates(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

fn has_condition(object: &Value, type_: &str) -> bool {
    super::observed_state::condition(object, type_).is_some()
}

impl State<'_> {
    fn checks(&self, name: &str) -> bool {
        !self.loose.contains(name)
    }

    fn terminating(&self) -> Option<String> {
        for kind in ["jobs", "pods", "workloads"] {
            for (name, object) in self.objects.objects(kind) {
                let finalizers = object["metadata"]["finalizers"].as_array();
                let mut finalizers = finalizers.into_iter().flatten();
                let held = finalizers.any(|f| {
                    f.as_str()
                        .is_some_and(|f| f.contains(ADMISSION_POD_FINALIZER))
                });
                if terminates(&object) && !held {
                    return Some(format!("{kind}/{name} terminating"));
                }
            }
        }
        None
    }

    fn cluster_queue_of(&self, wl: &Value) -> Option<&str> {
        let queue = self.local_queues.get(wl["spec"]["queueName"].as_str()?)?;
        queue["spec"]["clusterQueue"].as_str()
    }

    fn workload(&self) -> Option<String> {
        for (key, wl) in &self.workloads {
            if is_true(wl, "Finished") {
                continue;
            }
            let (reserved, admitted) = (is_true(wl, "QuotaReserved"), is_true(wl, "Admitted"));
            let checked = wl["status"]["admissionChecks"].as_array();
            let checked = checked.is_some_and(|checks| !checks.is_empty());
            let unhealthy = wl["status"]["unhealthyNodes"].as_array();
            let unhealthy = unhealthy.is_some_and(|nodes| !nodes.is_empty());
            let sign = if reserved && is_true(wl, "Evicted") {
                "eviction under way"
            } else if reserved && !admitted && self.checks("reserved") && !checked {
                "reserved but not admitted"
            } else if admitted
                && !is_true(wl, "PodsReady")
                && self.checks("ready")
                && !key.starts_with("JobSet/")
            {
                "admitted, pods not ready"
            } else if unhealthy && self.checks("unhealthy") {
                "unhealthy nodes"
            } else if !reserved && self.never_considered(wl) {
                "never considered"
            } else {
                continue;
            };
            return Some(format!("{key} {sign}"));
        }
        None
    }

    fn never_considered(&self, wl: &Value) -> bool {
        if has_condition(wl, "QuotaReserved")
            || wl["spec"]["active"] == false
            || !self.checks("considered")
        {
            return false;
        }
        let name = self.cluster_queue_of(wl);
        let Some(queue) = name.and_then(|name| self.cluster_queues.get(name)) else {
            return false;
        };
        let behind_another = || {
            self.workloads.values().any(|other| {
                other["metadata"]["uid"] != wl["metadata"]["uid"]
                    && !is_true(other, "Finished")
                    && has_condition(other, "QuotaReserved")
                    && !is_true(other, "QuotaReserved")
                    && self.cluster_queue_of(other) == name
            })
        };
        is_true(queue, "Active")
            && (queue["spec"]["queueingStrategy"] != "StrictFIFO" || !behind_another())
    }

    fn job(&self) -> Option<String> {
        if !self.checks("jobs") {
            return None;
        }
        let pods = self.objects.objects("pods");
        for (name, job) in self.objects.objects("jobs") {
            let key = format!("Job/{name}");
            let Some(wl) = self.workloads.get(&key) else {
                continue;
            };
            let done = is_true(&job, "Complete") || is_true(&job, "Failed");
            let completions = job["spec"]["completions"].as_i64().unwrap_or(1);
            let suspended = job["spec"]["suspend"] == true;
            let elastic = job["metadata"]["annotations"]["kueue.x-k8s.io/elastic-job"] == "true";
            let live = pods.iter().any(|(pod, object)| {
                let phase = object["status"]["phase"].as_str();
                matches!(phase, Some("Pending" | "Running"))
                    && self.objects.owner_of_pod(pod).as_deref() == Some(&key)
            });
            let sign = if done && !is_true(wl, "Finished") {
                "done, workload not finished"
            } else if !done && count(&job["status"]["succeeded"]) >= completions {
                "completing"
            } else if !done && suspended == is_true(wl, "Admitted") && !elastic {
                "suspend does not match admission"
            } else if !done && !suspended && !live {
                "without pods"
            } else if suspended && live {
                "suspended with pods"
            } else {
                continue;
            };
            return Some(format!("{key} {sign}"));
        }
        None
    }

    fn cluster_queue_counts(&self) -> Option<String> {
        let mut reserving: BTreeMap<&str, i64> = BTreeMap::new();
        let mut admitted: BTreeMap<&str, i64> = BTreeMap::new();
        for wl in self
            .workloads
            .values()
            .filter(|wl| !is_true(wl, "Finished"))
        {
            if let Some(queue) = wl["status"]["admission"]["clusterQueue"].as_str() {
                *reserving.entry(queue).or_default() += 1;
                *admitted.entry(queue).or_default() += i64::from(is_true(wl, "Admitted"));
            }
        }
        let expected = |counts: &BTreeMap<&str, i64>, name: &String| {
            counts.get(name.as_str()).copied().unwrap_or_default()
        };
        let queues = self.cluster_queues.iter();
        let mut queues = queues.filter(|(_, q)| !terminates(q) && self.checks("counters"));
        let differs = queues.find(|(name, queue)| {
            let status = &queue["status"];
            count(&status["reservingWorkloads"]) != expected(&reserving, name)
                || count(&status["admittedWorkloads"]) != expected(&admitted, name)
        });
        differs.map(|(name, _)| format!("ClusterQueue {name} counters"))
    }

    fn stateful_set(&self) -> Option<String> {
        let sets = self.objects.objects("statefulsets").into_iter();
        let mut sets = sets.filter(|(_, set)| !terminates(set) && self.checks("sts"));
        let rolling = sets.find(|(name, set)| {
            let wl = self.workloads.get(&format!("StatefulSet/{name}"));
            let replicas = set["spec"]["replicas"].as_i64().unwrap_or(1);
            wl.is_some_and(|wl| is_true(wl, "Admitted"))
                && count(&set["status"]["readyReplicas"]) < replicas
        });
        rolling.map(|(name, _)| format!("StatefulSet/{name} rolling"))
    }
}
