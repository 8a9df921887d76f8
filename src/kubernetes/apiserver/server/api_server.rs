//! The API server, its in-process client and its plugins.

use std::sync::Arc;

use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use serde_json::Value;

use super::builder::ApiServerBuilder;
use crate::endpoints::{self, LoadObjectError, UnknownFields};
use crate::http::tower_service::InProcessService;
use crate::plugins::{AdmissionPlugin, KubeletClient};
use crate::server_state::ServerState;

/// An embedded Kubernetes API server. Clones are handles to the same server.
#[derive(Clone)]
pub struct ApiServer {
    pub(crate) core: Arc<ServerState>,
}

impl ApiServer {
    /// Creates a builder; the server takes time from `clock` and uids and names from `entropy`.
    pub fn builder(clock: Clock, entropy: Entropy) -> ApiServerBuilder {
        ApiServerBuilder::new(clock, entropy)
    }

    /// An in-process client with administrator rights and the default namespace `default`. Requires
    /// a tokio runtime.
    pub fn client(&self) -> kube::Client {
        kube::Client::new(InProcessService::new(self.core.clone()), "default")
    }

    /// A client as [`client`](Self::client) of a user agent, from which the field manager of its
    /// writes is taken.
    pub fn client_of(&self, user_agent: &str) -> kube::Client {
        let service = InProcessService::new(self.core.clone()).with_user_agent(user_agent);
        kube::Client::new(service, "default")
    }

    /// Stores objects of a new cluster before its first request: uids, creation times and statuses
    /// are kept, and no admission plugin runs. An object replaces one of the same name.
    ///
    /// # Errors
    /// [`LoadObjectError`] for the first object that is not valid. The server must not be used
    /// then.
    pub async fn load_objects(
        &self,
        objects: Vec<Value>,
        unknown_fields: UnknownFields,
    ) -> Result<(), LoadObjectError> {
        endpoints::load_objects(&self.core, objects, unknown_fields).await
    }

    /// The revision of the latest write of an object that is neither a Lease nor an Event: it does
    /// not change in a cluster without work.
    pub fn state_revision(&self) -> u64 {
        self.core.store.state_revision()
    }

    /// Makes all writes durable and ends writing. Later writes get no response. Blocks for as long
    /// as the last writes take.
    pub fn close_storage(&self) {
        self.core.store.close();
    }

    /// Adds an admission plugin to a running server.
    pub fn add_admission(&self, plugin: Arc<dyn AdmissionPlugin>) {
        self.core.plugins.add_admission(plugin);
    }

    /// Sets or replaces the kubelet client of a running server.
    pub fn set_kubelet(&self, kubelet: Arc<dyn KubeletClient>) {
        self.core.plugins.set_kubelet(kubelet);
    }
}
