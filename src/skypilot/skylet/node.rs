//! The nodes of a SkyPilot cluster.

use std::sync::Arc;

use async_trait::async_trait;
use kueue_lab_container::Container;

use crate::jobs_controller::JobsController;

/// A node: the container of a pod.
#[derive(Clone)]
pub struct Node {
    /// The address of the pod.
    pub ip: String,
    /// Its container.
    pub container: Arc<Container>,
}

/// The nodes of a cluster.
#[async_trait]
pub trait Nodes: Send + Sync {
    /// The nodes that run, the head first.
    async fn nodes(&self) -> Vec<Node>;

    /// The namespace of their Pods.
    fn namespace(&self) -> &str;

    /// The controller of the managed jobs; `None` if the lab runs none.
    fn jobs_controller(&self) -> Option<Arc<dyn JobsController>>;
}
