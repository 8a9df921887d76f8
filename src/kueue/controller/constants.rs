//! Constants of the controllers, as upstream's `pkg/controller/constants`.

use std::time::Duration;

/// Batch period for changes of objects that enqueue another object.
pub(crate) const UPDATES_BATCH_PERIOD: Duration = Duration::from_secs(1);

/// The label of the objects of a LeaderWorkerSet with its name.
pub(crate) const LEADER_WORKER_SET_NAME_LABEL: &str = "leaderworkerset.sigs.k8s.io/name";
