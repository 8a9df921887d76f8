//! Starts the controllers of the controller manager with the informers they share.

use k8s_openapi::api::core::v1::{Namespace, Node, Pod};

use super::discovery::DiscoveredKinds;
use super::root_ca_publisher::{self, RootCaPublisher};
use super::{
    cluster_role_aggregation, disruption, endpoint_slices, garbage_collector, horizontal,
    namespaces, persistent_volumes, pod_gc, resource_quota, service_accounts,
};
use crate::MachinesConfig;
use crate::operators;

use crate::workload_controllers::{self, SharedInformers};
use kueue_lab_controller_runtime::{Api, Context, Informer};

/// The running controllers.
#[derive(Clone, Default)]
pub struct ControllerManager {
    /// Publishes the root certificate, if namespaces are managed here.
    pub root_ca_publisher: Option<RootCaPublisher>,
}

/// Starts the controllers that do not belong to one kind of workload.
fn start_cluster_controllers(
    context: &Context,
    config: &MachinesConfig,
    shared: &SharedInformers,
) -> ControllerManager {
    let mut controllers = ControllerManager::default();
    if !(config.garbage_collection || config.namespaces || config.status_controllers) {
        return controllers;
    }
    let kinds = DiscoveredKinds::start(context);
    if config.garbage_collection {
        garbage_collector::start(context, &kinds);
        pod_gc::start(context, shared);
    }
    if config.namespaces {
        let namespaces: Informer<Namespace> =
            Informer::builder(Api::all(context.client.clone())).start(context);
        namespaces::start(context, &kinds, &namespaces);
        service_accounts::start(context, &namespaces);
        controllers.root_ca_publisher = Some(root_ca_publisher::start(context, &namespaces));
    }
    if config.status_controllers {
        cluster_role_aggregation::start(context);
        endpoint_slices::start(context, shared);
        disruption::start(context, shared);
        horizontal::start(context, &kinds);
        resource_quota::start(context, shared, &kinds);
        persistent_volumes::start(context);
    }
    controllers
}

/// Starts the controllers that `config` enables, in the tasks of `context`; operators with the
/// client of `operators_context`. `pods` comes from [`workload_controllers::pod_informer`].
pub fn start(
    context: &Context,
    operators_context: &Context,
    config: &MachinesConfig,
    pods: &Informer<Pod>,
    nodes: &Informer<Node>,
) -> ControllerManager {
    if !(config.workload_controllers
        || config.garbage_collection
        || config.namespaces
        || config.status_controllers)
    {
        return ControllerManager::default();
    }
    let shared = SharedInformers::new(context, pods.clone(), nodes.clone());
    workload_controllers::start(context, config, &shared);
    if config.operators {
        operators::start(operators_context, &shared);
    }
    start_cluster_controllers(context, config, &shared)
}
