//! Expectations of pod writes, as upstream's `util/expectations`: a reconciler waits until the
//! informer has observed the pods it wrote before it writes others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;

use kueue_lab_controller_runtime::ObjectKey;

/// UIDs of pods by the key of their group or Workload.
#[derive(Clone, Default)]
pub(crate) struct UidExpectations(Arc<Mutex<BTreeMap<ObjectKey, BTreeSet<String>>>>);

impl UidExpectations {
    /// Expects these pods to be observed.
    pub(crate) fn expect_uids<'a>(&self, key: &ObjectKey, uids: impl Iterator<Item = &'a str>) {
        let mut expected = self.0.lock();
        let uids_of_key = expected.entry(key.clone()).or_default();
        uids_of_key.extend(uids.map(str::to_owned));
    }

    /// A pod was observed as written, or its write failed.
    pub(crate) fn observed_uid(&self, key: &ObjectKey, uid: &str) {
        let mut expected = self.0.lock();
        if let Some(uids_of_key) = expected.get_mut(key) {
            uids_of_key.remove(uid);
            if uids_of_key.is_empty() {
                expected.remove(key);
            }
        }
    }

    /// Whether no expectation is left.
    pub(crate) fn satisfied(&self, key: &ObjectKey) -> bool {
        !self.0.lock().contains_key(key)
    }
}
