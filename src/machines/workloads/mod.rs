//! The controllers of a real cluster's controller manager: jobs and other workloads, garbage
//! collection, namespaces, accounts. Must not know nodes, scheduler or kubelet stand-in.

pub mod apps;
pub mod claim;
pub mod cron;
pub mod job;
pub mod pod_control;
pub mod pods;
pub mod template;
pub mod ttl;

use k8s_openapi::api::apps::v1::{ControllerRevision, ReplicaSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;

use self::claim::{CONTROLLER, Object, UNCONTROLLED};
use super::MachinesConfig;
use super::recorder::Recorder;
use kueue_lab_runtime::{Builder, Context, Informer};

/// What the controllers share: one watch per kind, one writer of Events.
pub struct Shared {
    /// All pods.
    pub pods: Informer<Pod>,
    /// All nodes.
    pub nodes: Informer<Node>,
    /// All Jobs.
    pub jobs: Informer<Job>,
    /// All ReplicaSets.
    pub replica_sets: Informer<ReplicaSet>,
    /// All revisions of StatefulSets and DaemonSets.
    pub revisions: Informer<ControllerRevision>,
    /// Writes Events.
    pub recorder: Recorder,
}

impl Shared {
    /// Starts the watches that are not there yet, in the tasks of `context`.
    pub fn new(context: &Context, pods: Informer<Pod>, nodes: Informer<Node>) -> Self {
        Self {
            pods,
            nodes,
            jobs: owned(context).start(context),
            replica_sets: owned(context).start(context),
            revisions: owned(context).start(context),
            recorder: Recorder::new(context, "controllermanager"),
        }
    }
}

/// Starts the controllers that `config` switches on, in the tasks of `context`.
pub fn start(context: &Context, config: &MachinesConfig, shared: &Shared) {
    if !config.workloads {
        return;
    }
    job::start(context, shared);
    ttl::start(context, shared);
    cron::start(context, shared);
    apps::replicaset::start(context, shared);
    apps::deployment::start(context, shared);
    apps::statefulset::start(context, shared);
    apps::daemonset::start(context, shared);
}

/// Follows all pods, by those who control them and by the nodes they are on.
pub fn follow_pods(context: &Context) -> Informer<Pod> {
    owned(context)
        .index(pods::ON_NODE, pods::on_node)
        .index(pods::ENDED, pods::ended)
        .start(context)
}

/// Follows all objects of a kind, by those who control them.
fn owned<K: Object>(context: &Context) -> Builder<K> {
    Informer::builder(Api::<K>::all(context.client.clone()))
        .index(CONTROLLER, pods::controller_uid)
        .index(UNCONTROLLED, claim::uncontrolled)
}
