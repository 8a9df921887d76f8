//! The controllers of a real cluster's controller manager: jobs and other workloads, garbage
//! collection, namespaces, accounts. Must not know nodes, scheduler or kubelet stand-in.

pub mod job;
mod pod_control;
pub mod pods;
pub mod template;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;

use super::MachinesConfig;
use super::recorder::Recorder;
use crate::runtime::{Context, Informer};

/// What the controllers share: one watch per kind, one writer of Events.
pub struct Shared {
    /// All pods, with the index `controller` by the UID of the controlling owner.
    pub pods: Informer<Pod>,
    /// All Jobs, with the same index.
    pub jobs: Informer<Job>,
    /// Writes Events.
    pub recorder: Recorder,
}

/// Starts the controllers that `config` switches on, in the tasks of `context`.
pub fn start(context: &Context, config: &MachinesConfig) {
    if !config.workloads {
        return;
    }
    let client = context.client.clone();
    let shared = Shared {
        pods: Informer::builder(Api::all(client.clone()))
            .index("controller", pods::controller_uid)
            .start(context),
        jobs: Informer::builder(Api::all(client))
            .index("controller", pods::controller_uid)
            .start(context),
        recorder: Recorder::new(context, "controllermanager"),
    };
    job::start(context, &shared);
}
