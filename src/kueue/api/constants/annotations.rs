//! Annotations.

/// Prefix of annotations that become parameters of a ProvisioningRequest.
pub const PROVISIONING_PARAMETER_PREFIX: &str = "provreq.kueue.x-k8s.io/";

/// Pod group: the name; used if it is too long for a label.
pub const POD_GROUP_NAME_ANNOTATION: &str = "kueue.x-k8s.io/pod-group-name";
/// Pod group: the number of pods.
pub const POD_GROUP_TOTAL_COUNT_ANNOTATION: &str = "kueue.x-k8s.io/pod-group-total-count";
/// Pod group: admission does not wait until all pods exist.
pub const POD_GROUP_FAST_ADMISSION_ANNOTATION: &str = "kueue.x-k8s.io/pod-group-fast-admission";
/// The value of [`POD_GROUP_FAST_ADMISSION_ANNOTATION`] that enables fast admission.
pub const POD_GROUP_FAST_ADMISSION_VALUE: &str = "true";
/// Pod group: a serving workload, which never finishes.
pub const POD_GROUP_SERVING_ANNOTATION: &str = "kueue.x-k8s.io/pod-group-serving";
/// The value of [`POD_GROUP_SERVING_ANNOTATION`] of serving pod groups.
pub const POD_GROUP_SERVING_VALUE: &str = "true";
/// Pod group: the label with the index of a pod.
pub const POD_GROUP_POD_INDEX_LABEL_ANNOTATION: &str = "kueue.x-k8s.io/pod-group-pod-index-label";
/// Pod group: the hash of a pod's role, which is the name of its pod set.
pub const ROLE_HASH_ANNOTATION: &str = "kueue.x-k8s.io/role-hash";
/// Pod group: `false` on a pod forbids retries of the group.
pub const RETRIABLE_IN_GROUP_ANNOTATION: &str = "kueue.x-k8s.io/retriable-in-group";
/// The value of [`RETRIABLE_IN_GROUP_ANNOTATION`] that forbids retries.
pub const RETRIABLE_IN_GROUP_FALSE: &str = "false";
/// On Workloads of pod groups.
pub const IS_GROUP_WORKLOAD_ANNOTATION: &str = "kueue.x-k8s.io/is-group-workload";
/// The value of [`IS_GROUP_WORKLOAD_ANNOTATION`].
pub const IS_GROUP_WORKLOAD_VALUE: &str = "true";
/// On pods whose owner (Deployment, StatefulSet, ...) is managed by Kueue.
pub const SUSPENDED_BY_PARENT_ANNOTATION: &str = "kueue.x-k8s.io/pod-suspending-parent";

/// Job: minimum parallelism; enables partial admission.
pub const JOB_MIN_PARALLELISM_ANNOTATION: &str = "kueue.x-k8s.io/job-min-parallelism";
/// Job: completions are kept equal to parallelism on partial admission.
pub const JOB_COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION: &str =
    "kueue.x-k8s.io/job-completions-equal-parallelism";
/// Job: the stop, which has several steps, is in progress.
pub const STOPPING_ANNOTATION: &str = "kueue.x-k8s.io/stopping";

/// Topology: all pods of the set in one domain of this level.
pub const POD_SET_REQUIRED_TOPOLOGY_ANNOTATION: &str = "kueue.x-k8s.io/podset-required-topology";
/// Topology: all pods of the set preferably in one domain of this level.
pub const POD_SET_PREFERRED_TOPOLOGY_ANNOTATION: &str = "kueue.x-k8s.io/podset-preferred-topology";
/// Topology: the pods in any domains.
pub const POD_SET_UNCONSTRAINED_TOPOLOGY_ANNOTATION: &str =
    "kueue.x-k8s.io/podset-unconstrained-topology";
/// Topology: each slice in one domain of this level.
pub const POD_SET_SLICE_REQUIRED_TOPOLOGY_ANNOTATION: &str =
    "kueue.x-k8s.io/podset-slice-required-topology";
/// Topology: the number of pods of a slice.
pub const POD_SET_SLICE_SIZE_ANNOTATION: &str = "kueue.x-k8s.io/podset-slice-size";
/// Topology: layers of slices, as JSON.
pub const POD_SET_SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS_ANNOTATION: &str =
    "kueue.x-k8s.io/podset-slice-required-topology-constraints";
/// Topology: the group of pod sets that are placed together.
pub const POD_SET_GROUP_NAME_ANNOTATION: &str = "kueue.x-k8s.io/podset-group-name";
/// Topology: the offset of the pod index.
pub const POD_INDEX_OFFSET_ANNOTATION: &str = "kueue.x-k8s.io/pod-index-offset";

/// On pods of a running job: the Workload.
pub const WORKLOAD_ANNOTATION: &str = "kueue.x-k8s.io/workload";
/// The first Workload of a chain of slices.
pub const WORKLOAD_SLICE_NAME_ANNOTATION: &str = "kueue.x-k8s.io/workload-slice-name";
/// On a Workload: the slice that it replaces.
pub const WORKLOAD_SLICE_REPLACEMENT_FOR_ANNOTATION: &str =
    "kueue.x-k8s.io/workload-slice-replacement-for";
/// On jobs: an elastic job, which can be scaled while it runs.
pub const ELASTIC_JOB_ANNOTATION: &str = "kueue.x-k8s.io/elastic-job";
/// The value of [`ELASTIC_JOB_ANNOTATION`] of elastic jobs.
pub const ELASTIC_JOB_VALUE: &str = "true";
/// On jobs and Workloads: names of controllers that gate admission.
pub const ADMISSION_GATED_BY_ANNOTATION: &str = "kueue.x-k8s.io/admission-gated-by";
/// On Workloads: a number added to the priority.
pub const PRIORITY_BOOST_ANNOTATION: &str = "kueue.x-k8s.io/priority-boost";
/// On Workloads: the flavors that can be assigned.
pub const WORKLOAD_ALLOWED_RESOURCE_FLAVORS_ANNOTATION: &str =
    "kueue.x-k8s.io/workload-allowed-resource-flavors";
/// On jobs: name of a prebuilt Workload.
pub const PREBUILT_WORKLOAD_ANNOTATION: &str = "kueue.x-k8s.io/prebuilt-workload-name";
/// On Workloads: group, version and kind of the job.
pub const JOB_OWNER_GVK_ANNOTATION: &str = "kueue.x-k8s.io/job-owner-gvk";
/// On Workloads: name of the job.
pub const JOB_OWNER_NAME_ANNOTATION: &str = "kueue.x-k8s.io/job-owner-name";
/// On Workloads of a job with several Workloads: the index of the Workload.
pub const COMPONENT_WORKLOAD_INDEX_ANNOTATION: &str = "kueue.x-k8s.io/component-workload-index";
/// On pods: allows force deletion of stuck pods.
pub const SAFE_TO_FORCEFULLY_DELETE_ANNOTATION: &str = "kueue.x-k8s.io/safe-to-forcefully-delete";
/// The value of [`SAFE_TO_FORCEFULLY_DELETE_ANNOTATION`] that permits forced deletion.
pub const SAFE_TO_FORCEFULLY_DELETE_VALUE: &str = "true";
/// On Workloads: generation of the RayCluster they were constructed from.
pub const RAY_CLUSTER_GENERATION_ANNOTATION: &str = "kueue.x-k8s.io/raycluster-generation";
/// On objects in worker clusters: UID of the original.
pub const MULTI_KUEUE_ORIGIN_UID_ANNOTATION: &str = "kueue.x-k8s.io/multikueue-origin-uid";
