//! The log of evictions: evicted workload, preemptor, reason and policy.
//!
//! Merged from Workload conditions and Events. Neither is complete: the Workload of a plain pod is
//! deleted with the pod, and Events expire.

mod eviction;
mod eviction_log;

pub(crate) use eviction::{Eviction, InvolvedWorkload};
pub(crate) use eviction_log::EvictionLog;
