//! The controller manager: starts the workload controllers and the keepers of the cluster with the
//! watches they share.

use k8s_openapi::api::core::v1::{Node, Pod};

use super::MachinesConfig;
use super::controller_manager::{self, ControllerManager};
use super::workload_controllers::{self, SharedInformers};
use kueue_lab_runtime::{Context, Informer};

/// Starts the controllers that `config` switches on, in the tasks of `context`. `pods` are those of
/// [`workload_controllers::follow_pods`].
pub fn start(
    context: &Context,
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
    controller_manager::start(context, config, &shared)
}
