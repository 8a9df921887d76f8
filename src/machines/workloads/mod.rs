//! The controllers of a real cluster's controller manager: jobs and other workloads, garbage
//! collection, namespaces, accounts. Must not know nodes, scheduler or kubelet stand-in.
