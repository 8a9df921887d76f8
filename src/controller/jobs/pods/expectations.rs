//! Expectations for the finalization of excess pods: a group removes further pods only after the
//! informer has observed the earlier ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;

use kueue_lab_runtime::ObjectKey;

/// UIDs of pods by group.
#[derive(Clone, Default)]
pub struct ExcessPodExpectations(Arc<Mutex<BTreeMap<ObjectKey, BTreeSet<String>>>>);

impl ExcessPodExpectations {
    /// Expects the finalization of pods.
    pub fn expect_uids<'a>(&self, group: &ObjectKey, uids: impl Iterator<Item = &'a str>) {
        let mut expected = self.0.lock();
        let of_group = expected.entry(group.clone()).or_default();
        of_group.extend(uids.map(str::to_owned));
    }

    /// A pod was observed without the finalizer, or its write failed.
    pub fn observed_uid(&self, group: &ObjectKey, uid: &str) {
        let mut expected = self.0.lock();
        if let Some(of_group) = expected.get_mut(group) {
            of_group.remove(uid);
            if of_group.is_empty() {
                expected.remove(group);
            }
        }
    }

    /// Whether no expectation is left.
    pub fn satisfied(&self, group: &ObjectKey) -> bool {
        !self.0.lock().contains_key(group)
    }
}
