//! Pod requests as the amounts of the engine.
//!
//! Must not depend on LimitRanges or defaults; see [`super::limit_range`].

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PodSpec, PodTemplateSpec};

use kueue_lab_component_helpers::resource;

use crate::resources::{Decimal, Requests, ResourceList, ResourceName};

/// Exact quantities by resource.
pub type ExactList = BTreeMap<ResourceName, Decimal>;

/// The exact quantities of a resource list.
pub fn exact(list: &ResourceList) -> ExactList {
    list.iter()
        .map(|(n, q)| (ResourceName::new(n), Decimal::parse_lossy(q)))
        .collect()
}

/// The exact requests of one pod.
pub(crate) fn pod_requests_exact(spec: &PodSpec) -> ExactList {
    let requests = resource::pod_requests(spec).into_iter();
    requests
        .map(|(name, quantity)| (ResourceName::new(name), quantity.into()))
        .collect()
}

/// The requests of one pod in integers; see [`pod_requests_exact`].
pub fn pod_requests(spec: &PodSpec) -> Requests {
    Requests::from_exact(&pod_requests_exact(spec))
}

/// The requests of one pod of a template; empty if the template has no spec.
pub(crate) fn pod_template_requests(template: &PodTemplateSpec) -> Requests {
    template.spec.as_ref().map(pod_requests).unwrap_or_default()
}
