//! Pods of groups that were finalized but are not seen so yet: as long as there are any, no others are
//! removed from the group.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;

use kueue_lab_runtime::ObjectKey;

/// UIDs of pods by group.
#[derive(Clone, Default)]
pub struct ExcessPodExpectations(Arc<Mutex<BTreeMap<ObjectKey, BTreeSet<String>>>>);

impl ExcessPodExpectations {
    /// These pods are about to be finalized.
    pub fn expect_uids<'a>(&self, group: &ObjectKey, uids: impl Iterator<Item = &'a str>) {
        let mut expected = self.0.lock();
        let of_group = expected.entry(group.clone()).or_default();
        of_group.extend(uids.map(str::to_owned));
    }

    /// This pod is seen to be finalized, or will never be.
    pub fn observed_uid(&self, group: &ObjectKey, uid: &str) {
        let mut expected = self.0.lock();
        if let Some(of_group) = expected.get_mut(group) {
            of_group.remove(uid);
            if of_group.is_empty() {
                expected.remove(group);
            }
        }
    }

    /// Whether all pods were seen.
    pub fn satisfied(&self, group: &ObjectKey) -> bool {
        !self.0.lock().contains_key(group)
    }
}
