//! [`PreemptionExpectations`]: preemptions that were issued and not observed yet.

use std::collections::{BTreeMap, BTreeSet};

use crate::workload::WorkloadKey;

/// Preemptions that were issued and not observed yet, so that none is issued twice.
#[derive(Clone, Debug, Default)]
pub struct PreemptionExpectations(BTreeMap<WorkloadKey, BTreeSet<String>>);

impl PreemptionExpectations {
    /// A preemption is issued.
    pub fn expect(&mut self, key: &WorkloadKey, uid: &str) {
        let uids = self.0.entry(key.clone()).or_default();
        uids.insert(uid.to_owned());
    }

    /// The preemption was observed, or will not happen.
    pub fn observed(&mut self, key: &WorkloadKey, uid: &str) {
        if let Some(uids) = self.0.get_mut(key) {
            uids.remove(uid);
            if uids.is_empty() {
                self.0.remove(key);
            }
        }
    }

    /// Whether nothing is expected of a workload.
    pub fn satisfied(&self, key: &WorkloadKey) -> bool {
        !self.0.contains_key(key)
    }
}
