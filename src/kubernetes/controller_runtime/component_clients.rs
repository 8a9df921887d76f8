//! Clients of the components of a control plane, distinguished by their user agent.

use std::sync::Arc;

use kube::Client;

/// Creates the client of each component. The API server takes the field manager of its writes from
/// the user agent.
#[derive(Clone)]
pub struct ComponentClients(Arc<dyn Fn(&str) -> Client + Send + Sync>);

impl ComponentClients {
    /// Clients made by a function of the user agent, such as `kube-scheduler`.
    pub fn new(client: impl Fn(&str) -> Client + Send + Sync + 'static) -> Self {
        Self(Arc::new(client))
    }

    /// The client of a component.
    pub fn client(&self, user_agent: &str) -> Client {
        (self.0)(user_agent)
    }
}

impl From<Client> for ComponentClients {
    /// One client for all components.
    fn from(client: Client) -> Self {
        Self::new(move |_| client.clone())
    }
}
