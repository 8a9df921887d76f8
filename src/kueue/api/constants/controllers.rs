//! Controller names, field managers and event sources.

/// `controllerName` of provisioning admission checks.
pub const PROVISIONING_REQUEST_CONTROLLER: &str = "kueue.x-k8s.io/provisioning-request";
/// Kind of the parameters of a provisioning check.
pub const PROVISIONING_REQUEST_CONFIG_KIND: &str = "ProvisioningRequestConfig";
/// `controllerName` of MultiKueue admission checks.
pub const MULTI_KUEUE_CONTROLLER: &str = "kueue.x-k8s.io/multikueue";
/// Key of the kubeconfig in a MultiKueueCluster's Secret.
pub const MULTI_KUEUE_CONFIG_SECRET_KEY: &str = "kubeconfig";

/// Name of Kueue in field managers and event sources.
pub const KUEUE_NAME: &str = "kueue";
/// Field manager of the admission part of a Workload's status.
pub const ADMISSION_MANAGER: &str = "kueue-admission";
/// Field manager and event source of the job controllers.
pub const JOB_CONTROLLER: &str = "kueue-job-controller";
/// Field manager and event source of the workload controller.
pub const WORKLOAD_CONTROLLER: &str = "kueue-workload-controller";
/// Field manager of `status.reclaimablePods`.
pub const RECLAIMABLE_PODS_MANAGER: &str = "kueue-reclaimable-pods";
/// Manager of Kueue's entry in the runtime patches of a TrainJob.
pub const RUNTIME_PATCH_MANAGER: &str = "kueue.x-k8s.io/manager";

/// `priorityClassSource` of v1beta1 for a WorkloadPriorityClass.
pub(crate) const WORKLOAD_PRIORITY_CLASS_SOURCE: &str = "kueue.x-k8s.io/workloadpriorityclass";
/// `priorityClassSource` of v1beta1 for a pod PriorityClass.
pub(crate) const POD_PRIORITY_CLASS_SOURCE: &str = "scheduling.k8s.io/priorityclass";
