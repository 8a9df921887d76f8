//! Keepers of the cluster that are not about any one workload: garbage collection, namespaces and
//! what each of them has. Must not know nodes, scheduler or kubelet stand-in.

pub mod discovery;
pub mod disruption;
pub mod endpoint_slices;
pub mod garbage_collector;
pub mod namespaces;
pub mod persistent_volumes;
pub mod pod_gc;
pub mod resource_quota;
pub mod service_accounts;

use k8s_openapi::api::core::v1::Namespace;

use self::discovery::DiscoveredKinds;
pub use self::service_accounts::RootCaPublisher;
use super::MachinesConfig;
use super::workload_controllers::SharedInformers;
use kueue_lab_runtime::{Api, Context, Informer};

/// The running keepers.
#[derive(Clone, Default)]
pub struct ControllerManager {
    /// Knows the root certificate, where namespaces are kept.
    pub root_ca_publisher: Option<RootCaPublisher>,
}

/// Starts the keepers that `config` switches on, in the tasks of `context`.
pub fn start(
    context: &Context,
    config: &MachinesConfig,
    shared: &SharedInformers,
) -> ControllerManager {
    let mut control = ControllerManager::default();
    if !(config.garbage_collection || config.namespaces || config.status_controllers) {
        return control;
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
        control.root_ca_publisher = Some(service_accounts::start(context, &namespaces));
    }
    if config.status_controllers {
        endpoint_slices::start(context, shared);
        disruption::start(context, shared);
        resource_quota::start(context, shared, &kinds);
        persistent_volumes::start(context);
    }
    control
}
