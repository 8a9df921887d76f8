//! The metrics server of the controller manager, in the network of its Pod.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};
use kueue_lab_controller_runtime::Context;
use kueue_lab_http::{memory_connection, serve_http1, text_response};
use kueue_lab_kubelet::PodConnection;
use kueue_lab_metrics::CONTENT_TYPE as METRICS_CONTENT_TYPE;
use kueue_lab_webhooks::{CertificateBundle, CertificateLifetimes, ServingCertificate};
use tokio_rustls::TlsAcceptor;

use super::controller_instances::ControllerInstances;
use super::{METRICS_SERVICE, NAMESPACE};

/// The port of the Pod.
pub(super) const METRICS_PORT: u16 = 8443;
/// The path of the metrics.
const PATH: &str = "/metrics";

/// Serves the metrics of the controller over TLS, to users that may `get` the path.
pub(super) struct MetricsServer {
    context: Context,
    instances: ControllerInstances,
    /// Made for the first connection.
    tls: OnceLock<Option<TlsAcceptor>>,
}

impl MetricsServer {
    /// A server of the metrics of `instances`.
    pub(super) fn new(context: &Context, instances: ControllerInstances) -> Self {
        Self {
            context: context.clone(),
            instances,
            tls: OnceLock::new(),
        }
    }

    /// Opens a connection of a pod with this address, or of the API server, which has authorized the use
    /// of `services/proxy` and sends no credentials.
    pub(super) fn connect(self: &Arc<Self>, client: Option<IpAddr>) -> Option<PodConnection> {
        let tls = self.tls.get_or_init(|| self.acceptor()).clone()?;
        let needs_credentials = client.is_some();
        let (client, connection) = memory_connection();
        let server = self.clone();
        self.context.tasks.spawn("metrics-connection", async move {
            let connection = match tls.accept(connection).await {
                Ok(connection) => connection,
                Err(error) => return tracing::debug!(%error, "TLS of a metrics connection failed"),
            };
            let respond = |request| server.respond(request, needs_credentials);
            if let Err(error) = serve_http1(connection, respond).await {
                tracing::debug!(%error, "metrics connection failed");
            }
        });
        Some(Box::new(client))
    }

    /// TLS with a certificate of its own authority, as upstream's default.
    fn acceptor(&self) -> Option<TlsAcceptor> {
        let host = format!("{METRICS_SERVICE}.{NAMESPACE}.svc");
        let now = self.context.clock.now();
        let bundle = CertificateBundle::generate(&[host], CertificateLifetimes::default(), now);
        let config = bundle
            .and_then(ServingCertificate::new)
            .and_then(|certificate| certificate.http1_config());
        match config {
            Ok(config) => Some(TlsAcceptor::from(config)),
            Err(error) => {
                tracing::error!(%error, "the metrics cannot be served");
                None
            }
        }
    }

    async fn respond(
        &self,
        request: Request<Incoming>,
        needs_credentials: bool,
    ) -> Response<Full<Bytes>> {
        if needs_credentials && let Err(refused) = self.authorize(&request).await {
            return refused;
        }
        match (request.uri().path(), request.method()) {
            (PATH, &Method::GET) => {
                let controller = self.instances.current().get();
                let metrics = self.instances.metrics().text(Some(controller.shared()));
                text_response(StatusCode::OK, METRICS_CONTENT_TYPE, metrics)
            }
            (PATH, _) => text(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed\n"),
            _ => text(StatusCode::NOT_FOUND, "404 page not found\n"),
        }
    }

    /// Refuses a request without a token of a user that may send it, as controller-runtime's
    /// `WithAuthenticationAndAuthorization`.
    async fn authorize(&self, request: &Request<Incoming>) -> Result<(), Response<Full<Bytes>>> {
        let token = request.headers().get(AUTHORIZATION);
        let token = token.and_then(|token| token.to_str().ok());
        let token = token.and_then(|token| token.strip_prefix("Bearer "));
        let Some(user) = self.authenticated_user(token).await else {
            return Err(text(StatusCode::UNAUTHORIZED, "Unauthorized\n"));
        };
        let (path, method) = (request.uri().path(), request.method());
        match self.is_allowed(user, path, method).await {
            true => Ok(()),
            false => Err(text(StatusCode::FORBIDDEN, "Authorization denied\n")),
        }
    }

    /// The user of a token, by a TokenReview.
    async fn authenticated_user(&self, token: Option<&str>) -> Option<UserInfo> {
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: token?.to_owned(),
                ..TokenReviewSpec::default()
            },
            ..TokenReview::default()
        };
        let api: Api<TokenReview> = Api::all(self.context.client.clone());
        let review = api.create(&PostParams::default(), &review).await.ok()?;
        let status = review.status?;
        status.user.filter(|_| status.authenticated == Some(true))
    }

    /// Whether a user may send a request, by a SubjectAccessReview.
    async fn is_allowed(&self, user: UserInfo, path: &str, method: &Method) -> bool {
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: user.username,
                groups: user.groups,
                uid: user.uid,
                extra: user.extra,
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some(path.to_owned()),
                    verb: Some(method.as_str().to_lowercase()),
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let api: Api<SubjectAccessReview> = Api::all(self.context.client.clone());
        let review = api.create(&PostParams::default(), &review).await;
        review.is_ok_and(|review| review.status.is_some_and(|status| status.allowed))
    }
}

fn text(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    text_response(status, "text/plain; charset=utf-8", text.to_owned())
}
