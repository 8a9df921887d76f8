//! An HTTPS server outside the cluster: a webhook or an extension API server.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

pub(crate) type TestBody = UnsyncBoxBody<Bytes, Infallible>;

/// A request that the server received.
pub(crate) struct Received {
    /// Path and query.
    pub(crate) path: String,
    /// The headers.
    pub(crate) headers: http::HeaderMap,
    /// The body.
    pub(crate) body: Bytes,
}

impl Received {
    /// The values of a header.
    pub(crate) fn header(&self, name: &str) -> Vec<&str> {
        let values = self.headers.get_all(name).iter();
        values.map(|value| value.to_str().unwrap()).collect()
    }
}

/// A running server.
pub(crate) struct TlsServer {
    pub(crate) port: u16,
    /// Its certificate as a `caBundle`.
    pub(crate) bundle: String,
    pub(crate) received: Arc<Mutex<Vec<Received>>>,
}

/// Starts a server with a certificate for `name`. A connection that `answer` upgrades sends what it receives back in
/// upper case. With `client_ca` (PEM), clients need a
/// certificate of this authority.
pub(crate) async fn start(
    name: &str,
    client_ca: Option<&str>,
    answer: impl Fn(&Received) -> Response<TestBody> + Send + Sync + 'static,
) -> TlsServer {
    let made = rcgen::generate_simple_self_signed(vec![name.to_string()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap();
    let config = match client_ca {
        None => config.with_no_client_auth(),
        Some(pem) => {
            let mut roots = RootCertStore::empty();
            let authority = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
            roots.add(authority).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            config.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let config = config
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let received = Arc::new(Mutex::new(Vec::new()));
    let seen = received.clone();
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, seen, answer) = (acceptor.clone(), seen.clone(), answer.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else {
                    return;
                };
                let service = service_fn(move |mut request: http::Request<Incoming>| {
                    let (seen, answer) = (seen.clone(), answer.clone());
                    async move {
                        let upgraded = hyper::upgrade::on(&mut request);
                        let (head, body) = request.into_parts();
                        let request = Received {
                            path: head.uri.path_and_query().unwrap().to_string(),
                            headers: head.headers,
                            body: body.collect().await?.to_bytes(),
                        };
                        let response = answer(&request);
                        seen.lock().unwrap().push(request);
                        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                            tokio::spawn(shout(upgraded));
                        }
                        Ok::<_, hyper::Error>(response)
                    }
                });
                let http = hyper::server::conn::http1::Builder::new();
                let connection = http.serve_connection(TokioIo::new(stream), service);
                let _ = connection.with_upgrades().await;
            });
        }
    });
    TlsServer {
        port,
        bundle: STANDARD.encode(made.cert.pem()),
        received,
    }
}

/// Sends what it receives back in upper case.
async fn shout(upgraded: OnUpgrade) {
    let mut connection = TokioIo::new(upgraded.await.unwrap());
    let mut data = [0; 64];
    while let Ok(length @ 1..) = connection.read(&mut data).await {
        data.make_ascii_uppercase();
        connection.write_all(&data[..length]).await.unwrap();
    }
}

/// A JSON response.
pub(crate) fn json_response(value: &serde_json::Value) -> Response<TestBody> {
    let body = http_body_util::Full::new(Bytes::from(value.to_string()));
    Response::builder()
        .header("content-type", "application/json")
        .body(body.boxed_unsync())
        .unwrap()
}
