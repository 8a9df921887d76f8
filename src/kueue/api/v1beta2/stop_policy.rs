//! [`StopPolicy`] of ClusterQueue and LocalQueue.

wire_enum! {
    /// What happens to the workloads of a stopped ClusterQueue or LocalQueue.
    StopPolicy {
        /// Not stopped.
        None = "None",
        /// No workload is admitted; admitted workloads continue, and quota reservations without
        /// admission are released.
        Hold = "Hold",
        /// As `Hold`, and admitted workloads are evicted too.
        HoldAndDrain = "HoldAndDrain",
    }
}
