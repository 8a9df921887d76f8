//! [`main_resource`]: the resource of held and lost hours.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::trace::Trace;
use kueue_lab_admission::kube::pod_requests::pod_requests;

/// The index of the main resource of a trace: of the resources in the quota, the device that most jobs
/// request, else `cpu`, else another that they request. If they request none, it is the first device or
/// `cpu`.
pub(super) fn main_resource(trace: &Trace, resources: &[String]) -> usize {
    let jobs = requesting_jobs(trace);
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

/// The number of jobs that request each resource.
fn requesting_jobs(trace: &Trace) -> BTreeMap<String, usize> {
    // Jobs of most formats share the templates of their pods.
    let mut by_template: HashMap<_, Vec<String>> = HashMap::new();
    let mut jobs: BTreeMap<String, usize> = BTreeMap::new();
    for job in &trace.jobs {
        let mut requested: Vec<&String> = Vec::new();
        for pod_set in &job.spec.pod_sets {
            by_template
                .entry(Arc::as_ptr(&pod_set.template))
                .or_insert_with(|| {
                    let requests = pod_set.template.spec.as_ref().map(pod_requests);
                    let requests = requests.unwrap_or_default();
                    let names = requests.iter().map(|(name, _)| name.to_string());
                    names.collect()
                });
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
