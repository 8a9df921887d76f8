//! [`TasDomainUsage`]: which domains of a flavor the workloads that hold quota take up.
//!
//! Must not know whether the domains exist.

use std::collections::BTreeMap;

use super::assumed_usage::with_pods;
use super::topology_tree::domain_id;
use crate::resources::Requests;
use crate::workload::TopologyDomainRequests;

/// Usage of domains by workload and in total. Totals include the share of `non_tas_usage`.
#[derive(Clone, Debug, Default)]
pub(super) struct TasDomainUsage {
    workloads: BTreeMap<String, Vec<TopologyDomainRequests>>,
    domains: BTreeMap<String, Requests>,
}

impl TasDomainUsage {
    /// Enters a workload; gives what it had before.
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

    /// Strikes a workload; gives what it had.
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

    /// What is taken of each domain in total.
    pub(super) fn domains(&self) -> impl Iterator<Item = (&str, &Requests)> {
        self.domains.iter().map(|(id, usage)| (id.as_str(), usage))
    }
}
