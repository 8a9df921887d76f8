//! WorkloadPriorityClass: a named priority for workloads, apart from the priority of their pods.

kind! {
    /// A named priority. Jobs name it in the label `kueue.x-k8s.io/priority-class`; it decides the
    /// order in queues and who preempts whom, not the scheduling of pods.
    cluster WorkloadPriorityClass "kueue.x-k8s.io" "v1beta2" "workloadpriorityclasses" {
        /// The priority; higher goes first. A change affects workloads that are already waiting.
        value: i32,
        /// When to use this class, in words for people. At most 2048 characters.
        #[cfg_attr(test, schemars(length(max = 2048)))]
        description: String => "crate::wire::empty_str",
    }
}
