//! The controller manager: starts the workload controllers and the keepers of the cluster with the
//! watches they share.

use k8s_openapi::api::core::v1::{Node, Pod};

use super::MachinesConfig;
use super::control::{self, Control};
use super::workloads::{self, Shared};
use kueue_lab_runtime::{Context, Informer};

/// Starts the controllers that `config` switches on, in the tasks of `context`. `pods` are those of
/// [`workloads::follow_pods`].
pub fn start(
    context: &Context,
    config: &MachinesConfig,
    pods: &Informer<Pod>,
    nodes: &Informer<Node>,
) -> Control {
    if !(config.workloads || config.gc || config.namespaces || config.bookkeeping) {
        return Control::default();
    }
    let shared = Shared::new(context, pods.clone(), nodes.clone());
    workloads::start(context, config, &shared);
    control::start(context, config, &shared)
}
