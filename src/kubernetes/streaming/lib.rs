//! The streaming protocols of the Kubernetes API: remote commands (`exec`, `attach`) and port
//! forwarding over WebSocket and SPDY/3.1, as the server (`k8s.io/streaming`,
//! `k8s.io/kubelet/pkg/cri/streaming`).
//!
//! Must not depend on other crates of the lab: the caller provides processes and connections.

mod handshake;
pub mod port_forward;
pub mod remote_command;
mod session;
mod spdy;
mod websocket;

pub use handshake::{HandshakeError, is_upgrade_request};
pub use session::{Session, SessionLimits, SessionPermit};
