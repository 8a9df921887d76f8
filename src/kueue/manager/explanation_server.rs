//! [`ExplanationServer`]: the explanations of the controller of this process as an extension API server over HTTPS.
//!
//! Only the API server of the cluster connects, with its front proxy certificate. It names the user, whose right to
//! `get` the explanation is checked by a SubjectAccessReview, as extension API servers do.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::watch;
use tower::service_fn;

use super::explainer::Explainer;
use super::front_proxy::{FrontProxy, FrontProxyError, RequestUser};
use super::instance::InstanceRole;
use kueue_lab_api::explanation::{GROUP, KIND, SUBRESOURCE, VERSION};
use kueue_lab_controller::Controller;
use kueue_lab_controller_runtime::Tasks;
use kueue_lab_http::{HttpServer, Limits, PeerCertificates, text_response};
use kueue_lab_webhooks::ServingCertificate;
use kueue_lab_webhooks::certificates::CertificateError;

/// Limits for a few connections of API servers.
const LIMITS: Limits = Limits {
    max_connections: 64,
    unauthenticated: None,
    header_timeout: Duration::from_secs(15),
    max_header_bytes: None,
    max_concurrent_streams: Some(100),
    http2_ping_interval: Some(Duration::from_secs(15)),
};

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExplanationServerError {
    /// The requests of the API server cannot be authenticated.
    #[error(transparent)]
    FrontProxy(#[from] FrontProxyError),
    /// The certificates cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The requested address.
        address: SocketAddr,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

/// The state of the server.
pub(super) struct ExplanationServer {
    pub(super) client: Client,
    pub(super) role: watch::Receiver<InstanceRole>,
    pub(super) explainer: Arc<dyn Explainer>,
}

/// An object to explain.
#[derive(Debug, PartialEq, Eq)]
struct Subject<'a> {
    resource: &'a str,
    namespace: &'a str,
    name: &'a str,
}

/// A Status that is an error.
struct Refusal {
    code: StatusCode,
    reason: &'static str,
    message: String,
}

impl ExplanationServer {
    /// Binds the address and serves. Returns the address, with the port that was chosen.
    ///
    /// # Errors
    /// [`ExplanationServerError`].
    pub(super) async fn start(
        self,
        tasks: &Tasks,
        listen: SocketAddr,
        certificates: &ServingCertificate,
    ) -> Result<SocketAddr, ExplanationServerError> {
        let front_proxy = FrontProxy::of_cluster(&self.client).await?;
        let tls = certificates.client_verifying_config(&front_proxy.authority)?;
        let server = HttpServer::bind("explanations", listen, LIMITS).await;
        let server = server.map_err(|source| ExplanationServerError::Listen {
            address: listen,
            source,
        })?;
        let address = server.local_addr();
        let server = server.with_tls(tls);
        let shared = Arc::new((self, front_proxy));
        let service = service_fn(move |request| {
            let shared = shared.clone();
            async move { Ok::<_, Infallible>(shared.0.handle(&shared.1, request).await) }
        });
        tasks.spawn("explanations", server.serve(service, tasks.token()));
        Ok(address)
    }

    async fn handle(
        &self,
        front_proxy: &FrontProxy,
        request: Request<Incoming>,
    ) -> Response<Full<Bytes>> {
        let (code, body) = match self.respond(front_proxy, &request).await {
            Ok(body) => (StatusCode::OK, body),
            Err(refusal) => (refusal.code, refusal.status()),
        };
        text_response(code, "application/json", body.to_string())
    }

    async fn respond(
        &self,
        front_proxy: &FrontProxy,
        request: &Request<Incoming>,
    ) -> Result<Value, Refusal> {
        let user = user(front_proxy, request.extensions().get(), request.headers());
        let user = user.ok_or_else(Refusal::unauthorized)?;
        let path = request.uri().path();
        if request.method() != Method::GET {
            return Err(Refusal::method_not_allowed());
        }
        // Discovery is for all users that the API server knows.
        if path == format!("/apis/{GROUP}/{VERSION}") {
            return Ok(resource_list());
        }
        let subject = Subject::of(path).ok_or_else(Refusal::no_such_path)?;
        self.authorize(&user, &subject).await?;
        let InstanceRole::Leader(controller) = self.role.borrow().clone() else {
            return Err(Refusal::unavailable("this instance is not the leader"));
        };
        self.explain(&controller, &subject)
    }

    /// Checks that the user may get the explanation.
    async fn authorize(&self, user: &RequestUser, subject: &Subject<'_>) -> Result<(), Refusal> {
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(user.name.clone()),
                groups: Some(user.groups.clone()),
                resource_attributes: Some(ResourceAttributes {
                    verb: Some("get".to_owned()),
                    group: Some(GROUP.to_owned()),
                    version: Some(VERSION.to_owned()),
                    resource: Some(subject.resource.to_owned()),
                    subresource: Some(SUBRESOURCE.to_owned()),
                    namespace: Some(subject.namespace.to_owned()),
                    name: Some(subject.name.to_owned()),
                    ..ResourceAttributes::default()
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let reviewed = reviews.create(&PostParams::default(), &review).await;
        let reviewed = reviewed.map_err(|error| {
            Refusal::internal(&format!("cannot create subjectaccessreviews: {error}"))
        })?;
        match reviewed.status.is_some_and(|status| status.allowed) {
            true => Ok(()),
            false => Err(Refusal::forbidden(user, subject)),
        }
    }

    fn explain(&self, controller: &Controller, subject: &Subject<'_>) -> Result<Value, Refusal> {
        let (namespace, name) = (subject.namespace, subject.name);
        let explained = kueue_lab_blocking::compute(|| match subject.resource {
            "workloads" => self.explainer.workload(controller, namespace, name),
            _ => self.explainer.cluster_queue(controller, name),
        });
        let explained = explained.map_err(|error| Refusal::internal(&error.to_string()))?;
        explained.ok_or_else(|| Refusal::not_found(subject))
    }
}

fn user(
    front_proxy: &FrontProxy,
    certificates: Option<&PeerCertificates>,
    headers: &HeaderMap,
) -> Option<RequestUser> {
    front_proxy.user(certificates?, headers)
}

impl<'a> Subject<'a> {
    /// The object of a path.
    fn of(path: &'a str) -> Option<Self> {
        let path = path.strip_prefix("/apis/")?.strip_prefix(GROUP)?;
        let path = path.strip_prefix('/')?.strip_prefix(VERSION)?;
        let parts: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
        match parts.as_slice() {
            ["namespaces", namespace, "workloads", name, SUBRESOURCE] => Some(Self {
                resource: "workloads",
                namespace,
                name,
            }),
            ["clusterqueues", name, SUBRESOURCE] => Some(Self {
                resource: "clusterqueues",
                namespace: "",
                name,
            }),
            _ => None,
        }
    }
}

fn resource_list() -> Value {
    let resource = |plural: &str, singular: &str, namespaced: bool| {
        json!({
            "name": format!("{plural}/{SUBRESOURCE}"), "singularName": singular,
            "namespaced": namespaced, "kind": KIND, "verbs": ["get"],
        })
    };
    json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{GROUP}/{VERSION}"),
        "resources": [
            resource("clusterqueues", "clusterqueue", false),
            resource("workloads", "workload", true),
        ],
    })
}

impl Refusal {
    fn new(code: StatusCode, reason: &'static str, message: &str) -> Self {
        Self {
            code,
            reason,
            message: message.to_owned(),
        }
    }

    fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
    }

    fn no_such_path() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(StatusCode::NOT_FOUND, "NotFound", message)
    }

    fn not_found(subject: &Subject<'_>) -> Self {
        let Subject { resource, name, .. } = subject;
        let message = format!("{resource}.{GROUP} {name:?} not found");
        Self::new(StatusCode::NOT_FOUND, "NotFound", &message)
    }

    fn forbidden(user: &RequestUser, subject: &Subject<'_>) -> Self {
        let Subject {
            resource,
            namespace,
            name,
        } = subject;
        let scope = match *namespace {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace {namespace:?}"),
        };
        let message = format!(
            "{resource}.{GROUP} {name:?} is forbidden: User {:?} cannot get resource \"{resource}/{SUBRESOURCE}\" in API group {GROUP:?} {scope}",
            user.name
        );
        Self::new(StatusCode::FORBIDDEN, "Forbidden", &message)
    }

    fn unavailable(message: &str) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "ServiceUnavailable",
            message,
        )
    }

    fn internal(message: &str) -> Self {
        let message = format!("Internal error occurred: {message}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", &message)
    }

    fn status(&self) -> Value {
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code.as_u16(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_of_a_path() {
        let root = format!("/apis/{GROUP}/{VERSION}");
        let workload = format!("{root}/namespaces/team/workloads/w/explanation");
        let expected = Subject {
            resource: "workloads",
            namespace: "team",
            name: "w",
        };
        assert_eq!(Subject::of(&workload), Some(expected));
        let queue = format!("{root}/clusterqueues/cq/explanation");
        assert_eq!(Subject::of(&queue).map(|s| s.namespace), Some(""));
        for other in [
            format!("{root}/namespaces/team/workloads/w"),
            format!("{root}/workloads/w/explanation"),
            format!("{root}x/clusterqueues/cq/explanation"),
            "/apis".to_owned(),
        ] {
            assert_eq!(Subject::of(&other), None, "{other}");
        }
    }
}
