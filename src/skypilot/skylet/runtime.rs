//! [`Runtime`]: the shared state of the programs of one container.

use std::sync::Arc;

use kueue_lab_container::Container;
use parking_lot::Mutex;

use crate::job_queue::JobQueue;
use crate::job_table::JobTable;
use crate::node::Nodes;
use crate::placement::Placements;

/// The home directory.
pub(crate) const HOME: &str = "/root";

/// The runtime of one container.
pub struct Runtime {
    pub(crate) jobs: Mutex<JobTable>,
    pub(crate) queue: Mutex<JobQueue>,
    pub(crate) placements: Arc<Placements>,
    pub(crate) nodes: Box<dyn Nodes>,
}

impl Runtime {
    /// A runtime without jobs. `nodes` are those of its cluster.
    pub fn new(nodes: Box<dyn Nodes>) -> Arc<Self> {
        Arc::new(Self {
            jobs: Mutex::default(),
            queue: Mutex::default(),
            placements: Arc::default(),
            nodes,
        })
    }
}

/// The time of a container, in seconds since 1970.
pub(crate) fn now(container: &Container) -> f64 {
    container.system().now().as_duration().as_secs_f64()
}

/// A path of which the home directory is expanded.
pub(crate) fn expand_user(path: &str) -> String {
    match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{HOME}{rest}"),
        _ => path.to_owned(),
    }
}
