//! Finalizers.

use super::MANAGED_LABEL;

/// Finalizer on ClusterQueues, ResourceFlavors, AdmissionChecks and Workloads in use.
pub const RESOURCE_IN_USE_FINALIZER: &str = "kueue.x-k8s.io/resource-in-use";
/// Finalizer on plain pods, so that a finished pod stays until Kueue has processed it.
pub const POD_FINALIZER: &str = MANAGED_LABEL;
