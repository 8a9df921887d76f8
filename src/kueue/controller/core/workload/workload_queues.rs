//! The LocalQueue and the ClusterQueue of a Workload.

use std::sync::Arc;

use crate::ControllerContext;
use kueue_lab_api::v1beta2::{ClusterQueue, LocalQueue, StopPolicy, Workload};
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_engine::workload::predicates;

/// The queues of a Workload.
pub(super) struct WorkloadQueues {
    pub(super) local_queue: Option<Arc<LocalQueue>>,
    /// The name of the ClusterQueue, interned by the queues.
    pub(super) cluster_queue_name: Option<Arc<str>>,
    pub(super) cluster_queue: Option<Arc<ClusterQueue>>,
}

impl WorkloadQueues {
    pub(super) fn of(shared: &ControllerContext, wl: &Workload) -> Self {
        let key = ObjectKey::new(predicates::namespace(wl), &wl.spec.queue_name);
        let engine = shared.engine();
        let referenced = engine
            .cluster_queue_of(wl)
            .map(|(name, exists)| (name.clone(), exists));
        drop(engine);
        let cluster = |name: &str| {
            shared
                .informers
                .cluster_queues
                .get(&ObjectKey::cluster(name))
        };
        Self {
            local_queue: shared.informers.local_queues.get(&key),
            cluster_queue: referenced
                .as_ref()
                .filter(|(_, exists)| *exists)
                .and_then(|(n, _)| cluster(n)),
            cluster_queue_name: referenced.map(|(name, _)| name),
        }
    }

    pub(super) fn is_local_queue_active(&self) -> bool {
        self.local_queue
            .as_ref()
            .is_none_or(|lq| lq.spec.stop_policy() == StopPolicy::None)
    }
}
