//! [`StopPolicy`] of ClusterQueue and LocalQueue.

wire_enum! {
    /// What a stopped ClusterQueue or LocalQueue does with its workloads.
    StopPolicy {
        /// Not stopped.
        None = "None",
        /// Nothing new is admitted; what is admitted runs on, reservations not yet admitted are
        /// dropped.
        Hold = "Hold",
        /// As `Hold`, and admitted workloads are evicted too.
        HoldAndDrain = "HoldAndDrain",
    }
}
