//! [`PreemptionExpectations`]: preemptions that were issued and are not observed yet.

use std::collections::{BTreeMap, BTreeSet};

use crate::workload::WorkloadKey;

/// Preemptions that were issued and are not observed yet; none is issued twice.
#[derive(Clone, Debug, Default)]
pub struct PreemptionExpectations(BTreeMap<WorkloadKey, BTreeSet<String>>);

impl PreemptionExpectations {
    /// Records an issued preemption.
    pub fn expect(&mut self, key: &WorkloadKey, uid: &str) {
        let uids = self.0.entry(key.clone()).or_default();
        uids.insert(uid.to_owned());
    }

    /// Records that a preemption was observed or failed.
    pub fn observed(&mut self, key: &WorkloadKey, uid: &str) {
        if let Some(uids) = self.0.get_mut(key) {
            uids.remove(uid);
            if uids.is_empty() {
                self.0.remove(key);
            }
        }
    }

    /// Whether no preemption of a workload is expected.
    pub fn satisfied(&self, key: &WorkloadKey) -> bool {
        !self.0.contains_key(key)
    }
}
