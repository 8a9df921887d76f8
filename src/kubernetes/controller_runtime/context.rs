//! [`Context`]: the dependencies of a controller.

use kube::runtime::watcher::Config;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;

use crate::tasks::Tasks;

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
    /// Whether informers request their first list as events of their watch (`sendInitialEvents`),
    /// which older API servers do not serve. A server in this process then sends objects in place
    /// of text.
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

    /// The same context with the time of another clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
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
