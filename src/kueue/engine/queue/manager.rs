//! [`QueueManager`]: LocalQueues, and the pending workloads of each ClusterQueue.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use thiserror::Error;

use super::cluster_queue::{OrderContext, PendingClusterQueue};
use super::inadmissible_workloads::RequeueRequest;
use super::local_queue::{PendingLocalQueue, add_from_local_queue};
use super::requeue_reason::{QuotaReservedReason, RequeueReason};
use super::second_pass_queue::SecondPassQueue;
use crate::cluster_objects::ClusterObjects;
use crate::concurrent_admission;
use crate::config::EngineConfig;
use crate::hash_map::FastHashMap;
use crate::workload::{
    DraRequests, Info, LocalQueueKey, WorkloadKey, adjust_resources, predicates,
};
use kueue_lab_api::conditions::is_condition_true;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{ClusterQueue, Workload};

/// The error of a workload that was not queued, or of a queue that was not updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum QueueError {
    /// The LocalQueue does not exist, or is stopped.
    #[error("localQueue doesn't exist or inactive")]
    LocalQueueDoesNotExistOrInactive,
    /// The ClusterQueue does not exist.
    #[error("clusterQueue doesn't exist")]
    ClusterQueueDoesNotExist,
    /// The ClusterQueue exists.
    #[error("clusterQueue already exists")]
    ClusterQueueAlreadyExists,
    /// The LocalQueue exists.
    #[error("queue already exists")]
    LocalQueueAlreadyExists,
    /// The workload is not admissible in its state.
    #[error("workload is inadmissible and can't be added to a LocalQueue")]
    WorkloadIsInadmissible,
}

/// A workload popped from a queue for the current cycle.
#[derive(Clone, Debug)]
pub struct Head {
    /// The workload, with its ClusterQueue.
    pub info: Info,
    /// Whether its preemptions are in progress.
    pub is_preemptor: bool,
}

/// The queue manager.
#[derive(Clone, Debug, Default)]
pub struct QueueManager {
    pub(super) local_queues: BTreeMap<LocalQueueKey, PendingLocalQueue>,
    pub(super) cluster_queues: BTreeMap<Arc<str>, PendingClusterQueue>,
    /// The LocalQueue of each existing workload, pending or not.
    pub(super) assigned: FastHashMap<WorkloadKey, LocalQueueKey>,
    pub(super) requeue_requests: BTreeMap<RequeueRequest, Timestamp>,
    /// Workloads that need a second pass.
    pub second_pass: SecondPassQueue,
    broadcasts: u64,
}

/// ClusterQueues.
impl QueueManager {
    /// Adds a ClusterQueue, with the workloads of its LocalQueues.
    ///
    /// # Errors
    /// When it exists.
    pub fn add_cluster_queue(
        &mut self,
        cq: &ClusterQueue,
        ctx: OrderContext<'_>,
    ) -> Result<(), QueueError> {
        let name = cq.metadata.name.as_deref().unwrap_or_default();
        if self.cluster_queues.contains_key(name) {
            return Err(QueueError::ClusterQueueAlreadyExists);
        }
        let mut pending = PendingClusterQueue::new();
        pending.update(&cq.spec, ctx.config, true);
        pending.set_active(is_active(cq));
        let mut added = false;
        for (key, queue) in self
            .local_queues
            .iter()
            .filter(|(_, q)| &*q.cluster_queue == name)
        {
            pending.set_weight(key, queue.weight, ctx);
            added |= add_from_local_queue(&mut pending, queue, ctx);
        }
        self.cluster_queues.insert(name.into(), pending);
        self.broadcast_if(added);
        Ok(())
    }

    /// Updates a ClusterQueue.
    ///
    /// # Errors
    /// When it does not exist.
    pub fn update_cluster_queue(
        &mut self,
        cq: &ClusterQueue,
        ctx: OrderContext<'_>,
    ) -> Result<(), QueueError> {
        let name = cq.metadata.name.as_deref().unwrap_or_default();
        let pending = self
            .cluster_queues
            .get_mut(name)
            .ok_or(QueueError::ClusterQueueDoesNotExist)?;
        pending.update(&cq.spec, ctx.config, false);
        let started = pending.set_active(is_active(cq));
        self.broadcast_if(started);
        Ok(())
    }

    /// Deletes a ClusterQueue; its workloads stay in their LocalQueues.
    pub(crate) fn delete_cluster_queue(&mut self, name: &str) {
        self.cluster_queues.remove(name);
    }

    /// The pending workloads of a ClusterQueue.
    pub fn cluster_queue(&self, queue: &str) -> Option<&PendingClusterQueue> {
        self.cluster_queues.get(queue)
    }

    /// The pending workloads of a ClusterQueue, mutably.
    pub fn cluster_queue_mut(&mut self, queue: &str) -> Option<&mut PendingClusterQueue> {
        self.cluster_queues.get_mut(queue)
    }

    /// The names of all ClusterQueues.
    pub fn cluster_queue_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.cluster_queues.keys()
    }

    /// Rebuilds the heap of a ClusterQueue after LocalQueue usage changed.
    pub(crate) fn rebuild(&mut self, queue: &str, ctx: OrderContext<'_>) {
        if let Some(pending) = self.cluster_queues.get_mut(queue) {
            pending.rebuild(ctx);
        }
    }
}

/// Workloads.
impl QueueManager {
    /// Whether a workload is a parent of variants.
    pub fn is_concurrent_admission_parent(&self, wl: &Workload, ctx: OrderContext<'_>) -> bool {
        if !ctx.config.gates.concurrent_admission || concurrent_admission::is_variant(wl) {
            return false;
        }
        let queue = self.cluster_queue_of(&predicates::local_queue_key(wl));
        let pending = queue.and_then(|(name, _)| self.cluster_queues.get(name));
        pending.is_some_and(PendingClusterQueue::has_concurrent_admission)
    }

    /// Adds or updates an adjusted workload.
    ///
    /// # Errors
    /// When it is not admissible, or its queue does not exist.
    pub fn add_or_update_workload(
        &mut self,
        wl: &Arc<Workload>,
        dra: Option<&DraRequests>,
        ctx: OrderContext<'_>,
        now: Timestamp,
    ) -> Result<(), QueueError> {
        if self.is_concurrent_admission_parent(wl, ctx) {
            return Ok(());
        }
        if !predicates::is_admissible(wl, &ctx.config.gates) {
            return Err(QueueError::WorkloadIsInadmissible);
        }
        let key = predicates::key(wl);
        let queue_key = predicates::local_queue_key(wl);
        if self.assigned.get(&key).is_some_and(|q| *q != queue_key) {
            self.delete_and_forget_workload(&key, ctx);
        }
        let queue = self
            .local_queues
            .get_mut(&queue_key)
            .ok_or(QueueError::LocalQueueDoesNotExistOrInactive)?;
        let mut info = Info::with_dra(wl.clone(), ctx.config, dra);
        let pending = self.cluster_queues.get_mut(&queue.cluster_queue);
        if ctx.config.gates.flavor_fungibility_preserve_scan_progress {
            let tracked = pending.as_ref().and_then(|p| p.get(&key));
            let progress = tracked.and_then(|t| t.last_assignment.as_ref());
            info.last_assignment = progress
                .filter(|p| p.matches_scheduling_shape(&info.scheduling_hash))
                .cloned();
        }
        let info = Arc::new(info);
        self.assigned.insert(key.clone(), queue_key);
        queue.items.insert(key, info.clone());
        let pending = pending.ok_or(QueueError::ClusterQueueDoesNotExist)?;
        pending.push_or_update(info, ctx, now);
        self.broadcast_if(true);
        Ok(())
    }

    /// Requeues a workload that was not admitted, in its latest version `latest` if it still
    /// exists. True unless it was present.
    #[expect(
        clippy::too_many_arguments,
        reason = "all of it decides where the workload goes"
    )]
    pub fn requeue_workload(
        &mut self,
        info: &mut Info,
        latest: Option<&Arc<Workload>>,
        reason: RequeueReason,
        quota_reserved_reason: Option<QuotaReservedReason>,
        cluster_objects: &ClusterObjects,
        ctx: OrderContext<'_>,
        now: Timestamp,
    ) -> bool {
        let latest = latest.filter(|wl| predicates::is_admissible(wl, &ctx.config.gates));
        let Some(latest) = latest else { return false };
        let queue_key = if Arc::ptr_eq(latest, &info.obj) {
            info.local_queue.clone()
        } else {
            predicates::local_queue_key(latest)
        };
        let Some(queue) = self.local_queues.get_mut(&queue_key) else {
            return false;
        };
        *info = info.updated(adjust_resources(latest, cluster_objects), ctx.config);
        let info = Arc::new(info.clone());
        self.assigned.insert(info.key.clone(), queue_key);
        queue.items.insert(info.key.clone(), info.clone());
        let Some(pending) = self.cluster_queues.get_mut(&queue.cluster_queue) else {
            return false;
        };
        let added = pending.requeue_if_not_present(info, reason, quota_reserved_reason, ctx, now);
        self.broadcast_if(added);
        added
    }

    /// Deletes a workload from the queues.
    pub fn delete_workload(&mut self, key: &WorkloadKey, ctx: OrderContext<'_>) {
        let queue = self
            .assigned
            .get(key)
            .and_then(|q| self.local_queues.get_mut(q));
        let Some(queue) = queue else { return };
        queue.items.remove(key);
        if let Some(pending) = self.cluster_queues.get_mut(&queue.cluster_queue) {
            pending.delete(key, ctx);
        }
        self.second_pass.delete(key);
    }

    /// Deletes a workload from the queues and drops its LocalQueue assignment.
    pub(crate) fn delete_and_forget_workload(&mut self, key: &WorkloadKey, ctx: OrderContext<'_>) {
        self.delete_workload(key, ctx);
        self.assigned.remove(key);
    }

    /// Records the LocalQueue of a workload that reserves quota: when the workload is deleted, the
    /// inadmissible workloads there are requeued.
    pub(crate) fn assign_workload(&mut self, key: &WorkloadKey, queue: LocalQueueKey) {
        self.assigned.insert(key.clone(), queue);
    }

    /// The last LocalQueue of a workload.
    pub fn assigned_local_queue(&self, key: &WorkloadKey) -> Option<&LocalQueueKey> {
        self.assigned.get(key)
    }

    /// The ClusterQueue of the last LocalQueue of a workload, pending or not.
    pub(crate) fn associated_cluster_queue(&self, key: &WorkloadKey) -> Option<&Arc<str>> {
        let queue = self.local_queues.get(self.assigned.get(key)?)?;
        self.cluster_queues
            .contains_key(&queue.cluster_queue)
            .then_some(&queue.cluster_queue)
    }

    /// Pops the head of every active ClusterQueue, and all workloads that are due for a second
    /// pass.
    pub fn heads(&mut self, active: impl Fn(&str) -> bool, ctx: OrderContext<'_>) -> Vec<Head> {
        let mut heads: Vec<Head> = self
            .second_pass
            .take_all_ready()
            .into_iter()
            .map(|info| Head {
                info: Info::clone(&info),
                is_preemptor: false,
            })
            .collect();
        heads.reserve(self.cluster_queues.len());
        for (name, pending) in &mut self.cluster_queues {
            if !active(name) {
                continue;
            }
            let Some(popped) = pending.pop(ctx) else {
                continue;
            };
            let is_preemptor = pending.is_preemptor(&popped);
            let mut info = Info::clone(&popped);
            info.cluster_queue = name.clone();
            let queue = self
                .assigned
                .get(&info.key)
                .and_then(|q| self.local_queues.get_mut(q));
            if let Some(queue) = queue {
                queue.items.remove(&info.key);
            }
            heads.push(Head { info, is_preemptor });
        }
        heads
    }

    /// Whether there are heads: a second pass is due, or the heap of an active ClusterQueue is not
    /// empty.
    ///
    /// Without heads it ends a pop of each active ClusterQueue, as `Heads` upstream before it
    /// waits: a workload that was not requeued, because it became inadmissible during the cycle, is
    /// no longer inflight, so that its next update queues it.
    pub fn has_heads(&mut self, active: impl Fn(&str) -> bool) -> bool {
        let mut queues = self.cluster_queues.iter();
        if self.second_pass.has_ready() || queues.any(|(name, p)| !p.is_idle() && active(name)) {
            return true;
        }
        for (name, pending) in &mut self.cluster_queues {
            if active(name) {
                pending.pop_nothing();
            }
        }
        false
    }
}

/// Broadcasts to the scheduler.
impl QueueManager {
    /// The number of broadcasts to a scheduler that waits for heads. Not every event that provides
    /// a head wakes it: after a stopped ClusterQueue is resumed, its heads wait until its Active
    /// condition is True or one of its workloads changes.
    pub fn broadcasts(&self) -> u64 {
        self.broadcasts
    }

    /// Wakes a scheduler that waits for heads, because ClusterQueues became active by another event
    /// than their own.
    pub(crate) fn broadcast(&mut self) {
        self.broadcast_if(true);
    }

    pub(super) fn broadcast_if(&mut self, changed: bool) {
        self.broadcasts += u64::from(changed);
    }

    /// Advances the second pass queue; true when a workload became ready.
    pub(crate) fn advance_second_pass(&mut self, now: Timestamp, config: &EngineConfig) -> bool {
        let ready = self.second_pass.advance(now, config);
        self.broadcast_if(ready);
        ready
    }
}

/// Whether the Active condition of a ClusterQueue is True.
fn is_active(cq: &ClusterQueue) -> bool {
    is_condition_true(&cq.status.conditions, c::ACTIVE)
}
