//! Serving on the network.

use super::api_server::ApiServer;
use crate::http::secure_serving::{ServeError, ServeOptions, ServingHandle};

impl ApiServer {
    /// Starts serving over TLS.
    ///
    /// # Errors
    /// [`ServeError`] when binding the address or setting up TLS fails.
    pub async fn serve(&self, options: ServeOptions) -> Result<ServingHandle, ServeError> {
        self.core.serve(options).await
    }
}
