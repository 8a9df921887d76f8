//! Port forwarding: connections to ports of a pod
//! (`k8s.io/kubelet/pkg/cri/streaming/portforward`).

mod forwarder;
mod serve;
mod spdy;
mod websocket;

pub use forwarder::{DialError, PodConnection, PodPortRefused, PortForwarder, Transport};
pub use serve::serve;
