//! The controllers of a real cluster's controller manager: jobs and other workloads, garbage
//! collection, namespaces, accounts. Must not know nodes, scheduler or kubelet stand-in.

pub mod apps;
pub mod claim;
pub mod job;
pub mod pod_control;
pub mod pods;
pub mod template;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;

use self::claim::{CONTROLLER, Object, UNCONTROLLED};
use super::MachinesConfig;
use super::recorder::Recorder;
use crate::runtime::{Context, Informer};

/// What the controllers share: one watch per kind, one writer of Events.
pub struct Shared {
    /// All pods.
    pub pods: Informer<Pod>,
    /// All Jobs.
    pub jobs: Informer<Job>,
    /// All ReplicaSets.
    pub replica_sets: Informer<ReplicaSet>,
    /// Writes Events.
    pub recorder: Recorder,
}

/// Starts the controllers that `config` switches on, in the tasks of `context`.
pub fn start(context: &Context, config: &MachinesConfig) {
    if !config.workloads {
        return;
    }
    let shared = Shared {
        pods: owned(context),
        jobs: owned(context),
        replica_sets: owned(context),
        recorder: Recorder::new(context, "controllermanager"),
    };
    job::start(context, &shared);
    apps::replicaset::start(context, &shared);
    apps::deployment::start(context, &shared);
}

/// Follows all objects of a kind, by those who control them.
fn owned<K: Object>(context: &Context) -> Informer<K> {
    Informer::builder(Api::<K>::all(context.client.clone()))
        .index(CONTROLLER, pods::controller_uid)
        .index(UNCONTROLLED, claim::uncontrolled)
        .start(context)
}
