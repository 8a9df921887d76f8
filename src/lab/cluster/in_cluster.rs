//! The cluster of this process, when it runs in a pod.

use futures::FutureExt;
use kube::{Client, Config};

use super::ClusterError;
use super::connectivity;
use super::credentials::{self, AuthenticatedClient};
use super::kubeconfig_context::error_chain;
use super::remote::CONNECT_TIMEOUT;

/// The port of the Service of the API server; no packet is sent there.
const API_SERVER_PORT: u16 = 443;

/// Whether this process runs in a pod with access to its cluster.
pub fn is_in_cluster() -> bool {
    std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
}

/// The address of this pod, from which it reaches the API server. None without a route, and outside a pod.
pub fn pod_address() -> Option<std::net::IpAddr> {
    let host = std::env::var("KUBERNETES_SERVICE_HOST").ok()?;
    kueue_lab_host::local_address_towards(&host, API_SERVER_PORT).ok()
}

/// A client with the permissions of the pod's ServiceAccount. Its token is read again every minute,
/// as kubelets rotate it, and when it is rejected.
///
/// # Errors
/// The pod has no ServiceAccount token, or it cannot be read.
pub fn in_cluster_client() -> Result<Client, ClusterError> {
    let client = refreshing(Config::incluster)?;
    Ok(connectivity::with_connectivity_log(
        "the API server".to_owned(),
        client,
    ))
}

/// A client for `config`, which is read again when the token is rejected.
fn refreshing<E: std::error::Error + 'static>(
    config: impl Fn() -> Result<Config, E> + Send + Sync + 'static,
) -> Result<Client, ClusterError> {
    let first = access(config())?;
    let again = move || {
        let read = access(config());
        async move { read }.boxed()
    };
    Ok(credentials::refreshing_client(first, again))
}

fn access<E: std::error::Error + 'static>(
    config: Result<Config, E>,
) -> Result<AuthenticatedClient, ClusterError> {
    let unusable = |e: &(dyn std::error::Error + 'static)| ClusterError::Source {
        file: "of this pod's service account".to_owned(),
        reason: error_chain(e),
    };
    let mut config = config.map_err(|e| unusable(&e))?;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    let client = kueue_lab_host::client(config).map_err(|e| unusable(&e))?;
    Ok(AuthenticatedClient {
        client,
        expires: None,
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::net::SocketAddr;
    use std::path::Path;
    use std::sync::Arc;

    use http::header::AUTHORIZATION;
    use http::{Request, Response, StatusCode};
    use http_body_util::Full;
    use hyper::body::{Bytes, Incoming};
    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;
    use parking_lot::Mutex;
    use tokio::net::TcpListener;

    use super::*;

    /// An API server that accepts one token and records the tokens it received.
    #[derive(Clone, Default)]
    struct Server {
        good: Arc<Mutex<String>>,
        shown: Arc<Mutex<Vec<String>>>,
    }

    impl Server {
        fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
            let shown = request.headers().get(AUTHORIZATION);
            let shown = shown.and_then(|v| v.to_str().ok()).unwrap_or_default();
            self.shown.lock().push(shown.to_owned());
            let good = shown == format!("Bearer {}", self.good.lock());
            let (status, body) = match good {
                true => (
                    StatusCode::OK,
                    r#"{"major": "1", "minor": "36", "gitVersion": "v1.36.2",
                    "gitCommit": "", "gitTreeState": "", "buildDate": "", "goVersion": "",
                    "compiler": "", "platform": ""}"#,
                ),
                false => (
                    StatusCode::UNAUTHORIZED,
                    r#"{"kind": "Status", "apiVersion": "v1",
                    "status": "Failure", "message": "Unauthorized", "reason": "Unauthorized",
                    "code": 401}"#,
                ),
            };
            let mut answer = Response::new(Full::from(body));
            *answer.status_mut() = status;
            answer
        }

        async fn start(&self) -> SocketAddr {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let server = self.clone();
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let server = server.clone();
                    let service = service_fn(move |request| {
                        let answer = server.answer(&request);
                        async move { Ok::<_, Infallible>(answer) }
                    });
                    let stream = TokioIo::new(stream);
                    tokio::spawn(http1::Builder::new().serve_connection(stream, service));
                }
            });
            address
        }
    }

    /// Writes a token as kubelets do: a new folder and an atomically replaced symlink.
    fn write(folder: &Path, token: &str) {
        let data = folder.join(format!("..{token}"));
        std::fs::create_dir(&data).unwrap();
        std::fs::write(data.join("token"), token).unwrap();
        let next = folder.join("..next");
        std::os::unix::fs::symlink(&data, &next).unwrap();
        std::fs::rename(next, folder.join("..data")).unwrap();
    }

    #[tokio::test]
    async fn a_rejected_token_is_reloaded() {
        let server = Server::default();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("..data/token").display().to_string();
        let missing = refreshing({
            let file = file.clone();
            move || Ok::<_, Infallible>(config_of("127.0.0.1:1".parse().unwrap(), &file))
        });
        let message = missing.map(drop).unwrap_err().to_string();
        assert!(
            message.contains("of this pod's service account"),
            "{message}"
        );

        write(folder.path(), "first");
        *server.good.lock() = "first".into();
        let address = server.start().await;
        let client = refreshing(move || Ok::<_, Infallible>(config_of(address, &file))).unwrap();
        client.apiserver_version().await.unwrap();
        // The kubelet rotates the token, and the cluster rejects the old one.
        write(folder.path(), "second");
        *server.good.lock() = "second".into();
        client.apiserver_version().await.unwrap();
        client.apiserver_version().await.unwrap();
        let shown = server.shown.lock().clone();
        let words = ["first", "first", "second", "second"].map(|t| format!("Bearer {t}"));
        assert_eq!(shown, words);
    }

    fn config_of(server: SocketAddr, token: &str) -> Config {
        let mut config = Config::new(format!("http://{server}").parse().unwrap());
        config.auth_info.token_file = Some(token.to_owned());
        // Without root certificates; the machine may have none.
        config.root_cert = Some(Vec::new());
        config
    }
}
