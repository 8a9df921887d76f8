//! The HTTPS server of the kubelets, for API servers in other processes, which request container
//! logs from it. All nodes share one address.
//!
//! Clients authenticate with a certificate, which the TLS configuration verifies, and need the permission
//! for `nodes/proxy`, as with kubelets.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Incoming;
use kube::api::LogParams;
use serde_json::json;
use tower::service_fn;

use super::authorization::Authorizer;
use super::log_options;
use kueue_lab_controller_runtime::Tasks;
use kueue_lab_http::{CertificateSubject, HttpServer, Limits, PeerCertificates};

/// Each `kubectl logs -f` uses one connection.
const LIMITS: Limits = Limits {
    max_connections: 256,
    unauthenticated: None,
    header_timeout: Duration::from_secs(15),
    max_header_bytes: None,
    max_concurrent_streams: None,
    http2_ping_interval: Some(Duration::from_secs(15)),
};

/// The container and options of a log request.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContainerLogRequest<'a> {
    pub(super) namespace: &'a str,
    pub(super) pod: &'a str,
    pub(super) container: &'a str,
    pub(super) options: &'a LogParams,
}

/// The error of an unavailable log, with the text of the kubelet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ContainerLogError {
    /// The pod or container does not exist on this node.
    NotFound(String),
    /// The container has no log.
    Unavailable(String),
}

/// The source of container logs.
pub(super) trait LogSource: Send + Sync + 'static {
    /// Streams the text of a log in chunks.
    fn log(
        &self,
        wanted: ContainerLogRequest<'_>,
    ) -> Result<BoxStream<'static, Bytes>, ContainerLogError>;
}

type LogResponse = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// Serves container logs in `tasks`. Returns the bound address, with the port that was
/// chosen.
pub(super) async fn serve(
    tasks: &Tasks,
    listen: SocketAddr,
    tls: Arc<rustls::ServerConfig>,
    logs: Arc<dyn LogSource>,
    authorizer: Arc<dyn Authorizer>,
) -> std::io::Result<SocketAddr> {
    let server = HttpServer::bind("kubelet-logs", listen, LIMITS)
        .await?
        .with_tls(tls);
    let address = server.local_addr();
    let service = service_fn(move |request: Request<Incoming>| {
        let (logs, authorizer) = (logs.clone(), authorizer.clone());
        async move {
            let response = match check_authorized(&*authorizer, &request).await {
                Ok(()) => handle(&*logs, &request),
                Err((status, why)) => text(status, why),
            };
            Ok::<_, Infallible>(response)
        }
    });
    tasks.spawn("kubelet-logs", server.serve(service, tasks.token()));
    Ok(address)
}

/// Checks the client of a request.
///
/// # Errors
/// The status and the text of a kubelet that refuses it.
async fn check_authorized<B>(
    authorizer: &dyn Authorizer,
    request: &Request<B>,
) -> Result<(), (StatusCode, String)> {
    let certificates = request.extensions().get::<PeerCertificates>();
    let client = certificates.and_then(|all| CertificateSubject::of(all.0.first()?));
    let Some(client) = client else {
        return Err((StatusCode::UNAUTHORIZED, "Unauthorized".into()));
    };
    let attributes = format!(
        "(user={}, verb=get, resource=nodes, subresource(s)=[proxy])",
        client.user
    );
    match authorizer.may_get_logs(&client).await {
        Ok(true) => Ok(()),
        Ok(false) => Err((StatusCode::FORBIDDEN, format!("Forbidden {attributes}"))),
        Err(error) => {
            tracing::warn!("SubjectAccessReview for {attributes} failed: {error}");
            let text = format!("Authorization error {attributes}");
            Err((StatusCode::INTERNAL_SERVER_ERROR, text))
        }
    }
}

/// Handles a request; its body is not read.
fn handle<B>(logs: &dyn LogSource, request: &Request<B>) -> LogResponse {
    let path = request.uri().path().trim_matches('/');
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["containerLogs", namespace, pod, container] if request.method() == Method::GET => {
            let options = match log_options::parse(request.uri().query().unwrap_or_default()) {
                Ok(options) => options,
                Err(error) => return text(StatusCode::BAD_REQUEST, error.to_string()),
            };
            let wanted = ContainerLogRequest {
                namespace,
                pod,
                container,
                options: &options,
            };
            match logs.log(wanted) {
                Ok(log) => {
                    let log = log.map(|piece| Ok(Frame::data(piece)));
                    plain(StatusCode::OK, StreamBody::new(log).boxed_unsync())
                }
                Err(ContainerLogError::NotFound(why)) => text(StatusCode::NOT_FOUND, why),
                Err(ContainerLogError::Unavailable(why)) => text(StatusCode::BAD_REQUEST, why),
            }
        }
        ["containerLogs", ..] => text(StatusCode::METHOD_NOT_ALLOWED, "logs are read".into()),
        [
            what @ ("exec" | "attach" | "run" | "portForward"),
            _,
            pod,
            ..,
        ] => not_implemented(what, pod),
        _ => text(StatusCode::NOT_FOUND, "there is nothing here".into()),
    }
}

fn plain(status: StatusCode, body: UnsyncBoxBody<Bytes, Infallible>) -> LogResponse {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn text(status: StatusCode, text: String) -> LogResponse {
    plain(status, Full::new(Bytes::from(text)).boxed_unsync())
}

/// The error for `exec`, `attach`, `run` and `portForward`, as a `Status` that clients print
/// verbatim.
fn not_implemented(what: &str, pod: &str) -> LogResponse {
    let what = what.to_lowercase();
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "reason": "NotImplemented", "code": 501,
        "message": format!(
            "{what} of pods {pod:?}: containers do not run on this node, so there is nothing to connect to"
        ),
    });
    let mut response = text(StatusCode::NOT_IMPLEMENTED, status.to_string());
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has one log: container `c` of pod `team/p`.
    struct FakeLogSource;

    impl LogSource for FakeLogSource {
        fn log(
            &self,
            wanted: ContainerLogRequest<'_>,
        ) -> Result<BoxStream<'static, Bytes>, ContainerLogError> {
            let previous = wanted.options.previous;
            match (wanted.namespace, wanted.pod, wanted.container, previous) {
                ("team", "p", "c", false) => {
                    let pieces = ["one\n", "two\n"].map(Bytes::from);
                    Ok(futures::stream::iter(pieces).boxed())
                }
                ("team", "p", "c", true) => {
                    Err(ContainerLogError::Unavailable("nothing before".into()))
                }
                _ => Err(ContainerLogError::NotFound("who".into())),
            }
        }
    }

    async fn send(method: Method, uri: &str) -> (u16, String) {
        let request = Request::builder().method(method).uri(uri);
        let response = handle(&FakeLogSource, &request.body(()).unwrap());
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    /// Lets `kube-apiserver` get logs, and has no decision on `unknown`.
    struct FakeAuthorizer;

    #[async_trait::async_trait]
    impl Authorizer for FakeAuthorizer {
        async fn may_get_logs(&self, client: &CertificateSubject) -> kube::Result<bool> {
            match client.user.as_str() {
                "unknown" => Err(kube::Error::LinesCodecMaxLineLengthExceeded),
                user => Ok(user == "kube-apiserver"),
            }
        }
    }

    #[tokio::test]
    async fn clients_need_a_certificate_and_the_permission() {
        let check = async |user: Option<&str>| {
            let mut request = Request::new(());
            if let Some(user) = user {
                let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
                let name = rcgen::DnType::CommonName;
                params.distinguished_name.push(name, user);
                let key = rcgen::KeyPair::generate().unwrap();
                let certificate = params.self_signed(&key).unwrap();
                let certificates = PeerCertificates(Arc::new([certificate.der().clone()]));
                request.extensions_mut().insert(certificates);
            }
            let checked = check_authorized(&FakeAuthorizer, &request).await;
            checked.map_err(|(status, text)| (status.as_u16(), text))
        };
        assert_eq!(check(Some("kube-apiserver")).await, Ok(()));
        let refused = |status, text: &str| Err((status, text.to_owned()));
        assert_eq!(check(None).await, refused(401, "Unauthorized"));
        let forbidden = "Forbidden (user=ann, verb=get, resource=nodes, subresource(s)=[proxy])";
        assert_eq!(check(Some("ann")).await, refused(403, forbidden));
        assert_eq!(check(Some("unknown")).await.unwrap_err().0, 500);
    }

    #[tokio::test]
    async fn only_log_requests_are_served() {
        let get = |uri: &'static str| send(Method::GET, uri);
        assert_eq!(
            get("/containerLogs/team/p/c?follow=true").await,
            (200, "one\ntwo\n".into())
        );
        assert_eq!(
            get("/containerLogs/team/p/c?previous=true").await,
            (400, "nothing before".into())
        );
        assert_eq!(get("/containerLogs/team/other/c").await.0, 404);
        assert_eq!(get("/containerLogs/team/p/c?tailLines=few").await.0, 400);
        for uri in [
            "/",
            "/pods",
            "/containerLogs/team",
            "/containerLogs/a/b/c/d",
        ] {
            assert!(matches!(get(uri).await.0, 404 | 405), "{uri}");
        }
        assert_eq!(send(Method::POST, "/containerLogs/team/p/c").await.0, 405);
        for uri in [
            "/exec/team/p/c?command=ls",
            "/attach/team/p/u/c",
            "/portForward/team/p",
        ] {
            let (code, body) = send(Method::POST, uri).await;
            assert_eq!(code, 501);
            let status: serde_json::Value = serde_json::from_str(&body).unwrap();
            let message = status["message"].as_str().unwrap();
            assert!(
                message.contains(" of pods \"p\": containers do not run"),
                "{body}"
            );
        }
    }
}
