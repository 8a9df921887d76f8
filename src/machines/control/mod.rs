//! Keepers of the cluster that are not about any one workload: garbage collection, namespaces and
//! what each of them has. Must not know nodes, scheduler or kubelet stand-in.

pub mod accounts;
pub mod disruption;
pub mod endpoints;
pub mod gc;
pub mod kinds;
pub mod namespaces;
pub mod pod_gc;
pub mod quota;
pub mod volumes;

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;

pub use self::accounts::Accounts;
use self::kinds::Kinds;
use super::MachinesConfig;
use super::workloads::Shared;
use kueue_lab_runtime::{Context, Informer};

/// The running keepers.
#[derive(Clone, Default)]
pub struct Control {
    /// Knows the root certificate, where namespaces are kept.
    pub accounts: Option<Accounts>,
}

/// Starts the keepers that `config` switches on, in the tasks of `context`.
pub fn start(context: &Context, config: &MachinesConfig, shared: &Shared) -> Control {
    let mut control = Control::default();
    if !(config.gc || config.namespaces || config.bookkeeping) {
        return control;
    }
    let kinds = Kinds::start(context);
    if config.gc {
        gc::start(context, &kinds);
        pod_gc::start(context, shared);
    }
    if config.namespaces {
        let namespaces: Informer<Namespace> =
            Informer::builder(Api::all(context.client.clone())).start(context);
        namespaces::start(context, &kinds, &namespaces);
        control.accounts = Some(accounts::start(context, &namespaces));
    }
    if config.bookkeeping {
        endpoints::start(context, shared);
        disruption::start(context, shared);
        quota::start(context, shared, &kinds);
        volumes::start(context);
    }
    control
}
