//! The control plane: pods whose containers are processes of this process. They are bound to
//! [`CONTROL_PLANE_NODE`], for which there is no Node object, so that it neither fails nor counts
//! as capacity.

use std::fmt::Debug;
use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{Node, NodeAddress, NodeStatus, Pod};
use kube::api::ObjectMeta;
use kueue_lab_container_program::Program;
use kueue_lab_streaming::port_forward::PodConnection;

use kueue_lab_controller_utils::control_plane_node::CONTROL_PLANE_NODE;

/// The address of the control plane.
const ADDRESS: &str = "172.18.255.254";

/// The processes behind the pods on [`CONTROL_PLANE_NODE`].
#[async_trait]
pub trait ControlPlane: Send + Sync {
    /// Mounts the volumes of a pod; called before each reconciliation of the pod.
    async fn mount_volumes(&self, pod: &Pod);

    /// The process of a container; `None` if the container is simulated.
    fn process(&self, pod: &Pod, container: &str) -> Option<Arc<dyn ContainerProcess>>;
}

/// The process of a container.
pub trait ContainerProcess: Debug + Send + Sync {
    /// Starts the process; called for each instance of the container. Returns its output and, if
    /// it exits, its exit code.
    fn start(&self) -> Program;

    /// Whether the readiness probe of the current instance succeeds.
    fn is_ready(&self) -> bool;

    /// Connects to a port of the process; `None` if it does not listen there. `client` is the address of a
    /// pod, or `None` for the API server.
    fn connect(&self, port: u16, client: Option<IpAddr>) -> Option<PodConnection>;
}

/// The node of control plane pods.
pub(super) fn control_plane_node() -> Node {
    Node {
        metadata: ObjectMeta {
            name: Some(CONTROL_PLANE_NODE.into()),
            ..ObjectMeta::default()
        },
        status: Some(NodeStatus {
            addresses: Some(vec![NodeAddress {
                type_: "InternalIP".into(),
                address: ADDRESS.into(),
            }]),
            ..NodeStatus::default()
        }),
        ..Node::default()
    }
}
