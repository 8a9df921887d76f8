//! [`Info`]: a Workload with precomputed scheduling data.

use std::sync::Arc;

use jiff::Timestamp;

use super::assignment_state::AssignmentClusterQueueState;
use super::equivalence_hash::EquivalenceHash;
use super::ordering::{QueueOrderKey, effective_priority, queue_order_timestamp};
use super::predicates::{generation, key, local_queue_key, uid};
use super::total_requests::{
    DraRequests, PodSetResources, total_requests_from_admission, total_requests_from_pod_sets,
};
use super::{LocalQueueKey, WorkloadKey};
use crate::config::EngineConfig;
use crate::resources::Requests;
use crate::workload::TasUsage;
use kueue_lab_api::v1beta2::Workload;

/// A Workload with its total requests and queue order. Computed from every version of the object;
/// scheduling state is carried over.
#[derive(Clone, Debug)]
pub struct Info {
    /// The object, with adjusted requests.
    pub obj: Arc<Workload>,
    /// Its key.
    pub key: WorkloadKey,
    /// Its LocalQueue.
    pub local_queue: LocalQueueKey,
    /// The total requests of each pod set. Shared, because an Info is copied between queues and
    /// cycle.
    pub total_requests: Arc<[PodSetResources]>,
    /// The resource requests of its devices, if resolved.
    pub dra: Option<Arc<DraRequests>>,
    /// The ClusterQueue it is admitted to or was popped from; otherwise empty.
    pub cluster_queue: Arc<str>,
    /// The last tried flavors.
    pub last_assignment: Option<Arc<AssignmentClusterQueueState>>,
    /// The number of second passes.
    pub second_pass_iteration: u32,
    /// The generation at the last evaluation.
    pub last_evaluated_generation: i64,
    /// Its scheduling hash.
    pub scheduling_hash: EquivalenceHash,
    /// Its effective priority.
    pub priority: i64,
    /// Its queue order timestamp.
    pub queue_timestamp: Timestamp,
}

impl Info {
    /// Computes the data of a Workload.
    pub fn new(obj: Arc<Workload>, config: &EngineConfig) -> Self {
        Self::with_dra(obj, config, None)
    }

    /// Computes the data of a Workload for the cache, without scheduling hash.
    pub(crate) fn without_scheduling_hash(obj: Arc<Workload>, config: &EngineConfig) -> Self {
        Self::build(obj, config, None, |_, _| EquivalenceHash::Unknown)
    }

    /// The same Workload with an admission, for the cache: key, LocalQueue and priority do not
    /// change.
    #[must_use]
    pub fn admitted(&self, obj: Arc<Workload>, config: &EngineConfig) -> Self {
        let admission = obj.status.admission.as_ref();
        Info {
            total_requests: total_requests_from_admission(&obj, config).into(),
            cluster_queue: admission.map_or_else(Arc::default, |a| a.cluster_queue.as_str().into()),
            last_assignment: None,
            second_pass_iteration: 0,
            last_evaluated_generation: 0,
            scheduling_hash: EquivalenceHash::Unknown,
            queue_timestamp: queue_order_timestamp(&obj, config),
            dra: None,
            key: self.key.clone(),
            local_queue: self.local_queue.clone(),
            priority: self.priority,
            obj,
        }
    }

    /// Computes the data of a Workload with device requests.
    pub(crate) fn with_dra(
        obj: Arc<Workload>,
        config: &EngineConfig,
        dra: Option<&DraRequests>,
    ) -> Self {
        Self::with_shared_dra(obj, config, dra.cloned().map(Arc::new))
    }

    fn with_shared_dra(
        obj: Arc<Workload>,
        config: &EngineConfig,
        dra: Option<Arc<DraRequests>>,
    ) -> Self {
        Self::build(obj, config, dra, |obj, totals| {
            EquivalenceHash::of(obj, totals, &config.gates)
        })
    }

    fn build(
        obj: Arc<Workload>,
        config: &EngineConfig,
        dra: Option<Arc<DraRequests>>,
        hash: impl FnOnce(&Workload, &[PodSetResources]) -> EquivalenceHash,
    ) -> Self {
        let (total_requests, cluster_queue) = match &obj.status.admission {
            Some(a) => (
                total_requests_from_admission(&obj, config),
                Arc::from(a.cluster_queue.as_str()),
            ),
            None => (
                total_requests_from_pod_sets(&obj, config, dra.as_deref()),
                Arc::from(""),
            ),
        };
        Info {
            key: key(&obj),
            local_queue: local_queue_key(&obj),
            cluster_queue,
            last_assignment: None,
            second_pass_iteration: 0,
            last_evaluated_generation: 0,
            scheduling_hash: hash(&obj, &total_requests),
            priority: effective_priority(&obj, &config.gates),
            queue_timestamp: queue_order_timestamp(&obj, config),
            total_requests: total_requests.into(),
            dra,
            obj,
        }
    }

    /// The same Workload in a newer version, with its scheduling state and device requests.
    #[must_use]
    pub fn updated(&self, obj: Arc<Workload>, config: &EngineConfig) -> Self {
        if Arc::ptr_eq(&obj, &self.obj) && obj.status.admission.is_none() {
            return Info {
                cluster_queue: Arc::default(),
                ..self.clone()
            };
        }
        Info {
            last_assignment: self.last_assignment.clone(),
            second_pass_iteration: self.second_pass_iteration,
            last_evaluated_generation: self.last_evaluated_generation,
            ..Info::with_shared_dra(obj, config, self.dra.clone())
        }
    }

    /// The object's UID.
    pub fn uid(&self) -> &str {
        uid(&self.obj)
    }

    /// Its key and UID, which identify the object.
    pub fn identity(&self) -> (WorkloadKey, String) {
        (self.key.clone(), self.uid().to_owned())
    }

    /// Its queue order key.
    pub(crate) fn queue_order_key(&self) -> QueueOrderKey {
        QueueOrderKey {
            priority: self.priority,
            queue_timestamp: self.queue_timestamp,
        }
    }

    /// The object's generation.
    pub fn generation(&self) -> i64 {
        generation(&self.obj)
    }

    /// Whether any pod set has a topology assignment.
    pub(crate) fn is_using_tas(&self) -> bool {
        self.total_requests
            .iter()
            .any(|ps| ps.topology_request.is_some())
    }

    /// The usage of topology domains, by flavor.
    pub fn tas_usage(&self) -> TasUsage {
        let mut usage = TasUsage::new();
        for ps in &*self.total_requests {
            let Some(request) = &ps.topology_request else {
                continue;
            };
            let mut flavors: Vec<_> = ps.flavors.values().collect();
            flavors.sort();
            flavors.dedup();
            for flavor in flavors {
                usage
                    .entry(flavor.clone())
                    .or_default()
                    .extend(request.domain_requests.iter().cloned());
            }
        }
        usage
    }

    /// The requests without an assigned flavor.
    pub fn unassigned_requests(&self) -> Requests {
        let mut sum = Requests::new();
        for ps in &*self.total_requests {
            for (name, amount) in ps.requests.iter() {
                if ps.flavors.get(&name).is_none_or(|f| f.is_empty()) {
                    sum.add_one(name, amount);
                }
            }
        }
        sum
    }

    /// The total requests of all pod sets.
    pub(crate) fn sum_total_requests(&self) -> Requests {
        let mut sum = Requests::new();
        for ps in &*self.total_requests {
            sum.add(&ps.requests);
        }
        sum
    }
}
