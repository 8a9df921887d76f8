//! Port forwarding to the servers of a pod.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use async_trait::async_trait;
use http::StatusCode;
use kueue_lab_streaming::port_forward::{PodConnection, PodPortRefused, PortForwarder};
use kueue_lab_streaming::remote_command::StartError;
use sha2::{Digest, Sha256};

use super::pod_workers::Kubelet;
use kueue_lab_controller_runtime::ObjectKey;

/// Connections to a pod.
struct PodPorts {
    kubelet: Kubelet,
    key: ObjectKey,
    uid: String,
}

impl Kubelet {
    /// Connections to the ports of a pod.
    ///
    /// # Errors
    /// The pod does not run.
    pub fn port_forward(
        &self,
        key: &ObjectKey,
        uid: &str,
    ) -> Result<Arc<dyn PortForwarder>, StartError> {
        let pods = self.shared().simulated_pods.lock();
        let is_running = pods
            .get(key)
            .is_some_and(|pod| pod.uid == uid && pod.containers.iter().any(|c| c.is_running()));
        match is_running {
            true => Ok(Arc::new(PodPorts {
                kubelet: self.clone(),
                key: key.clone(),
                uid: uid.to_owned(),
            })),
            false => Err(StartError {
                status: StatusCode::NOT_FOUND,
                message: "pod does not exist".into(),
            }),
        }
    }
}

#[async_trait]
impl PortForwarder for PodPorts {
    async fn connect(&self, port: u16) -> Result<PodConnection, PodPortRefused> {
        let client = IpAddr::V4(Ipv4Addr::LOCALHOST);
        if let Some(connection) = self.kubelet.connect_to_pod(&self.key, port, Some(client)) {
            return Ok(connection);
        }
        Err(PodPortRefused {
            uid: self.uid.clone(),
            pod: self.pod(),
            port,
        })
    }

    fn pod(&self) -> String {
        let hash = Sha256::digest(&self.uid);
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
