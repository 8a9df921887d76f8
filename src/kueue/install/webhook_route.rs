//! [`WebhookRoute`]: how the API server reaches the webhook server of this process.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde_json::{Value, json};

/// The route from the API server to the webhook server of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookRoute {
    /// The API server runs on this host.
    Loopback,
    /// The API server runs in a container of a Docker network on this Linux host, as with kind; the
    /// address is the gateway of the network, which is this host.
    DockerGateway(IpAddr),
    /// The API server runs in a container of k3d, which resolves this host as `host.k3d.internal`.
    K3d,
    /// The API server runs in a container of Docker Desktop or compatible, which resolves this host
    /// as `host.docker.internal`.
    DockerDesktop,
    /// The API server reaches this host by this address or name.
    Host(String),
    /// This process runs in the cluster, behind a Service.
    Service {
        /// Namespace of the Service.
        namespace: String,
        /// Its name.
        name: String,
        /// Its port.
        port: u16,
    },
}

impl WebhookRoute {
    /// The route for an API server at URL `server` that does not run in a local container: loopback
    /// if it is on loopback, otherwise the local address of the route to it. None without a route.
    pub fn for_api_server(server: &str) -> Option<Self> {
        let uri: http::Uri = server.parse().ok()?;
        let host = uri.host()?.trim_start_matches('[').trim_end_matches(']');
        let port = uri.port_u16().unwrap_or(443);
        let is_loopback = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified();
        if host == "localhost" || host.parse().is_ok_and(is_loopback) {
            return Some(Self::Loopback);
        }
        let own = kueue_lab_host::local_address_towards(host, port).ok()?;
        match own.is_loopback() {
            true => Some(Self::Loopback),
            false => Some(Self::Host(own.to_string())),
        }
    }

    /// The listen address, as narrow as the route permits.
    pub fn listen_address(&self, port: u16) -> SocketAddr {
        let address = match self {
            Self::Loopback => Ipv4Addr::LOCALHOST.into(),
            // Containers of Docker Desktop connect through loopback.
            Self::DockerDesktop => Ipv4Addr::LOCALHOST.into(),
            Self::DockerGateway(gateway) => *gateway,
            Self::Host(host) => host.parse().unwrap_or(Ipv4Addr::UNSPECIFIED.into()),
            Self::K3d | Self::Service { .. } => Ipv4Addr::UNSPECIFIED.into(),
        };
        SocketAddr::new(address, port)
    }

    /// The DNS names and addresses of the serving certificate.
    pub fn server_names(&self) -> Vec<String> {
        match self {
            Self::Service {
                namespace, name, ..
            } => vec![
                format!("{name}.{namespace}.svc"),
                format!("{name}.{namespace}.svc.cluster.local"),
            ],
            other => other.host().into_iter().collect(),
        }
    }

    /// The host outside the cluster; none of a Service.
    pub(super) fn host(&self) -> Option<String> {
        Some(match self {
            Self::Loopback => "127.0.0.1".to_owned(),
            Self::DockerGateway(gateway) => gateway.to_string(),
            Self::K3d => "host.k3d.internal".to_owned(),
            Self::DockerDesktop => "host.docker.internal".to_owned(),
            Self::Host(host) => host.clone(),
            Self::Service { .. } => return None,
        })
    }

    /// The URL of a path, for messages.
    pub fn url(&self, listening: SocketAddr, path: &str) -> String {
        match self {
            Self::Service {
                namespace,
                name,
                port,
            } => format!("https://{name}.{namespace}.svc:{port}{path}"),
            other => {
                let host = other.host().unwrap_or_default();
                // IPv6 addresses need brackets in a URL.
                let host = match host.contains(':') {
                    true => format!("[{host}]"),
                    false => host,
                };
                format!("https://{host}:{}{path}", listening.port())
            }
        }
    }

    /// The `clientConfig` of a path, without `caBundle`.
    pub(super) fn client_config(&self, listening: SocketAddr, path: &str) -> Value {
        match self {
            Self::Service {
                namespace,
                name,
                port,
            } => json!({"service": {
                "namespace": namespace, "name": name, "port": port, "path": path,
            }}),
            other => json!({"url": other.url(listening, path)}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_listen_addresses_of_routes() {
        let gateway: IpAddr = "172.18.0.1".parse().unwrap();
        let ways = [
            (
                WebhookRoute::Loopback,
                "https://127.0.0.1:9/convert",
                "127.0.0.1:9",
            ),
            (
                WebhookRoute::DockerGateway(gateway),
                "https://172.18.0.1:9/convert",
                "172.18.0.1:9",
            ),
            (
                WebhookRoute::K3d,
                "https://host.k3d.internal:9/convert",
                "0.0.0.0:9",
            ),
            (
                WebhookRoute::DockerDesktop,
                "https://host.docker.internal:9/convert",
                "127.0.0.1:9",
            ),
            (
                WebhookRoute::Host("fd00::1".into()),
                "https://[fd00::1]:9/convert",
                "[fd00::1]:9",
            ),
        ];
        for (reach, url, listen) in ways {
            let address = reach.listen_address(9);
            assert_eq!(address.to_string(), listen);
            let config = reach.client_config(address, "/convert");
            assert_eq!(config, json!({"url": url}));
        }
        let service = WebhookRoute::Service {
            namespace: "n".into(),
            name: "s".into(),
            port: 443,
        };
        assert!(service.server_names().contains(&"s.n.svc".to_owned()));
        let config = service.client_config(service.listen_address(9443), "/convert");
        assert_eq!(config["service"]["path"], "/convert");
        assert!(config.get("url").is_none());
    }

    #[test]
    fn local_api_server_uses_loopback() {
        for server in [
            "https://127.0.0.1:6443",
            "https://localhost:1",
            "https://[::1]:6443",
        ] {
            assert_eq!(
                WebhookRoute::for_api_server(server),
                Some(WebhookRoute::Loopback),
                "{server}"
            );
        }
        assert_eq!(WebhookRoute::for_api_server("nonsense at all"), None);
    }
}
