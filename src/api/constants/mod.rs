//! Every literal of Kueue's API that is not a field: labels, annotations, finalizers, gates,
//! condition types and reasons, names of controllers. All flat: `constants::QUEUE_LABEL`.
//!
//! The values are what upstream puts on the wire and must match to the byte.

mod annotations;
mod conditions;
mod events;
mod labels;

pub use annotations::*;
pub use conditions::*;
pub use events::*;
pub use labels::*;

/// Finalizer on ClusterQueues, ResourceFlavors, AdmissionChecks and Workloads in use.
pub const RESOURCE_IN_USE_FINALIZER: &str = "kueue.x-k8s.io/resource-in-use";
/// Finalizer on plain pods, so that a finished pod stays until Kueue has counted it.
pub const POD_FINALIZER: &str = MANAGED_LABEL;

/// Scheduling gate: the pod waits for admission.
pub const ADMISSION_SCHEDULING_GATE: &str = "kueue.x-k8s.io/admission";
/// Scheduling gate: the pod waits for its topology domain.
pub const TOPOLOGY_SCHEDULING_GATE: &str = "kueue.x-k8s.io/topology";
/// Scheduling gate: the pod waits for its workload slice to be admitted.
pub const ELASTIC_JOB_SCHEDULING_GATE: &str = "kueue.x-k8s.io/elastic-job";

/// Preemption gate that MultiKueue puts on workloads in worker clusters.
pub const MULTI_KUEUE_PREEMPTION_GATE: &str = "kueue.x-k8s.io/multikueue";
/// Preemption gate of the variants of a concurrently admitted workload.
pub const CONCURRENT_ADMISSION_PREEMPTION_GATE: &str = "kueue.x-k8s.io/concurrent-admission";

/// Name of a pod set that is given none.
pub const DEFAULT_POD_SET_NAME: &str = "main";
/// Name of the LocalQueue that jobs without a queue get where it exists in their namespace.
pub const DEFAULT_LOCAL_QUEUE_NAME: &str = "default";
/// Name of the WorkloadPriorityClass that jobs without a class get where it exists.
pub const DEFAULT_WORKLOAD_PRIORITY_CLASS_NAME: &str = "default";
/// Priority where no class says otherwise.
pub const DEFAULT_PRIORITY: i32 = 0;
/// The most pod sets a workload may have.
pub const MAX_POD_SETS: usize = 18;

/// `controllerName` of checks that ask a cluster autoscaler.
pub const PROVISIONING_REQUEST_CONTROLLER: &str = "kueue.x-k8s.io/provisioning-request";
/// Kind of the settings of such a check.
pub const PROVISIONING_REQUEST_CONFIG_KIND: &str = "ProvisioningRequestConfig";
/// `controllerName` of checks that send workloads to other clusters.
pub const MULTI_KUEUE_CONTROLLER: &str = "kueue.x-k8s.io/multikueue";
/// Key of the kubeconfig in a MultiKueueCluster's Secret.
pub const MULTI_KUEUE_CONFIG_SECRET_KEY: &str = "kubeconfig";

/// Name of Kueue itself, in managers and sources.
pub const KUEUE_NAME: &str = "kueue";
/// Field manager of the admission part of a Workload's status.
pub const ADMISSION_MANAGER: &str = "kueue-admission";
/// Field manager and event source of the job controllers.
pub const JOB_CONTROLLER: &str = "kueue-job-controller";
/// Field manager and event source of the workload controller.
pub const WORKLOAD_CONTROLLER: &str = "kueue-workload-controller";
/// Event source of the controller that finishes off stuck pods.
pub const POD_TERMINATION_CONTROLLER: &str = "kueue-pod-termination-controller";
/// Field manager of `status.reclaimablePods`.
pub const RECLAIMABLE_PODS_MANAGER: &str = "kueue-reclaimable-pods";
/// Manager name of Kueue's entry in a TrainJob's runtime patches.
pub const RUNTIME_PATCH_MANAGER: &str = "kueue.x-k8s.io/manager";

/// `priorityClassSource` of v1beta1 for a WorkloadPriorityClass.
pub const WORKLOAD_PRIORITY_CLASS_SOURCE: &str = "kueue.x-k8s.io/workloadpriorityclass";
/// `priorityClassSource` of v1beta1 for a pod PriorityClass.
pub const POD_PRIORITY_CLASS_SOURCE: &str = "scheduling.k8s.io/priorityclass";

/// How many pending workloads the visibility API lists when not told.
pub const DEFAULT_PENDING_WORKLOADS_LIMIT: i64 = 1000;
/// The most pending workloads the visibility API lists.
pub const MAX_PENDING_WORKLOADS_LIMIT: i64 = 100_000;
