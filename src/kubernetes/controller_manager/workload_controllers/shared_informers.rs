//! The informers and the event recorder that the controllers share.

use k8s_openapi::api::apps::v1::{ControllerRevision, ReplicaSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, Pod};

use super::controller_ref_manager;
use super::controller_ref_manager::{NamespacedObject, UNCONTROLLED};
use kueue_lab_controller_runtime::{Api, Context, Informer, InformerBuilder};
use kueue_lab_controller_utils::event_recorder::EventRecorder;
use kueue_lab_controller_utils::pods;
use kueue_lab_controller_utils::pods::CONTROLLER_UID_INDEX;
use kueue_lab_controller_utils::resource_claims;

/// The shared objects of the controllers: one informer per kind, one event recorder.
#[derive(Clone)]
pub struct SharedInformers {
    /// All pods.
    pub pods: Informer<Pod>,
    /// All nodes.
    pub nodes: Informer<Node>,
    /// All Jobs.
    pub jobs: Informer<Job>,
    /// All ReplicaSets.
    pub replica_sets: Informer<ReplicaSet>,
    /// All ControllerRevisions.
    pub revisions: Informer<ControllerRevision>,
    /// The event recorder.
    pub recorder: EventRecorder,
}

impl SharedInformers {
    /// Starts the remaining informers in the tasks of `context`.
    pub(crate) fn new(context: &Context, pods: Informer<Pod>, nodes: Informer<Node>) -> Self {
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

/// Starts the informer of all pods, with indexes by controller, node and ResourceClaim.
pub fn pod_informer(context: &Context) -> Informer<Pod> {
    controlled_informer(context)
        .index(pods::ON_NODE, pods::on_node)
        .index(pods::ENDED, pods::ended)
        .index(resource_claims::BY_CLAIM, resource_claims::names_of_pod)
        .start(context)
}

/// An informer of all objects of a kind, with indexes by controller.
fn controlled_informer<K: NamespacedObject>(context: &Context) -> InformerBuilder<K> {
    Informer::builder(Api::<K>::all(context.client.clone()))
        .index(CONTROLLER_UID_INDEX, pods::controller_uid)
        .index(UNCONTROLLED, controller_ref_manager::uncontrolled)
}
