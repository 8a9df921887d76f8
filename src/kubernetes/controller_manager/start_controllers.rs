//! Starts the controllers of the controller manager with the informers they share.

use k8s_openapi::api::core::v1::{Namespace, Node, Pod};

use super::discovery::DiscoveredKinds;
use super::root_ca_publisher::{self, RootCaPublisher};
use super::{
    cluster_role_aggregation, disruption, endpoint_slices, garbage_collector, horizontal,
    namespaces, persistent_volumes, pod_gc, resource_quota, service_accounts,
};
use crate::workload_controllers::{self, SharedInformers};
use kueue_lab_controller_runtime::{Api, Context, Informer};

/// Which controllers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControllerManagerConfig {
    /// Job, ReplicaSet, Deployment, StatefulSet, CronJob and DaemonSet controllers.
    pub workload_controllers: bool,
    /// Garbage collection of objects whose owners are gone, and of orphaned pods.
    pub garbage_collection: bool,
    /// Namespace deletion, default service accounts, root CA config maps.
    pub namespaces: bool,
    /// Endpoints, quota status, disruption budgets, volume binding, aggregated ClusterRoles.
    pub status_controllers: bool,
}

impl ControllerManagerConfig {
    /// All controllers.
    pub const ALL: Self = Self {
        workload_controllers: true,
        garbage_collection: true,
        namespaces: true,
        status_controllers: true,
    };
    /// No controller.
    pub const NONE: Self = Self {
        workload_controllers: false,
        garbage_collection: false,
        namespaces: false,
        status_controllers: false,
    };
}

/// The running controllers.
#[derive(Clone, Default)]
pub struct ControllerManager {
    /// The informers and the event recorder that the controllers share, if one of them runs.
    pub shared: Option<SharedInformers>,
    /// Publishes the root certificate, if namespaces are managed here.
    pub root_ca_publisher: Option<RootCaPublisher>,
}

/// Starts the controllers that do not belong to one kind of workload.
fn start_cluster_controllers(
    context: &Context,
    config: ControllerManagerConfig,
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

/// Starts the controllers that `config` enables, in the tasks of `context`. `pods` comes from [`workload_controllers::pod_informer`].
pub fn start(
    context: &Context,
    config: ControllerManagerConfig,
    pods: &Informer<Pod>,
    nodes: &Informer<Node>,
) -> ControllerManager {
    if config == ControllerManagerConfig::NONE {
        return ControllerManager::default();
    }
    let shared = SharedInformers::new(context, pods.clone(), nodes.clone());
    if config.workload_controllers {
        workload_controllers::start(context, &shared);
    }
    let controllers = start_cluster_controllers(context, config, &shared);
    ControllerManager {
        shared: Some(shared),
        ..controllers
    }
}
