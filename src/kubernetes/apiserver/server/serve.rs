//! Serving on the network.

use std::sync::atomic::Ordering;

use super::api_server::ApiServer;
use crate::bootstrap::{
    KubernetesServiceController, create_extension_apiserver_authentication, create_system_roles,
};
use crate::endpoints::restore_api_services;
use crate::http::secure_serving::{ServeError, ServeOptions, ServingHandle};

impl ApiServer {
    /// Starts serving over TLS.
    ///
    /// # Errors
    /// [`ServeError`] when binding the address or setting up TLS fails.
    pub async fn serve(&self, options: ServeOptions) -> Result<ServingHandle, ServeError> {
        let serving = self.core.serve(options).await?;
        let core = self.core.clone();
        if core.has_restored_objects.load(Ordering::Relaxed) {
            restore_api_services(&core);
        }
        let service = KubernetesServiceController::new(core.clone(), serving.addr());
        service.reconcile(true);
        tokio::spawn(service.run(serving.stop_token()));
        // Only clients that start later need the system roles.
        tokio::spawn(async move {
            create_system_roles(&core);
            if let Err(error) = create_extension_apiserver_authentication(&core) {
                tracing::error!(%error, "extension API servers cannot authenticate requests");
            }
        });
        Ok(serving)
    }
}
