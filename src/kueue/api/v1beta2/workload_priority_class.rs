//! WorkloadPriorityClass: a named priority for workloads, independent of pod priority.

kind! {
    /// A named priority. Jobs refer to it in the label `kueue.x-k8s.io/priority-class`. It
    /// determines queue order and preemption, not pod scheduling.
    cluster WorkloadPriorityClass "kueue.x-k8s.io" "v1beta2" "workloadpriorityclasses" {
        /// The priority; higher is admitted first. A change affects pending workloads.
        value: i32,
        /// When to use this class. At most 2048 characters.
        #[cfg_attr(test, schemars(length(max = 2048)))]
        description: String => "crate::wire::empty_str",
    }
}
