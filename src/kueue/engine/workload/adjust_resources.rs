//! Adjusts the requests of a Workload: RuntimeClass overhead, LimitRange defaults, and limits as
//! missing requests. The stored object is not changed.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{PodSpec, ResourceRequirements};

use super::predicates::namespace;
use crate::cluster_objects::ClusterObjects;
use crate::kube::limit_range::use_limits_as_missing_requests;
use kueue_lab_api::v1beta2::Workload;

/// The Workload with adjusted requests; the same object when nothing changes.
pub fn adjust_resources(wl: &Arc<Workload>, cluster_objects: &ClusterObjects) -> Arc<Workload> {
    let limits = cluster_objects.limit_range_summary(namespace(wl));
    let specs = || {
        wl.spec
            .pod_sets
            .iter()
            .filter_map(|ps| ps.template.spec.as_ref())
    };
    let changes = limits.is_some()
        || specs()
            .any(|s| missing_overhead(s, cluster_objects).is_some() || is_missing_requests(s));
    if !changes {
        return wl.clone();
    }
    let mut adjusted = Workload::clone(wl);
    for pod_set in &mut adjusted.spec.pod_sets {
        let Some(spec) = &mut Arc::make_mut(&mut pod_set.template).spec else {
            continue;
        };
        if let Some(overhead) = missing_overhead(spec, cluster_objects) {
            spec.overhead = Some(overhead.clone());
        }
        if let Some(limits) = limits {
            limits.apply_defaults(spec);
        }
        use_limits_as_missing_requests(spec);
    }
    Arc::new(adjusted)
}

/// The overhead of the pod's RuntimeClass, if the pod has none.
fn missing_overhead<'w>(
    spec: &PodSpec,
    cluster_objects: &'w ClusterObjects,
) -> Option<&'w crate::resources::ResourceList> {
    if spec.overhead.as_ref().is_some_and(|o| !o.is_empty()) {
        return None;
    }
    cluster_objects.overhead(spec.runtime_class_name.as_deref()?)
}

/// Whether a limit has no corresponding request.
fn is_missing_requests(spec: &PodSpec) -> bool {
    let has_missing_request = |r: &ResourceRequirements| {
        let requested = |name: &String| {
            r.requests
                .as_ref()
                .is_some_and(|requests| requests.contains_key(name))
        };
        r.limits
            .iter()
            .flat_map(|l| l.keys())
            .any(|name| !requested(name))
    };
    spec.init_containers
        .iter()
        .flatten()
        .chain(&spec.containers)
        .filter_map(|c| c.resources.as_ref())
        .chain(&spec.resources)
        .any(has_missing_request)
}
