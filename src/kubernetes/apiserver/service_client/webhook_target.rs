//! The server of a webhook: the URL or the Service of its `clientConfig`.

use http::Uri;
use serde_json::Value;

use super::client_manager::ServerAddress;
use super::dial_error::connection_refused;
use super::service_resolver::{ResolveError, ServiceReference};
use crate::registry::object_reader::ObjectReader;
use kueue_lab_json::ValueExt;

/// Why the server of a webhook cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ServerError {
    /// The Service has no endpoint.
    #[error(transparent)]
    Service(#[from] ResolveError),
    /// The endpoint, a pod, does not listen.
    #[error("{}", connection_refused(.0))]
    Refused(String),
    /// The URL is not valid; the message of its parser.
    #[error("{0}")]
    Url(String),
}

/// The server of a webhook.
#[derive(Debug)]
pub(crate) struct WebhookTarget {
    /// The URL as messages name it.
    url: String,
    /// The path of the URL.
    path: String,
    /// The server, or why it cannot be reached.
    server: Result<ServerAddress, ServerError>,
}

impl WebhookTarget {
    /// The server of a `clientConfig`.
    pub(crate) fn of(config: &Value, reader: &dyn ObjectReader) -> Self {
        match config.has("/service") {
            true => Self::of_service(config, reader),
            false => Self::of_url(config),
        }
    }

    fn of_service(config: &Value, reader: &dyn ObjectReader) -> Self {
        let service = ServiceReference::of(config.at("/service"));
        let path = match config.text("/service/path") {
            "" => "/",
            path => path,
        };
        let server = match service.resolve(reader) {
            Err(error) => Err(ServerError::Service(error)),
            Ok(endpoint) if endpoint.is_pod => {
                Err(ServerError::Refused(endpoint.address.to_string()))
            }
            Ok(endpoint) => Ok(ServerAddress {
                base: format!("https://{}", endpoint.address),
                server_name: Some(service.server_name()),
                ca_bundle: config.text("/caBundle").to_owned(),
                ..ServerAddress::default()
            }),
        };
        Self {
            url: format!("https://{}:{}{path}", service.server_name(), service.port),
            path: path.to_owned(),
            server,
        }
    }

    fn of_url(config: &Value) -> Self {
        let url = config.text("/url");
        let parsed: Result<Uri, _> = url.parse();
        let path = parsed.as_ref().map_or("/", |uri| uri.path()).to_owned();
        let server = match &parsed {
            Err(error) => Err(ServerError::Url(error.to_string())),
            Ok(uri) => Ok(ServerAddress {
                base: format!(
                    "{}://{}",
                    uri.scheme_str().unwrap_or("https"),
                    uri.authority().map_or("", |authority| authority.as_str())
                ),
                ca_bundle: config.text("/caBundle").to_owned(),
                ..ServerAddress::default()
            }),
        };
        Self {
            url: url.to_owned(),
            path,
            server,
        }
    }

    /// The URL as messages name it.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// The path of the URL.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The server.
    ///
    /// # Errors
    /// The error of a target that cannot be reached.
    pub(super) fn server(&self) -> Result<&ServerAddress, ServerError> {
        self.server.as_ref().map_err(Clone::clone)
    }
}
