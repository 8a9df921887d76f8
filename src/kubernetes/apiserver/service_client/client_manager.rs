//! HTTPS clients of webhooks and extension API servers, cached by address and TLS configuration.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use kube::{Client, Config};
use parking_lot::Mutex;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::Value;

use super::dial_error::request_error;
use super::server_response::generic_server_response;
use super::webhook_target::{ServerError, WebhookTarget};

/// The maximum response size: a patch may be as large as an encoded object.
const RESPONSE_LIMIT: usize = 8 << 20;
/// The maximum number of cached clients.
const MAX_CLIENTS: usize = 64;

/// A server and how it is verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ServerAddress {
    /// Scheme, host and port, without a path.
    pub(crate) base: String,
    /// The name in its certificate, if that is not its host.
    pub(crate) server_name: Option<String>,
    /// The certificates that sign its own, PEM in base64; those of the host if empty.
    pub(crate) ca_bundle: String,
    /// Whether its certificate is not verified.
    pub(crate) insecure_skip_tls_verify: bool,
    /// The client certificate and its key.
    pub(crate) identity: Option<Arc<ClientIdentity>>,
}

/// A client certificate and its key, in PEM.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClientIdentity {
    /// The certificate.
    pub(crate) certificate: String,
    /// The private key.
    pub(crate) key: String,
}

impl ServerAddress {
    /// Host and port.
    fn authority(&self) -> &str {
        let rest = self.base.split_once("://").map(|(_, rest)| rest);
        rest.unwrap_or(&self.base)
    }
}

/// A request that a server does not answer, in the words of Go's `net/http`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    /// The address of the server is not a URL.
    #[error(transparent)]
    Base(#[from] http::uri::InvalidUri),
    /// The certificates that sign that of the server cannot be read; the message of the decoder.
    #[error("unable to load root certificates: {0}")]
    RootCertificates(String),
    /// The request cannot be built.
    #[error(transparent)]
    Request(#[from] http::Error),
    /// The server cannot be reached or verified.
    #[error("{}", request_error(source, authority))]
    Client {
        /// Why.
        source: kube::Error,
        /// Host and port of the server.
        authority: String,
    },
}

/// A failed call of a webhook.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WebhookCallError {
    /// The server does not answer.
    #[error("Post \"{url}?timeout={timeout}s\": {source}")]
    Post {
        /// The URL.
        url: String,
        /// The timeout in seconds.
        timeout: u64,
        /// Why.
        source: PostError,
    },
    /// The answer is an error; its message.
    #[error("{0}")]
    Status(String),
    /// The answer is not JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Why a server does not answer to a call.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PostError {
    /// The server is not known.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The request is not sent.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The answer cannot be read.
    #[error("{}", request_error(&**source, authority))]
    Body {
        /// Why.
        source: Box<dyn Error + Send + Sync>,
        /// Host and port of the server.
        authority: String,
    },
    /// The server does not answer in time.
    #[error("context deadline exceeded")]
    Timeout,
}

/// Cached clients.
#[derive(Default)]
pub(crate) struct ClientManager {
    clients: Mutex<HashMap<ServerAddress, Client>>,
}

impl ClientManager {
    /// Posts a review to a webhook and returns the response.
    ///
    /// # Errors
    /// The failure, with the URL.
    pub(crate) async fn call(
        &self,
        target: &WebhookTarget,
        review: &Value,
        timeout: u64,
    ) -> Result<Value, WebhookCallError> {
        let post = |source: PostError| WebhookCallError::Post {
            url: target.url().to_owned(),
            timeout,
            source,
        };
        let server = target.server().map_err(|error| post(error.into()))?;
        let path = format!("{}?timeout={timeout}s", target.path());
        let request = Request::post(path)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .body(Body::from(review.to_string().into_bytes()))
            .map_err(|error| post(SendError::from(error).into()))?;
        let call = async {
            let response = self.send(server, request).await;
            let response = response.map_err(|error| post(error.into()))?;
            let status = response.status();
            let content_type = response.headers().get(CONTENT_TYPE);
            let content_type = content_type
                .and_then(|t| t.to_str().ok())
                .unwrap_or_default();
            let is_text = content_type.is_empty() || content_type.starts_with("text/");
            let body = Limited::new(response.into_body(), RESPONSE_LIMIT).collect();
            let body = body.await.map_err(|source| {
                let authority = server.authority().to_owned();
                post(PostError::Body { source, authority })
            })?;
            let body = body.to_bytes();
            if !status.is_success() {
                let text = is_text.then_some(&*body);
                let message = generic_server_response(status, text);
                return Err(WebhookCallError::Status(message));
            }
            Ok(serde_json::from_slice(&body)?)
        };
        let response = tokio::time::timeout(Duration::from_secs(timeout), call).await;
        response.unwrap_or_else(|_| Err(post(PostError::Timeout)))
    }

    /// Sends a request, whose URI is a path, and returns the response when its headers have
    /// arrived.
    ///
    /// # Errors
    /// The server cannot be reached or verified.
    pub(crate) async fn send(
        &self,
        server: &ServerAddress,
        request: Request<Body>,
    ) -> Result<Response<Body>, SendError> {
        let client = self.client(server)?;
        let sent = client.send(request).await;
        sent.map_err(|source| SendError::Client {
            source,
            authority: server.authority().to_owned(),
        })
    }

    fn client(&self, server: &ServerAddress) -> Result<Client, SendError> {
        if let Some(client) = self.clients.lock().get(server) {
            return Ok(client.clone());
        }
        let root: Uri = server.base.parse()?;
        let mut config = Config::new(root);
        // The caller handles a failure.
        config.default_retry = false;
        config.tls_server_name.clone_from(&server.server_name);
        config.accept_invalid_certs = server.insecure_skip_tls_verify;
        if !server.ca_bundle.is_empty() {
            config.root_cert = Some(certificates(&server.ca_bundle)?);
        }
        if let Some(identity) = &server.identity {
            config.auth_info.client_certificate_data = Some(STANDARD.encode(&identity.certificate));
            config.auth_info.client_key_data = Some(STANDARD.encode(&identity.key).into());
        }
        let client = kueue_lab_host::client(config).map_err(|source| SendError::Client {
            source,
            authority: server.authority().to_owned(),
        })?;
        let mut clients = self.clients.lock();
        if clients.len() >= MAX_CLIENTS {
            clients.clear();
        }
        clients.insert(server.clone(), client.clone());
        Ok(client)
    }
}

/// The DER certificates of a `caBundle`.
fn certificates(bundle: &str) -> Result<Vec<Vec<u8>>, SendError> {
    let pem = STANDARD.decode(bundle);
    let pem = pem.map_err(|error| SendError::RootCertificates(error.to_string()))?;
    CertificateDer::pem_slice_iter(&pem)
        .map(|certificate| match certificate {
            Ok(certificate) => Ok(certificate.to_vec()),
            Err(error) => Err(SendError::RootCertificates(error.to_string())),
        })
        .collect()
}
