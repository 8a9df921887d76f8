//! [`TasDomainUsage`]: the usage of a flavor's domains by workloads that reserve quota.
//!
//! Must not depend on whether the domains exist.

use std::collections::BTreeMap;

use super::assumed_usage::with_pods;
use super::topology_tree::domain_id;
use crate::resources::Requests;
use crate::workload::TopologyDomainRequests;

/// Usage of domains by workload and in total. Totals include `pods`.
#[derive(Clone, Debug, Default)]
pub(super) struct TasDomainUsage {
    workloads: BTreeMap<String, Vec<TopologyDomainRequests>>,
    domains: BTreeMap<String, Requests>,
}

impl TasDomainUsage {
    /// Adds a workload; returns its previous usage.
    pub(super) fn add(
        &mut self,
        workload: &str,
        usage: &[TopologyDomainRequests],
    ) -> Option<Vec<TopologyDomainRequests>> {
        let old = self.remove(workload);
        for domain in usage {
            let total = self.domains.entry(domain_id(&domain.values).into_owned());
            let usage = with_pods(&domain.single_pod_requests, domain.count);
            total.or_default().add(&usage);
        }
        self.workloads.insert(workload.to_owned(), usage.to_vec());
        old
    }

    /// Removes a workload; returns its usage.
    pub(super) fn remove(&mut self, workload: &str) -> Option<Vec<TopologyDomainRequests>> {
        let old = self.workloads.remove(workload)?;
        for domain in &old {
            let id = domain_id(&domain.values);
            if let Some(total) = self.domains.get_mut(&*id) {
                total.sub(&with_pods(&domain.single_pod_requests, domain.count));
                if total.iter().all(|(_, amount)| amount == 0) {
                    self.domains.remove(&*id);
                }
            }
        }
        Some(old)
    }

    /// The total usage of each domain.
    pub(super) fn domains(&self) -> impl Iterator<Item = (&str, &Requests)> {
        self.domains.iter().map(|(id, usage)| (id.as_str(), usage))
    }
}
