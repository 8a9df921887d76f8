//! MultiKueue adapters: create jobs in worker clusters and copy their status back.

mod adapter;
mod adapters;
mod elastic_replicas;
mod job_adapter;
mod pod_adapter;
mod remote_object;

pub(crate) use adapter::{Adapter, ManagedBy, Sync, SyncJob, workload_index};
pub(crate) use adapters::multikueue_adapters;
pub(crate) use remote_object::{
    clone_object_meta_for_creation, delete_remote_object_if_owned, validate_remote_object_ownership,
};
