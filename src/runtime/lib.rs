//! What controllers are made of: informers that follow a kind, work queues that hand out keys, the
//! tasks both run in, and what a refusal means.
//!
//! Everything here works through a `kube::Client`, so it runs alike on the embedded API server and
//! on any cluster. Must not know Kueue, the machines or what any controller decides.

mod api;
pub mod api_errors;
mod indexed_store;
mod informer;
mod object_key;
mod rate_limiter;
mod tasks;
mod watch_backoff;
mod watcher;
mod work_queue;

#[cfg(test)]
mod tests;

use kueue_lab_clock::Clock;
use kueue_lab_entropy::Entropy;

pub use api::Api;
pub use indexed_store::Change;
pub use informer::{Informer, InformerBuilder};
pub use object_key::ObjectKey;
pub use tasks::Tasks;
pub use watch_backoff::WatchBackoff;
pub use watcher::watcher;
pub use work_queue::{ReconcileResult, WorkQueue};

/// What every controller is given to work with. Clones share everything.
#[derive(Clone)]
pub struct Context {
    /// The way to the cluster.
    pub client: kube::Client,
    /// Lab time.
    pub clock: Clock,
    /// Chance.
    pub entropy: Entropy,
    /// Where its tasks run, and how they are told to stop.
    pub tasks: Tasks,
}

impl Context {
    /// A context with tasks of its own.
    pub fn new(client: kube::Client, clock: Clock, entropy: Entropy) -> Self {
        Self {
            client,
            clock,
            entropy,
            tasks: Tasks::new(),
        }
    }
}
