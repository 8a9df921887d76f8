//! Dynamic resource allocation: object events, and queueing the Workloads that request devices.
//!
//! Such a Workload is not queued by its own event: the workload reconciler resolves its device
//! requests, queues it or reports the errors.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaimTemplate, ResourceSlice};

use super::{Engine, order_context};
use crate::dra::{self, DraCache, DraRequestInputs};
use crate::queue::QueueError;
use crate::workload::predicates::{self, Status};
use crate::workload::{DraRequests, adjust_resources};
use kueue_lab_api::field::{FieldErrors, aggregate};
use kueue_lab_api::v1beta2::Workload;

impl Engine {
    /// Whether the device requests of a Workload are resolved before it is queued.
    pub fn needs_dra_reconcile(&self, wl: &Workload) -> bool {
        dra::needs_dra_reconcile(wl, &self.dra_cache, &self.config.gates)
    }

    /// The resource requests of the devices of a Workload; none without devices.
    ///
    /// # Errors
    /// Of requests that cannot be resolved.
    pub(crate) fn dra_requests(
        &self,
        wl: &Arc<Workload>,
    ) -> Result<Option<DraRequests>, FieldErrors> {
        let inputs = self.dra_request_inputs(wl);
        inputs.map_or(Ok(None), |inputs| inputs.count())
    }

    /// What the device requests of a Workload are counted from; none without devices.
    pub fn dra_request_inputs(&self, wl: &Arc<Workload>) -> Option<DraRequestInputs> {
        if !self.config.gates.kueue_dra_integration || !self.needs_dra_reconcile(wl) {
            return None;
        }
        Some(DraRequestInputs {
            workload: adjust_resources(wl, &self.cluster_objects),
            devices: self.dra_cache.clone(),
            mappings: self.config.device_class_mappings.clone(),
            gates: self.config.gates.clone(),
        })
    }

    /// The objects of `resource.k8s.io` at this time.
    pub fn dra_cache(&self) -> Arc<DraCache> {
        self.dra_cache.clone()
    }

    /// The reason that the device requests of a Workload cannot be counted, as the message of its
    /// QuotaReserved condition; none if they can, or without devices.
    pub(super) fn dra_inadmissible_message(&self, wl: &Arc<Workload>) -> Option<String> {
        if !self.needs_dra_reconcile(wl) {
            return None;
        }
        if !self.config.gates.kueue_dra_integration {
            return Some(dra::GATE_DISABLED.to_owned());
        }
        if dra::has_resource_claims(wl) {
            return Some(dra::RESOURCE_CLAIMS_NOT_SUPPORTED.to_owned());
        }
        let counted = self.dra_requests(wl);
        counted.err().map(|errors| aggregate(&errors))
    }

    /// Queues a pending Workload that requests devices, as its reconciler does. It is not queued
    /// while its requests cannot be counted; [`Engine::explain`] returns the reason.
    pub fn queue_if_devices_are_counted(&mut self, wl: &Arc<Workload>, now: Timestamp) {
        if predicates::status(wl) != Status::Pending
            || !self.needs_dra_reconcile(wl)
            || self.dra_inadmissible_message(wl).is_some()
            || !predicates::is_admissible(wl, &self.config.gates)
        {
            return;
        }
        if let Ok(counted) = self.dra_requests(wl) {
            // Without its queue it is queued when the queue is added.
            let _ = self.queue_workload_with_dra(wl, counted.as_ref(), now);
        }
    }

    /// Queues a Workload with the resource requests of its devices.
    ///
    /// # Errors
    /// When it is not admissible, or its queue does not exist.
    pub fn queue_workload_with_dra(
        &mut self,
        wl: &Arc<Workload>,
        counted: Option<&DraRequests>,
        now: Timestamp,
    ) -> Result<(), QueueError> {
        let adjusted = adjust_resources(wl, &self.cluster_objects);
        let ctx = order_context!(self);
        self.queues
            .add_or_update_workload(&adjusted, counted, ctx, now)
    }

    /// Adds or updates a DeviceClass. Pending Workloads that request an extended resource the class
    /// no longer backs are requeued with the resource itself.
    pub(super) fn upsert_device_class(&mut self, class: Arc<DeviceClass>, now: Timestamp) {
        let changed = Arc::make_mut(&mut self.dra_cache).upsert_class(class);
        self.requeue_pending_with_extended_resources(&changed, now);
    }

    /// Deletes a DeviceClass.
    pub(super) fn delete_device_class(&mut self, name: &str, now: Timestamp) {
        let changed = Arc::make_mut(&mut self.dra_cache).remove_class(name);
        self.requeue_pending_with_extended_resources(&changed, now);
    }

    fn requeue_pending_with_extended_resources(
        &mut self,
        resources: &BTreeSet<String>,
        now: Timestamp,
    ) {
        let requests_any = |wl: &Workload| {
            resources
                .iter()
                .any(|r| dra::requests_extended_resource(wl, r))
        };
        self.requeue_pending(requests_any, now);
    }

    /// Adds or updates a ResourceClaimTemplate.
    pub(super) fn upsert_claim_template(&mut self, template: Arc<ResourceClaimTemplate>) {
        Arc::make_mut(&mut self.dra_cache).upsert_template(template);
    }

    /// Deletes a ResourceClaimTemplate.
    pub(super) fn delete_claim_template(&mut self, namespace: &str, name: &str) {
        Arc::make_mut(&mut self.dra_cache).remove_template(namespace, name);
    }

    /// Adds or updates a ResourceSlice. If device requests depend on its driver, the inadmissible
    /// workloads of ClusterQueues with those resources are requeued.
    pub(super) fn upsert_resource_slice(&mut self, slice: Arc<ResourceSlice>, now: Timestamp) {
        let driver = slice.spec.driver.clone();
        Arc::make_mut(&mut self.dra_cache).upsert_slice(slice);
        self.retry_inadmissible_for_driver(&driver, now);
    }

    /// Deletes a ResourceSlice.
    pub(super) fn delete_resource_slice(&mut self, name: &str, now: Timestamp) {
        if let Some(slice) = Arc::make_mut(&mut self.dra_cache).remove_slice(name) {
            self.retry_inadmissible_for_driver(&slice.spec.driver, now);
        }
    }

    /// Records that the cluster does not serve ResourceSlices.
    pub fn set_resource_slices_unavailable(&mut self) {
        Arc::make_mut(&mut self.dra_cache).set_resource_slices_unavailable();
    }

    fn retry_inadmissible_for_driver(&mut self, driver: &str, now: Timestamp) {
        let gates = &self.config.gates;
        let on = gates.kueue_dra_integration_partitionable_devices
            || gates.kueue_dra_integration_consumable_capacity;
        let mappings = &self.config.device_class_mappings;
        if !on || !mappings.uses_driver(driver) {
            return;
        }
        let resources = mappings.source_resources();
        let covers = |covered: &[crate::resources::ResourceName]| {
            covered.iter().any(|r| resources.contains(r.as_str()))
        };
        let queues = self.cache.cluster_queues();
        let queues = queues.filter(|q| q.groups.iter().any(|g| covers(&g.covered)));
        let names: Vec<Arc<str>> = queues.map(|q| q.name.clone()).collect();
        self.notify_retry_inadmissible(names, now);
    }
}
