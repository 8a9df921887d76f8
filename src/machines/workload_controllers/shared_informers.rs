//! The informers and the event recorder that the controllers share.

use k8s_openapi::api::apps::v1::{ControllerRevision, ReplicaSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;

use super::controller_ref_manager::{CONTROLLER_UID_INDEX, NamespacedObject, UNCONTROLLED};
use super::{controller_ref_manager, pods};
use crate::event_recorder::EventRecorder;
use kueue_lab_runtime::{Context, Informer, InformerBuilder};

/// What the controllers share: one watch per kind, one writer of Events.
pub struct SharedInformers {
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
    pub recorder: EventRecorder,
}

impl SharedInformers {
    /// Starts the watches that are not there yet, in the tasks of `context`.
    pub fn new(context: &Context, pods: Informer<Pod>, nodes: Informer<Node>) -> Self {
        Self {
            pods,
            nodes,
            jobs: controlled_informer(context).start(context),
            replica_sets: controlled_informer(context).start(context),
            revisions: controlled_informer(context).start(context),
            recorder: EventRecorder::new(context, "controllermanager"),
        }
    }
}

/// Follows all pods, by those who control them and by the nodes they are on.
pub fn pod_informer(context: &Context) -> Informer<Pod> {
    controlled_informer(context)
        .index(pods::ON_NODE, pods::on_node)
        .index(pods::ENDED, pods::ended)
        .start(context)
}

/// Follows all objects of a kind, by those who control them.
fn controlled_informer<K: NamespacedObject>(context: &Context) -> InformerBuilder<K> {
    Informer::builder(Api::<K>::all(context.client.clone()))
        .index(CONTROLLER_UID_INDEX, pods::controller_uid)
        .index(UNCONTROLLED, controller_ref_manager::uncontrolled)
}
