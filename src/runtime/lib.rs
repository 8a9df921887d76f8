//! The controller runtime: informers, work queues, the task groups both run in, and the
//! classification of API errors.
//!
//! Uses only a `kube::Client`, so it works with the embedded API server and with any cluster. Must
//! not depend on Kueue, the machines or any controller.

mod api;
pub mod api_errors;
mod component_clients;
mod indexed_store;
mod informer;
mod object_key;
mod ordered_watch;
mod rate_limiter;
mod raw_informer;
mod tasks;
mod watch_backoff;
mod watcher;
mod work_queue;

#[cfg(test)]
mod tests;

use kube::runtime::watcher::Config;
use kueue_lab_clock::Clock;
use kueue_lab_entropy::Entropy;

pub use api::Api;
pub use component_clients::ComponentClients;
pub use indexed_store::Change;
pub use informer::{Informer, InformerBuilder};
pub use object_key::ObjectKey;
pub use ordered_watch::OrderedWatch;
pub use tasks::Tasks;
pub use watch_backoff::WatchBackoff;
pub use watcher::{WatchError, value_watcher, watcher};
pub use work_queue::{ReconcileResult, WorkQueue};

/// The dependencies of a controller. Clones share them.
#[derive(Clone)]
pub struct Context {
    /// The client of the cluster.
    pub client: kube::Client,
    /// The source of lab time.
    pub clock: Clock,
    /// The source of random numbers.
    pub entropy: Entropy,
    /// The task group that runs the controller's tasks and shuts them down.
    pub tasks: Tasks,
    /// Whether informers request their first list as events of their watch (`sendInitialEvents`), which older API
    /// servers do not serve.
    pub streaming_lists: bool,
}

impl Context {
    /// A context with a new task group.
    pub fn new(client: kube::Client, clock: Clock, entropy: Entropy) -> Self {
        Self {
            client,
            clock,
            entropy,
            tasks: Tasks::new(),
            streaming_lists: false,
        }
    }

    /// The same context, whose informers request [streaming lists](Self::streaming_lists).
    #[must_use]
    pub fn with_streaming_lists(self, streaming_lists: bool) -> Self {
        Self {
            streaming_lists,
            ..self
        }
    }

    /// The configuration of a watch.
    pub fn watch_config(&self) -> Config {
        match self.streaming_lists {
            true => Config::default().streaming_lists(),
            false => Config::default(),
        }
    }

    /// The same context with another client.
    pub fn with_client(&self, client: kube::Client) -> Self {
        Self {
            client,
            ..self.clone()
        }
    }
}
