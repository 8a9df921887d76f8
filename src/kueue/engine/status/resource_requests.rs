//! The resource requests in a Workload's status.

use crate::resources::{Decimal, ResourceFormatter, ResourceList};
use crate::workload::Info;
use kueue_lab_api::v1beta2::{PodSetRequest, Workload};

/// The requests of every pod set, as the status reports them without quota reservation.
pub fn resource_requests(info: &Info, formatter: &ResourceFormatter) -> Vec<PodSetRequest> {
    info.total_requests
        .iter()
        .map(|ps| PodSetRequest {
            name: ps.name.clone(),
            resources: ps.requests.to_list(formatter),
        })
        .collect()
}

/// Sets the resource requests in the status. True when anything changed.
pub fn propagate_resource_requests(wl: &mut Workload, requests: &[PodSetRequest]) -> bool {
    let same = |a: &PodSetRequest, b: &PodSetRequest| {
        a.name == b.name && same_amounts(&a.resources, &b.resources)
    };
    let known = &wl.status.resource_requests;
    if known.len() == requests.len() && known.iter().zip(requests).all(|(a, b)| same(a, b)) {
        return false;
    }
    wl.status.resource_requests = requests.to_vec();
    true
}

fn same_amounts(a: &ResourceList, b: &ResourceList) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|((an, aq), (bn, bq))| {
            an == bn && (aq == bq || Decimal::parse_lossy(aq) == Decimal::parse_lossy(bq))
        })
}
