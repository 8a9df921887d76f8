//! Which server a container runs, and its connections.

use std::net::IpAddr;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Container as ContainerSpec;
use kueue_lab_http::{memory_connection, serve_http1, text_response};
use kueue_lab_streaming::port_forward::PodConnection;
use tokio::sync::watch;

use super::agnhost;
use super::pod_workers::Kubelet;
use super::running_instance::image_name;
use kueue_lab_controller_runtime::ObjectKey;

/// A server in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PodServer {
    /// agnhost's `netexec`.
    NetExec,
    /// agnhost's `serve-hostname`.
    ServeHostname,
    /// A page with this content type.
    Page(&'static str, String),
}

/// The pod and container of a server, and the address of its client.
#[derive(Clone)]
pub(crate) struct ServerContext {
    pub(crate) kubelet: Kubelet,
    pub(crate) key: ObjectKey,
    pub(crate) uid: String,
    pub(crate) container: String,
    pub(crate) client: IpAddr,
}

/// The server of a container that listens on `port`.
pub(crate) fn pod_server(spec: &ContainerSpec, port: u16) -> Option<PodServer> {
    let (server, own_port) = known_server(spec)?;
    (own_port == port).then_some(server)
}

/// The value of an option of the form `--name=value` or `--name value`.
fn option<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    let at = words
        .iter()
        .position(|word| word.trim_start_matches('-').starts_with(name))?;
    let word = words[at].trim_start_matches('-');
    match word.strip_prefix(name)? {
        "" => words.get(at + 1).copied(),
        value => value.strip_prefix('='),
    }
}

fn known_server(spec: &ContainerSpec) -> Option<(PodServer, u16)> {
    let command: Vec<&str> = spec.command.iter().flatten().map(String::as_str).collect();
    let args: Vec<&str> = spec.args.iter().flatten().map(String::as_str).collect();
    let words: Vec<&str> = command.iter().chain(&args).copied().collect();
    let port = |default: u16, name: &str| {
        let port = option(&words, name).and_then(|port| port.parse().ok());
        port.unwrap_or(default)
    };
    let image = image_name(spec.image.as_deref().unwrap_or_default());
    let is_agnhost = image == "agnhost" || words.first().is_some_and(|w| w.ends_with("agnhost"));
    if is_agnhost {
        let own = words.iter().find(|word| !word.ends_with("agnhost"))?;
        return match *own {
            "netexec" => Some((PodServer::NetExec, port(8080, "http-port"))),
            "serve-hostname" => Some((PodServer::ServeHostname, port(9376, "port"))),
            "test-webserver" => Some((
                PodServer::Page("text/html", String::new()),
                port(80, "port"),
            )),
            _ => None,
        };
    }
    if let ["python" | "python3", "-m", "http.server", rest @ ..] = &words[..] {
        let port = rest
            .first()
            .and_then(|port| port.parse().ok())
            .unwrap_or(8000);
        let page = "<!DOCTYPE HTML>\n<html><body><h1>Directory listing for /</h1></body></html>\n";
        return Some((
            PodServer::Page("text/html; charset=utf-8", page.into()),
            port,
        ));
    }
    if !command.is_empty() {
        return None;
    }
    match image {
        "nginx" | "nginx-slim" => {
            let page = "<!DOCTYPE html>\n<html>\n<head>\n<title>Welcome to nginx!</title>\n</head>\n<body>\n<h1>Welcome to nginx!</h1>\n</body>\n</html>\n";
            Some((PodServer::Page("text/html", page.into()), 80))
        }
        "httpd" => {
            let page = "<html><body><h1>It works!</h1></body></html>\n";
            Some((PodServer::Page("text/html", page.into()), 80))
        }
        "http-echo" => {
            let text = option(&words, "text").unwrap_or("hello-world");
            let listen = option(&words, "listen").and_then(|l| l.rsplit(':').next()?.parse().ok());
            let page = PodServer::Page("text/plain; charset=utf-8", format!("{text}\n"));
            Some((page, listen.unwrap_or(5678)))
        }
        _ => None,
    }
}

/// Opens a connection to a server; it ends with the container.
pub(crate) fn serve(
    server: PodServer,
    context: ServerContext,
    mut ended: watch::Receiver<Option<Timestamp>>,
) -> PodConnection {
    let (client, connection) = memory_connection();
    let tasks = context.kubelet.shared().context.tasks.clone();
    tasks.spawn("pod-connection", async move {
        let serving = serve_http1(connection, |request| respond(&server, &context, request));
        tokio::select! {
            result = serving => {
                if let Err(error) = result {
                    tracing::debug!(%error, "connection to a pod failed");
                }
            }
            _ = ended.wait_for(Option::is_some) => {}
        }
    });
    Box::new(client)
}

async fn respond(
    server: &PodServer,
    context: &ServerContext,
    request: Request<Incoming>,
) -> Response<Full<Bytes>> {
    match server {
        PodServer::NetExec => agnhost::net_exec(context, request).await,
        PodServer::ServeHostname => text(StatusCode::OK, context.key.name.clone()),
        PodServer::Page(kind, page) => match request.uri().path() {
            "/" | "/index.html" => text_response(StatusCode::OK, kind, page.clone()),
            _ => text_response(
                StatusCode::NOT_FOUND,
                "text/html",
                "404 page not found\n".into(),
            ),
        },
    }
}

/// A plain-text response.
pub(super) fn text(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    text_response(status, "text/plain; charset=utf-8", text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn images_and_arguments_select_the_server() {
        let server = |spec: serde_json::Value, port: u16| {
            let spec: ContainerSpec = serde_json::from_value(spec).unwrap();
            pod_server(&spec, port)
        };
        let agnhost = "registry.k8s.io/e2e-test-images/agnhost:2.59@sha256:0";
        let net_exec = |args: &[&str]| json!({"name": "c", "image": agnhost, "args": args});
        assert_eq!(
            server(net_exec(&["netexec"]), 8080),
            Some(PodServer::NetExec)
        );
        assert_eq!(server(net_exec(&["netexec"]), 80), None);
        let other = net_exec(&["netexec", "--http-port", "90"]);
        assert_eq!(server(other, 90), Some(PodServer::NetExec));
        let other = net_exec(&["netexec", "--http-port=91"]);
        assert_eq!(server(other, 91), Some(PodServer::NetExec));
        assert_eq!(server(net_exec(&["pause"]), 8080), None);
        let nginx = json!({"name": "c", "image": "nginx:1.27"});
        assert!(matches!(server(nginx, 80), Some(PodServer::Page(..))));
        let echo = json!({"name": "c", "image": "hashicorp/http-echo", "args": ["-text=hi", "-listen=:81"]});
        let page = PodServer::Page("text/plain; charset=utf-8", "hi\n".into());
        assert_eq!(server(echo, 81), Some(page));
    }
}
