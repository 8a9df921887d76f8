//! Serving on the network.

use super::api_server::ApiServer;
use crate::http::secure_serving::{ServeError, ServeOptions, ServingHandle};

impl ApiServer {
    /// Starts serving over TLS.
    ///
    /// # Errors
    /// [`ServeError`] when the address cannot be listened on or TLS cannot be set up.
    pub async fn serve(&self, options: ServeOptions) -> Result<ServingHandle, ServeError> {
        self.core.serve(options).await
    }
}
