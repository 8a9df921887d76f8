//! HTTPS clients of webhooks.

use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Request, Uri};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use kube::{Client, Config};
use parking_lot::Mutex;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::Value;

use kueue_lab_json::ValueExt;

/// The maximum response size: a patch may be as large as an encoded object.
const ANSWER_LIMIT: usize = 8 << 20;
/// The maximum number of cached clients.
const KEPT: usize = 64;

/// Cached clients, by URL and CA bundle.
#[derive(Default)]
pub(crate) struct ClientManager {
    clients: Mutex<HashMap<(String, String), Client>>,
}

impl ClientManager {
    /// Posts a review to the URL of a `clientConfig` and returns the response.
    ///
    /// # Errors
    /// The failure, with the URL.
    pub(crate) async fn call(
        &self,
        config: &Value,
        review: &Value,
        timeout: u64,
    ) -> Result<Value, String> {
        let url = config.text("/url");
        let failed = |why: String| {
            format!("failed to call webhook: Post \"{url}?timeout={timeout}s\": {why}")
        };
        let client = self.client(config).map_err(failed)?;
        let uri: Uri = url.parse().map_err(|e| failed(format!("{e}")))?;
        let target = format!("{}?timeout={timeout}s", uri.path());
        let request = Request::post(target)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .body(Body::from(review.to_string().into_bytes()))
            .map_err(|e| failed(e.to_string()))?;
        let answer = async {
            let response = client.send(request).await.map_err(|e| root_cause(&e))?;
            let status = response.status();
            let body = Limited::new(response.into_body(), ANSWER_LIMIT).collect();
            let body = body.await.map_err(|e| root_cause(&*e))?.to_bytes();
            if !status.is_success() {
                let text = String::from_utf8_lossy(&body[..body.len().min(1024)]);
                return Err(format!("the webhook answered {status}: {}", text.trim()));
            }
            serde_json::from_slice(&body).map_err(|e| e.to_string())
        };
        let answer = tokio::time::timeout(Duration::from_secs(timeout), answer).await;
        answer
            .unwrap_or_else(|_| Err("context deadline exceeded".into()))
            .map_err(failed)
    }

    fn client(&self, config: &Value) -> Result<Client, String> {
        let (url, bundle) = (config.text("/url"), config.text("/caBundle"));
        let key = (url.to_string(), bundle.to_string());
        if let Some(client) = self.clients.lock().get(&key) {
            return Ok(client.clone());
        }
        let uri: Uri = url.parse().map_err(|e| format!("{e}"))?;
        let mut parts = uri.into_parts();
        parts.path_and_query = Some(http::uri::PathAndQuery::from_static("/"));
        let root = Uri::from_parts(parts).map_err(|e| e.to_string())?;
        let mut config = Config::new(root);
        if !bundle.is_empty() {
            config.root_cert = Some(certificates(bundle)?);
        }
        let client = Client::try_from(config).map_err(|e| root_cause(&e))?;
        let mut clients = self.clients.lock();
        if clients.len() >= KEPT {
            clients.clear();
        }
        clients.insert(key, client.clone());
        Ok(client)
    }
}

/// The DER certificates of a `caBundle`.
fn certificates(bundle: &str) -> Result<Vec<Vec<u8>>, String> {
    let wrong = |why: String| format!("unable to load root certificates: {why}");
    let pem = STANDARD.decode(bundle).map_err(|e| wrong(e.to_string()))?;
    CertificateDer::pem_slice_iter(&pem)
        .map(|c| c.map(|c| c.to_vec()).map_err(|e| wrong(e.to_string())))
        .collect()
}

/// The innermost source of an error.
fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
