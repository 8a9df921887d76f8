//! Serving on the network: one listener, TLS, bounded connections, and a clean stop.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::Response;
use hyper::body::Incoming;
use kueue_lab_http::{HttpServer, Limits};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::service_fn;

use super::host_check::AllowedHosts;
use super::kubeconfig::{kubeconfig, write_private_file};
use super::tls::{CertificateAuthority, KUBERNETES_SERVICE_IP, SERVER_NAMES, TlsError};
use super::{host_check as request_filters, tower_service};
use crate::auth::service_account::is_deleted_service_account;
use crate::endpoints;
use crate::endpoints::response_body::Body;
use crate::server_state::ServerState;

/// Limits of the listener.
const LIMITS: Limits = Limits {
    max_connections: 1024,
    header_timeout: Duration::from_secs(15),
    max_header_bytes: Some(128 << 10),
    max_concurrent_streams: Some(250),
    http2_ping_interval: Some(Duration::from_secs(30)),
};
/// How long open requests are waited for at a stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// Where and how to serve.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The address to listen on; loopback unless somebody wants to share their lab.
    pub address: IpAddr,
    /// The port; 0 takes any that is free.
    pub port: u16,
    /// What cluster, user and context are called in the kubeconfig.
    pub name: String,
    /// Further names clients may know this server by.
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

/// Why serving could not begin.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be listened on; most often the port is taken.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the operating system said.
        source: io::Error,
    },
    /// Certificates could not be made.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A server that listens. Dropping it stops it at once; [`ServingHandle::shutdown`] lets requests finish.
pub struct ServingHandle {
    address: SocketAddr,
    kubeconfig: String,
    authority: String,
    stop: CancellationToken,
    server: JoinHandle<()>,
}

/// What all connections share.
struct ConnectionContext {
    core: Arc<ServerState>,
    hosts: AllowedHosts,
    stop: CancellationToken,
}

impl ServerState {
    /// Starts serving over TLS.
    ///
    /// # Errors
    /// [`ServeError`] when the address cannot be listened on or TLS cannot be set up.
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
        let authority = CertificateAuthority::generate()?;
        let server = server.with_tls(authority.server_config(&addresses, &names)?);

        let reachable = if address.ip().is_unspecified() {
            SocketAddr::new(Ipv4Addr::LOCALHOST.into(), address.port())
        } else {
            address
        };
        let kubeconfig = kubeconfig(
            &options.name,
            &format!("https://{reachable}"),
            authority.certificate_pem(),
            self.authenticator.admin_token(),
        );
        let stop = CancellationToken::new();
        let shared = Arc::new(ConnectionContext {
            core: self.clone(),
            hosts: AllowedHosts { names, addresses },
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
            authority: authority.certificate_pem().to_string(),
            stop,
            server,
        })
    }
}

impl ServingHandle {
    /// The address listened on, with the port that was taken.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// A kubeconfig that makes its holder the administrator.
    pub fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// The certificate (PEM) of the authority that signed the server's certificate.
    pub fn certificate_authority_pem(&self) -> &str {
        &self.authority
    }

    /// Writes the kubeconfig to a file only its owner can read (0600), replacing what is there.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write_kubeconfig(&self, path: &Path) -> io::Result<()> {
        write_private_file(path, &self.kubeconfig)
    }

    /// Stops listening, ends all watches, and gives other requests a moment to finish.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        // Connections that are still open after the timeout are aborted by the drop.
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
    let (mut head, body) = request.into_parts();
    let now = shared.core.clock.now().as_second();
    let user = request_filters::check_host_and_origin(&head, &shared.hosts)
        .and_then(|()| {
            crate::auth::bearer_token::authenticate(&head, &shared.core.authenticator, now)
        })
        .and_then(
            |user| match is_deleted_service_account(&shared.core.objects(), &user) {
                true => Err(crate::auth::bearer_token::unauthorized()),
                false => Ok(user),
            },
        )
        .and_then(|user| crate::auth::impersonation::impersonate(&mut head, user));
    let user = match user {
        Ok(user) => user,
        Err(error) => return endpoints::error_response(&error),
    };
    let request = http::Request::from_parts(head, body);
    let response = tower_service::read_and_handle(shared.core.clone(), request, user).await;
    let stop = shared.stop.clone();
    response.map(|body| body.until(stop.cancelled_owned()))
}
