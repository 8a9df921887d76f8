//! [`main_resource`]: the resource of held and lost hours.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::trace::Trace;
use kueue_lab_api::v1beta2::{PodSet, Workload};
use kueue_lab_engine::Engine;

/// The index of the main resource of a trace: of the resources in the quota, the device that most jobs
/// request, else `cpu`, else another that they request. If they request none, it is the first device or
/// `cpu`.
pub(super) fn main_resource(trace: &Trace, resources: &[String], engine: &Engine) -> usize {
    let jobs = requesting_jobs(trace, engine);
    let of_quota = resources.iter().enumerate();
    let requested = of_quota.filter_map(|(index, name)| Some((index, name, jobs.get(name)?)));
    // Of equals, `rev` makes the first the last, which `max_by_key` returns.
    let requested: Vec<_> = requested.collect();
    let main = requested
        .into_iter()
        .rev()
        .max_by_key(|(_, name, jobs)| (is_device(name), name.as_str() == "cpu", **jobs));
    let device = || resources.iter().position(|name| is_device(name));
    let cpu = || resources.iter().position(|name| name == "cpu");
    main.map(|(index, ..)| index)
        .or_else(device)
        .or_else(cpu)
        .unwrap_or_default()
}

fn is_device(resource: &str) -> bool {
    resource.contains('/')
}

/// The number of jobs that request each resource, with the requests that the engine counts.
fn requesting_jobs(trace: &Trace, engine: &Engine) -> BTreeMap<String, usize> {
    // Jobs of most formats share the templates of their pods.
    let mut by_template: HashMap<_, Vec<String>> = HashMap::new();
    let mut jobs: BTreeMap<String, usize> = BTreeMap::new();
    for job in &trace.jobs {
        let mut requested: Vec<&String> = Vec::new();
        for pod_set in &job.spec.pod_sets {
            by_template
                .entry(Arc::as_ptr(&pod_set.template))
                .or_insert_with(|| requested_resources(pod_set, engine));
        }
        for pod_set in &job.spec.pod_sets {
            requested.extend(
                by_template
                    .get(&Arc::as_ptr(&pod_set.template))
                    .into_iter()
                    .flatten(),
            );
        }
        requested.sort();
        requested.dedup();
        for name in requested {
            match jobs.get_mut(name) {
                Some(count) => *count += 1,
                None => {
                    jobs.insert(name.clone(), 1);
                }
            }
        }
    }
    jobs
}

/// The resources that the pods of a pod set request: limits count as missing requests, and resources are
/// transformed.
fn requested_resources(pod_set: &PodSet, engine: &Engine) -> Vec<String> {
    let mut wl = Workload::default();
    wl.spec.pod_sets.push(pod_set.clone());
    let requests = engine.total_requests(&Arc::new(wl));
    let requested = requests.iter().filter(|(_, amount)| *amount > 0);
    requested.map(|(name, _)| name.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{ReadOptions, read_trace};
    use kueue_lab_engine::EngineConfig;
    use serde_json::json;

    /// A trace of a recorded Workload with these resources of its container.
    fn recorded(resources: &serde_json::Value) -> Trace {
        let container = json!({"name": "c", "resources": resources});
        let condition = |type_: &str, time: &str| json!({"type": type_, "status": "True", "reason": "", "message": "", "lastTransitionTime": time});
        let wl = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
            "metadata": {"namespace": "ns", "name": "w", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"queueName": "q", "podSets": [
                {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}]},
            "status": {"conditions": [
                condition("Admitted", "2026-01-01T00:00:01Z"), condition("Finished", "2026-01-01T00:01:00Z")]},
        });
        read_trace("t", &wl.to_string(), &ReadOptions::default()).unwrap()
    }

    #[test]
    fn limits_count_as_missing_requests() {
        let resources = ["amd.com/gpu", "cpu", "nvidia.com/gpu"].map(str::to_owned);
        let main = |trace: &Trace| {
            let engine = Engine::new(EngineConfig::default());
            resources[main_resource(trace, &resources, &engine)].clone()
        };
        let limits = json!({"limits": {"nvidia.com/gpu": "4"}, "requests": {"cpu": "2"}});
        assert_eq!(main(&recorded(&limits)), "nvidia.com/gpu");
        let none = json!({"requests": {"cpu": "2", "nvidia.com/gpu": "0"}});
        assert_eq!(main(&recorded(&none)), "cpu");
    }
}
