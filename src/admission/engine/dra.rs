//! Devices of dynamic resource allocation: their objects, and queueing the Workloads that use them.
//!
//! Such a Workload is not queued when its object comes or changes, but by whoever asks for its
//! devices to be counted and can say why they could not be.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaimTemplate, ResourceSlice};

use super::{Engine, order_context};
use crate::dra;
use crate::queue::QueueError;
use crate::workload::{DraRequests, adjust_resources};
use kueue_lab_api::field::FieldErrors;
use kueue_lab_api::v1beta2::Workload;

impl Engine {
    /// Whether the devices of a Workload have to be counted before it is queued.
    pub fn needs_dra_reconcile(&self, wl: &Workload) -> bool {
        dra::needs_dra_reconcile(wl, &self.dra_cache, &self.config.gates)
    }

    /// What the devices of a Workload count as; none where it has none that count.
    ///
    /// # Errors
    /// Of what cannot be counted.
    pub fn dra_requests(&self, wl: &Arc<Workload>) -> Result<Option<DraRequests>, FieldErrors> {
        if !self.config.gates.kueue_dra_integration || !self.needs_dra_reconcile(wl) {
            return Ok(None);
        }
        let adjusted = adjust_resources(wl, &self.cluster_objects);
        let counted =
            dra::resource_requests_for_workload(&adjusted, &self.dra_cache, &self.config)?;
        Ok((counted != DraRequests::default()).then_some(counted))
    }

    /// Queues a Workload as given with what its devices count as.
    ///
    /// # Errors
    /// When it is not to be queued, or its queue is not there.
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

    /// Takes note of a DeviceClass as it is now. Pending Workloads with an extended resource that
    /// the class no longer stands behind count it by its own name.
    pub fn upsert_device_class(&mut self, class: Arc<DeviceClass>, now: Timestamp) {
        let changed = self.dra_cache.upsert_class(class);
        self.requeue_pending(
            |wl| {
                changed
                    .iter()
                    .any(|r| dra::requests_extended_resource(wl, r))
            },
            now,
        );
    }

    /// Forgets a DeviceClass.
    pub fn delete_device_class(&mut self, name: &str, now: Timestamp) {
        let changed = self.dra_cache.remove_class(name);
        self.requeue_pending(
            |wl| {
                changed
                    .iter()
                    .any(|r| dra::requests_extended_resource(wl, r))
            },
            now,
        );
    }

    /// Takes note of a ResourceClaimTemplate as it is now.
    pub fn upsert_claim_template(&mut self, template: Arc<ResourceClaimTemplate>) {
        self.dra_cache.upsert_template(template);
    }

    /// Forgets a ResourceClaimTemplate.
    pub fn delete_claim_template(&mut self, namespace: &str, name: &str) {
        self.dra_cache.remove_template(namespace, name);
    }

    /// Takes note of a ResourceSlice as it is now. Where devices of its driver are measured, what
    /// is parked in the ClusterQueues of those resources is retried.
    pub fn upsert_resource_slice(&mut self, slice: Arc<ResourceSlice>, now: Timestamp) {
        let driver = slice.spec.driver.clone();
        self.dra_cache.upsert_slice(slice);
        self.retry_inadmissible_for_driver(&driver, now);
    }

    /// Forgets a ResourceSlice.
    pub fn delete_resource_slice(&mut self, name: &str, now: Timestamp) {
        if let Some(slice) = self.dra_cache.remove_slice(name) {
            self.retry_inadmissible_for_driver(&slice.spec.driver, now);
        }
    }

    /// Says that the cluster does not serve ResourceSlices.
    pub fn set_resource_slices_unavailable(&mut self) {
        self.dra_cache.set_resource_slices_unavailable();
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
