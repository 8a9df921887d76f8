//! Serves container logs of the lab's nodes to the embedded API server.

use async_trait::async_trait;

use kueue_lab_cluster::plugins::{ApiError, KubeletClient, LogStream, PodLogRequest};
use kueue_lab_machines::kubelet::{LogError, LogQuery, LogStore};

/// The kubelets of the lab's nodes, for logs only.
pub(super) struct KubeletLogs {
    store: LogStore,
}

impl KubeletLogs {
    pub(super) fn new(store: LogStore) -> Self {
        Self { store }
    }
}

#[async_trait]
impl KubeletClient for KubeletLogs {
    async fn logs(&self, request: PodLogRequest) -> Result<LogStream, ApiError> {
        let (pod, container) = (request.pod, request.container.clone());
        let query = LogQuery {
            uid: request.uid,
            container: request.container,
            options: request.options,
        };
        self.store.read(&query).map_err(|e| match e {
            LogError::NotStarted => ApiError::bad_request(format!(
                "container {container:?} in pod {pod:?} is waiting to start: ContainerCreating"
            )),
            LogError::NoPrevious => ApiError::bad_request(format!(
                "previous terminated container {container:?} in pod {pod:?} not found"
            )),
        })
    }
}
