//! Serves the containers of the lab's nodes to the embedded API server.

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;

use kueue_lab_cluster::plugins::{
    ApiError, ContainerReference, DialError, ExecCommand, KubeletClient, LogStream, PodConnection,
    PodLogRequest, PodReference, PortForwarder, RemoteCommand, StartError, StreamOptions,
};
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_kubelet::{Kubelet, LogError, LogQuery};

/// The kubelets of the lab's nodes.
pub(super) struct LabKubelets {
    kubelet: Kubelet,
}

impl LabKubelets {
    pub(super) fn new(kubelet: Kubelet) -> Self {
        Self { kubelet }
    }
}

fn key(pod: &PodReference) -> ObjectKey {
    ObjectKey::new(&pod.namespace, &pod.name)
}

#[async_trait]
impl KubeletClient for LabKubelets {
    async fn logs(&self, request: PodLogRequest) -> Result<LogStream, ApiError> {
        let (pod, container) = (request.pod, request.container.clone());
        let query = LogQuery {
            uid: request.uid,
            container: request.container,
            options: request.options,
        };
        self.kubelet.logs().read(&query).map_err(|e| match e {
            LogError::NotStarted => ApiError::bad_request(format!(
                "container {container:?} in pod {pod:?} is waiting to start: ContainerCreating"
            )),
            LogError::NoPrevious => ApiError::bad_request(format!(
                "previous terminated container {container:?} in pod {pod:?} not found"
            )),
        })
    }

    async fn exec(
        &self,
        container: &ContainerReference,
        command: ExecCommand,
    ) -> Result<RemoteCommand, StartError> {
        let ContainerReference { pod, container } = container;
        let ExecCommand { command, options } = command;
        self.kubelet
            .exec(&key(pod), &pod.uid, container, command, options)
            .await
    }

    async fn attach(
        &self,
        container: &ContainerReference,
        options: StreamOptions,
    ) -> Result<RemoteCommand, StartError> {
        let ContainerReference { pod, container } = container;
        self.kubelet
            .attach(&key(pod), &pod.uid, container, options)
            .await
    }

    async fn port_forward(&self, pod: &PodReference) -> Result<Arc<dyn PortForwarder>, StartError> {
        self.kubelet.port_forward(&key(pod), &pod.uid)
    }

    async fn dial_node(&self, node: &str, port: Option<u16>) -> Result<PodConnection, DialError> {
        self.kubelet.dial_node(node, port)
    }

    async fn dial(&self, address: IpAddr, port: u16) -> Result<PodConnection, DialError> {
        self.kubelet.dial(address, port).await
    }
}
