//! Labels.

/// On jobs and pods: the LocalQueue.
pub const QUEUE_LABEL: &str = "kueue.x-k8s.io/queue-name";
/// On jobs and pods: the WorkloadPriorityClass.
pub const PRIORITY_CLASS_LABEL: &str = "kueue.x-k8s.io/priority-class";
/// On jobs and pods: the number of seconds for which the workload may be admitted.
pub const MAX_EXEC_TIME_SECONDS_LABEL: &str = "kueue.x-k8s.io/max-exec-time-seconds";
/// On pods and other objects that Kueue manages.
pub const MANAGED_LABEL: &str = "kueue.x-k8s.io/managed";
/// The only value of [`MANAGED_LABEL`].
pub const MANAGED_LABEL_VALUE: &str = "true";
/// On the pods of a running job: the pod set.
pub const POD_SET_LABEL: &str = "kueue.x-k8s.io/podset";
/// On the pods of a running job: the LocalQueue.
pub const LOCAL_QUEUE_LABEL: &str = "kueue.x-k8s.io/local-queue-name";
/// On the pods of a running job: the ClusterQueue, if its name is a valid label value.
pub const CLUSTER_QUEUE_LABEL: &str = "kueue.x-k8s.io/cluster-queue-name";
/// On pods: the pod group.
pub const POD_GROUP_NAME_LABEL: &str = "kueue.x-k8s.io/pod-group-name";
/// On pods of a group: the index of the pod.
pub const POD_GROUP_POD_INDEX_LABEL: &str = "kueue.x-k8s.io/pod-group-pod-index";
/// On jobs: the name of the prebuilt Workload.
pub const PREBUILT_WORKLOAD_LABEL: &str = "kueue.x-k8s.io/prebuilt-workload-name";
/// On Workloads: the UID of the job.
pub const JOB_UID_LABEL: &str = "kueue.x-k8s.io/job-uid";
/// On objects in worker clusters: the manager that created them.
pub const MULTI_KUEUE_ORIGIN_LABEL: &str = "kueue.x-k8s.io/multikueue-origin";
/// On pods in worker clusters.
pub const MULTI_KUEUE_WORKER_POD_LABEL: &str = "kueue.x-k8s.io/multikueue-worker-workload-pod";
/// The only value of [`MULTI_KUEUE_WORKER_POD_LABEL`].
pub const MULTI_KUEUE_WORKER_POD_VALUE: &str = "true";
/// On the parent of a concurrently admitted workload's variants.
pub const CONCURRENT_ADMISSION_PARENT_LABEL: &str = "kueue.x-k8s.io/concurrent-admission-parent";
