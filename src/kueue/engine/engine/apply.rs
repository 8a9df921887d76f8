//! [`Engine::apply`]: the change of an object, handled as the watch handlers of its kind do it.

use jiff::Timestamp;

use super::object_change::{DeletedObject as Deleted, EngineObject as Object};
use super::{Engine, ObjectChange};

impl Engine {
    /// Applies the change of an object to the cache and the queues, and requeues the workloads that
    /// it may admit.
    ///
    /// A Cohort that closes a cycle is known afterwards, but no quota of the cycle is updated: its
    /// ClusterQueues are inactive until the cycle is broken ([`Engine::cohort_cycle`]). Invalid
    /// parts of a ClusterQueue are not applied; [`Engine::active_condition`] reports them.
    pub fn apply(&mut self, change: ObjectChange, now: Timestamp) {
        match change {
            ObjectChange::Upsert(object) => self.upsert(object, now),
            ObjectChange::Delete(object) => self.delete(&object, now),
        }
    }

    fn upsert(&mut self, object: Object, now: Timestamp) {
        match object {
            Object::AdmissionCheck(check) => self.upsert_check(&check, now),
            Object::ClusterQueue(queue) => self.upsert_cluster_queue(queue, now),
            Object::Cohort(cohort) => self.upsert_cohort(cohort, now),
            Object::DeviceClass(class) => self.upsert_device_class(class, now),
            Object::LimitRange(range) => self.upsert_limit_range(range, now),
            Object::LocalQueue(queue) => self.upsert_local_queue(queue),
            Object::Namespace(namespace) => self.upsert_namespace(&namespace, now),
            Object::Node(node) => self.upsert_node(&node, now),
            Object::Pod(pod) => self.upsert_pod(&pod, now),
            Object::ResourceClaimTemplate(template) => self.upsert_claim_template(template),
            Object::ResourceFlavor(flavor) => self.upsert_flavor(flavor, now),
            Object::ResourceSlice(slice) => self.upsert_resource_slice(slice, now),
            Object::RuntimeClass(class) => self.upsert_runtime_class(&class, now),
            Object::Topology(topology) => self.upsert_topology(topology, now),
            Object::Workload(workload) => self.upsert_workload(workload, now),
        }
    }

    fn delete(&mut self, object: &Deleted, now: Timestamp) {
        match object {
            Deleted::AdmissionCheck(name) => self.delete_check(name, now),
            Deleted::ClusterQueue(name) => self.delete_cluster_queue(name),
            Deleted::Cohort(name) => self.delete_cohort(name),
            Deleted::DeviceClass(name) => self.delete_device_class(name, now),
            Deleted::LimitRange { namespace, name } => {
                self.delete_limit_range(namespace, name, now);
            }
            Deleted::LocalQueue(key) => self.delete_local_queue(key),
            Deleted::Namespace(name) => self.delete_namespace(name),
            Deleted::Node(name) => self.delete_node(name, now),
            Deleted::Pod { namespace, name } => self.delete_pod(namespace, name, now),
            Deleted::ResourceClaimTemplate { namespace, name } => {
                self.delete_claim_template(namespace, name);
            }
            Deleted::ResourceFlavor(name) => self.delete_flavor(name, now),
            Deleted::ResourceSlice(name) => self.delete_resource_slice(name, now),
            Deleted::RuntimeClass(name) => self.delete_runtime_class(name, now),
            Deleted::Topology(name) => self.delete_topology(name),
            Deleted::Workload(key) => self.delete_workload(key, now),
        }
    }
}
