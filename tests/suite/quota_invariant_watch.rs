//! [`QuotaInvariantWatch`]: checks continuously that quota is not exceeded.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use futures::StreamExt;
use kube::Client;
use kube::runtime::watcher;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::objects::{GPU, WORKLOAD, api, as_integer, is_condition_true, is_owned_by, name};
use crate::wait::{WatchedObjects, apply_event};

/// Watches the Workloads of a namespace.
pub(crate) struct QuotaInvariantWatch {
    limit: Arc<AtomicI64>,
    violations: Arc<Mutex<Vec<String>>>,
    watching: JoinHandle<()>,
}

impl Drop for QuotaInvariantWatch {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

impl QuotaInvariantWatch {
    /// Starts to watch.
    pub(crate) fn start(client: &Client, namespace: &str) -> Self {
        let limit = Arc::new(AtomicI64::new(i64::MAX));
        let violations = Arc::new(Mutex::new(Vec::new()));
        let (most, found) = (limit.clone(), violations.clone());
        let api = api(client, WORKLOAD, Some(namespace));
        let watching = tokio::spawn(async move {
            let mut known = WatchedObjects::new();
            let mut events = pin!(watcher::watcher(api, watcher::Config::default()));
            while let Some(event) = events.next().await {
                // The kind may not be served yet.
                let Ok(event) = event else {
                    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
                    continue;
                };
                if apply_event(&mut known, event) {
                    let fault = check(&known, most.load(Ordering::SeqCst));
                    found.lock().extend(fault);
                }
            }
        });
        Self {
            limit,
            violations,
            watching,
        }
    }

    /// Sets the GPUs that ClusterQueues provide.
    pub(crate) fn set_limit(&self, gpus: i64) {
        self.limit.store(gpus, Ordering::SeqCst);
    }

    /// Panics if quota was exceeded at any time.
    pub(crate) fn assert_no_violations(&self) {
        let faults = self.violations.lock();
        assert!(faults.is_empty(), "{faults:#?}");
    }
}

/// Whether a Workload has quota reserved.
fn has_quota_reservation(workload: &Value) -> bool {
    is_condition_true(workload, "QuotaReserved") && !is_condition_true(workload, "Finished")
}

/// The GPUs assigned to a Workload.
fn assigned_gpus(workload: &Value) -> i64 {
    let sets = workload["status"]["admission"]["podSetAssignments"].as_array();
    let sets = sets.into_iter().flatten();
    sets.map(|set| as_integer(&set["resourceUsage"][GPU])).sum()
}

fn check(known: &WatchedObjects, limit: i64) -> Option<String> {
    let reserved: Vec<&Value> = known
        .values()
        .filter(|wl| has_quota_reservation(wl))
        .collect();
    let sum: i64 = reserved.iter().map(|wl| assigned_gpus(wl)).sum();
    let names: Vec<&str> = reserved.iter().map(|wl| name(wl)).collect();
    if sum > limit {
        return Some(format!("{sum} GPUs of {limit} given to {names:?}"));
    }
    let mut owners = BTreeMap::new();
    for workload in reserved {
        let owner = &workload["metadata"]["ownerReferences"][0]["uid"];
        let other = owners.insert(owner.to_string(), name(workload));
        if let (Some(other), false) = (other, owner.is_null()) {
            return Some(format!("{other} and {} are of one job", name(workload)));
        }
    }
    None
}

/// Each queued Job has one Workload, and is unsuspended exactly when that is admitted.
pub(crate) fn check_jobs(jobs: &[Value], workloads: &[Value]) -> Result<(), String> {
    for job in jobs {
        let labels = &job["metadata"]["labels"];
        if labels["kueue.x-k8s.io/queue-name"].is_null() {
            continue;
        }
        let of: Vec<&Value> = workloads.iter().filter(|wl| is_owned_by(wl, job)).collect();
        let [workload] = of.as_slice() else {
            return Err(format!("{} has {} Workloads", name(job), of.len()));
        };
        let is_over = is_condition_true(job, "Complete") || is_condition_true(job, "Failed");
        if is_over != is_condition_true(workload, "Finished") {
            return Err(format!(
                "{} is over: {is_over}; not so its Workload",
                name(job)
            ));
        }
        let runs = job["spec"]["suspend"] != true;
        if !is_over && runs != is_condition_true(workload, "Admitted") {
            return Err(format!(
                "{} is unsuspended: {runs}; its Workload differs",
                name(job)
            ));
        }
    }
    Ok(())
}

/// The usage in a ClusterQueue's status is that of its Workloads.
pub(crate) fn check_queue(queue: &Value, workloads: &[Value]) -> Result<(), String> {
    let own = |wl: &&Value| wl["status"]["admission"]["clusterQueue"] == name(queue);
    let reserved: Vec<&Value> = workloads
        .iter()
        .filter(own)
        .filter(|wl| has_quota_reservation(wl))
        .collect();
    let sum: i64 = reserved.iter().map(|wl| assigned_gpus(wl)).sum();
    let status = &queue["status"];
    for field in ["flavorsReservation", "flavorsUsage"] {
        let flavors = status[field].as_array().into_iter().flatten();
        let resources = flavors.flat_map(|f| f["resources"].as_array().into_iter().flatten());
        let printed: i64 = resources.map(|r| as_integer(&r["total"])).sum();
        if printed != sum {
            return Err(format!("{}: {field} {printed}, not {sum}", name(queue)));
        }
    }
    let admitted = reserved
        .iter()
        .filter(|wl| is_condition_true(wl, "Admitted"))
        .count();
    for (field, count) in [
        ("reservingWorkloads", reserved.len()),
        ("admittedWorkloads", admitted),
    ] {
        if as_integer(&status[field]) != count as i64 {
            return Err(format!(
                "{}: {field} {}, not {count}",
                name(queue),
                status[field]
            ));
        }
    }
    Ok(())
}
