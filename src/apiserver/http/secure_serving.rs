//! Secure serving: one listener, TLS, connection limits, graceful shutdown.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Response};
use hyper::body::Incoming;
use kueue_lab_http::{HttpServer, Limits, PeerCertificates};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::service_fn;

use super::audit_id::{AUDIT_ID, audit_id};
use super::host_check::AllowedHosts;
use super::kubeconfig::{kubeconfig, write_private_file};
use super::tls::{self, SERVER_NAMES};
use super::{gzip, host_check as request_filters, tower_service};
use crate::apimachinery::api_error::ApiError;
use crate::auth::certificates::{ClientCertificateVerifier, TlsError};
use crate::auth::user::User;
use crate::auth::{bearer_token, impersonation};
use crate::bootstrap::KUBERNETES_SERVICE_IP;
use crate::endpoints;
use crate::endpoints::flow_control::{self, FlowControl};
use crate::endpoints::response_body::Body;
use crate::server_state::ServerState;

/// Limits of the listener.
const LIMITS: Limits = Limits {
    max_connections: 1024,
    unauthenticated: None,
    header_timeout: Duration::from_secs(15),
    max_header_bytes: Some(128 << 10),
    max_concurrent_streams: Some(250),
    http2_ping_interval: Some(Duration::from_secs(30)),
};
/// Headers that name the flow control of a request.
const FLOW_SCHEMA_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const PRIORITY_LEVEL_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");
/// The grace period of open requests at shutdown.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// Options of the listener.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The listen address; loopback by default.
    pub address: IpAddr,
    /// The port; 0 selects a free port.
    pub port: u16,
    /// The name of cluster, user and context in the kubeconfig.
    pub name: String,
    /// Additional DNS names of the server, for its certificate and the Host check.
    pub names: Vec<String>,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            address: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            name: "kueue-lab".into(),
            names: Vec::new(),
        }
    }
}

/// An error at the start of serving.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Binding the address failed; usually the port is in use.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The listen address.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The certificates could not be generated.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A running listener. Dropping it stops it at once; [`ServingHandle::shutdown`] stops it
/// gracefully.
pub struct ServingHandle {
    address: SocketAddr,
    kubeconfig: String,
    authority: String,
    stop: CancellationToken,
    server: JoinHandle<()>,
}

/// State shared by all connections.
struct ConnectionContext {
    core: Arc<ServerState>,
    hosts: AllowedHosts,
    client_certificates: Arc<ClientCertificateVerifier>,
    stop: CancellationToken,
}

impl ServerState {
    /// Starts serving over TLS.
    ///
    /// # Errors
    /// [`ServeError`] when binding the address or setting up TLS fails.
    pub(crate) async fn serve(
        self: &Arc<Self>,
        options: ServeOptions,
    ) -> Result<ServingHandle, ServeError> {
        let asked = SocketAddr::new(options.address, options.port);
        let listen = |source| ServeError::Listen {
            address: asked,
            source,
        };
        let server = HttpServer::bind("apiserver", asked, LIMITS)
            .await
            .map_err(listen)?;
        let address = server.local_addr();

        let names: Vec<String> = SERVER_NAMES
            .iter()
            .map(ToString::to_string)
            .chain(options.names)
            .collect();
        let mut addresses: Vec<IpAddr> = vec![
            Ipv4Addr::LOCALHOST.into(),
            Ipv6Addr::LOCALHOST.into(),
            address.ip(),
        ];
        addresses.extend(KUBERNETES_SERVICE_IP.parse::<IpAddr>());
        addresses.dedup();
        let authority = self.certificates.authority()?;
        let (tls, client_certificates) = tls::server_config(authority, &addresses, &names)?;
        let server = server.with_tls(tls);

        let reachable = if address.ip().is_unspecified() {
            SocketAddr::new(Ipv4Addr::LOCALHOST.into(), address.port())
        } else {
            address
        };
        let kubeconfig = kubeconfig(
            &options.name,
            &format!("https://{reachable}"),
            &authority.certificate_pem(),
            self.authenticator.admin_token(),
        );
        let stop = CancellationToken::new();
        let shared = Arc::new(ConnectionContext {
            core: self.clone(),
            hosts: AllowedHosts { names, addresses },
            client_certificates,
            stop: stop.clone(),
        });
        let service = service_fn(move |request| {
            let shared = shared.clone();
            async move { Ok::<_, Infallible>(serve_connection_request(shared, request).await) }
        });
        let server = tokio::spawn(server.serve(service, stop.clone()));
        Ok(ServingHandle {
            address,
            kubeconfig,
            authority: authority.certificate_pem(),
            stop,
            server,
        })
    }
}

impl ServingHandle {
    /// The listen address, with the port in use.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// A kubeconfig with administrator credentials.
    pub fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// The certificate (PEM) of the certificate authority that signed the server's certificate.
    pub fn certificate_authority_pem(&self) -> &str {
        &self.authority
    }

    /// Writes the kubeconfig with mode 0600, replacing an existing file.
    ///
    /// # Errors
    /// The I/O error of the write.
    pub fn write_kubeconfig(&self, path: &Path) -> io::Result<()> {
        write_private_file(path, &self.kubeconfig)
    }

    /// Stops listening, ends all watches, and drains other requests until a timeout.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        // Connections still open after the timeout are aborted on drop.
        let _ = tokio::time::timeout(STOP_TIMEOUT, &mut self.server).await;
    }
}

impl Drop for ServingHandle {
    fn drop(&mut self) {
        self.stop.cancel();
        self.server.abort();
    }
}

async fn serve_connection_request(
    shared: Arc<ConnectionContext>,
    request: http::Request<Incoming>,
) -> Response<Body> {
    let id = audit_id(request.headers(), &shared.core.entropy);
    let accepts_gzip = gzip::accepts_gzip(request.headers());
    let mut response = authenticate_and_handle(shared, request).await;
    if accepts_gzip {
        response = gzip::compress(response).await;
    }
    if let Some(id) = id {
        response.headers_mut().insert(AUDIT_ID, id);
    }
    response
}

/// The user of the client certificate of a connection, or of the bearer token. As in Kubernetes, a
/// certificate that is not valid is no error beside a valid token.
fn authenticate(shared: &ConnectionContext, head: &Parts) -> Result<User, ApiError> {
    let now = shared.core.clock.now().as_second();
    let certificates: Option<&PeerCertificates> = head.extensions.get();
    let verifier = &shared.client_certificates;
    let of_certificate = certificates.map(|all| verifier.authenticate(&all.0, now));
    match of_certificate {
        Some(Some(user)) => return Ok(user),
        Some(None) if !head.headers.contains_key(AUTHORIZATION) => {
            return Err(bearer_token::unauthorized());
        }
        _ => {}
    }
    let objects = shared.core.objects();
    bearer_token::authenticate(head, &shared.core.authenticator, &objects, now)
}

async fn authenticate_and_handle(
    shared: Arc<ConnectionContext>,
    request: http::Request<Incoming>,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    let objects = shared.core.objects();
    let user = request_filters::check_host_and_origin(&head, &shared.hosts)
        .and_then(|()| authenticate(&shared, &head))
        .and_then(|user| impersonation::impersonate(&head, &objects, user));
    let user = match user {
        Ok(user) => user,
        Err(error) => return endpoints::error_response(&error),
    };
    let flow_control = flow_control::classify(&shared.core, &head, &user);
    let mut request = http::Request::from_parts(head, body);
    // Sessions end with the server.
    request.extensions_mut().insert(shared.stop.clone());
    let mut response = tower_service::read_and_handle(shared.core.clone(), request, user).await;
    if let Some(flow_control) = flow_control {
        add_flow_control_headers(&mut response, &flow_control);
    }
    let stop = shared.stop.clone();
    response.map(|body| body.until(stop.cancelled_owned()))
}

fn add_flow_control_headers(response: &mut Response<Body>, flow_control: &FlowControl) {
    for (name, uid) in [
        (FLOW_SCHEMA_UID, &flow_control.flow_schema_uid),
        (PRIORITY_LEVEL_UID, &flow_control.priority_level_uid),
    ] {
        if let Ok(uid) = HeaderValue::from_str(uid) {
            response.headers_mut().insert(name, uid);
        }
    }
}
