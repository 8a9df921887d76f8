//! Clients of API servers over the network.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec;

use hyper_util::client::legacy::Builder;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioExecutor;
use kube::client::{ClientBuilder, ConfigExt};
use kube::{Client, Config};
use tower::{BoxError, Service, ServiceBuilder};

use super::HostAddresses;

/// A client of a server that the person who started the process names, or of one that is called as on a real
/// cluster.
///
/// # Errors
/// Certificates or keys are not valid.
pub fn client(config: Config) -> kube::Result<Client> {
    Client::try_from(config)
}

/// Why there is no client of a server.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// An address of this machine that is not permitted.
    #[error(
        "untrusted server endpoint: {host}:{port} is an address of the machine of the lab; name the cluster in clusters.yaml of the preset, or start the lab with --allow-host-ports {port}"
    )]
    NotPermitted {
        /// The host of the URL.
        host: String,
        /// The port.
        port: u16,
    },
    /// Certificates or keys are not valid.
    #[error(transparent)]
    Client(#[from] kube::Error),
}

/// A client of a server that an object of a simulated cluster names: at an address of this machine only if
/// `addresses` permits it, whatever name the address has.
///
/// # Errors
/// It is not permitted, or certificates or keys are not valid.
pub fn client_within(config: Config, addresses: &HostAddresses) -> Result<Client, ClientError> {
    let url = &config.cluster_url;
    let port = url.port_u16().unwrap_or(match url.scheme_str() {
        Some("http") => 80,
        _ => 443,
    });
    // A proxy is refused by the library.
    if addresses.permits_port(port) || config.proxy_url.is_some() {
        return Ok(client(config)?);
    }
    let host = url.host().unwrap_or_default();
    let literal: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    if literal.is_some_and(HostAddresses::is_of_host) {
        let host = host.to_owned();
        return Err(ClientError::NotPermitted { host, port });
    }
    Ok(client_of_other_machines(config)?)
}

/// As kube's default client, with another resolver of names.
fn client_of_other_machines(config: Config) -> kube::Result<Client> {
    let mut connector = HttpConnector::new_with_resolver(OtherMachines);
    connector.enforce_http(false);
    connector.set_connect_timeout(config.connect_timeout);
    let connector = config.rustls_https_connector_with_connector(connector)?;
    let client = Builder::new(TokioExecutor::new()).build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(client);
    Ok(ClientBuilder::new(service, config.default_namespace).build())
}

/// Resolves names to addresses of other machines: each connection asks again, and a name may lead elsewhere
/// every time.
#[derive(Clone, Copy)]
struct OtherMachines;

impl Service<Name> for OtherMachines {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(async move {
            let resolved = name.clone();
            let resolve = move || (resolved.as_str(), 0).to_socket_addrs();
            let found = tokio::task::spawn_blocking(resolve).await;
            let found: Vec<SocketAddr> = found.map_err(io::Error::other)??.collect();
            let others = found.iter().copied();
            let others: Vec<SocketAddr> = others
                .filter(|address| !HostAddresses::is_of_host(address.ip()))
                .collect();
            match others.is_empty() && !found.is_empty() {
                true => Err(io::Error::other(format!(
                    "untrusted server endpoint: {name} is a name of the machine of the lab"
                ))),
                false => Ok(others.into_iter()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(url: &str) -> Config {
        Config::new(url.parse().unwrap())
    }

    #[tokio::test]
    async fn servers_of_this_machine_need_a_permission() {
        let none = HostAddresses::default();
        for url in ["https://127.0.0.1:9", "http://[::1]:9", "https://0.0.0.0:9"] {
            let error = client_within(config(url), &none).err().unwrap().to_string();
            assert!(error.contains("--allow-host-ports 9"), "{error}");
        }
        // Names and other spellings of addresses are refused when they are resolved.
        for url in [
            "https://localhost:9",
            "http://2130706433:9",
            "http://127.1:9",
        ] {
            let client = client_within(config(url), &none).unwrap();
            let error = format!("{:?}", client.apiserver_version().await.unwrap_err());
            assert!(error.contains("untrusted server endpoint"), "{error}");
        }
        let some = HostAddresses::with_ports([9]);
        assert!(client_within(config("https://127.0.0.1:9"), &some).is_ok());
        assert!(client_within(config("https://192.0.2.1:9"), &none).is_ok());
    }
}
