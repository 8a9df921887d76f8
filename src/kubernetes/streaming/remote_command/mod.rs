//! Remote commands: a process in a container with its streams at a client
//! (`k8s.io/kubelet/pkg/cri/streaming/remotecommand`).

mod process;
mod serve;
mod spdy;
mod status;
mod websocket;

pub use process::{CommandError, ContainerStreams, RemoteCommand, StreamOptions, TerminalSize};
pub use serve::{StartError, serve};
