//! The endpoints of the kubelet of a node, as `nodes/proxy` reaches them: health, pods and metrics.

use bytes::Bytes;
use http::header::ALLOW;
use http::{HeaderValue, Method, Response, StatusCode};
use http_body_util::Full;
use k8s_openapi::api::core::v1::Node;
use kueue_lab_http::{memory_connection, serve_http1, text_response};
use kueue_lab_streaming::port_forward::{DialError, PodConnection};
use serde_json::json;

use super::pod_workers::Kubelet;
use kueue_lab_controller_utils::pods::phase;

/// The default port of a kubelet, if the status of its node has none.
const KUBELET_PORT: i32 = 10250;

impl Kubelet {
    /// Connects to the kubelet of a node.
    ///
    /// # Errors
    /// Nothing listens at the port.
    pub fn dial_node(&self, name: &str, port: Option<u16>) -> Result<PodConnection, DialError> {
        let shared = self.shared();
        let node = shared.node(name).filter(|node| shared.runs_kubelet(node));
        let kubelet_port = node.as_deref().map_or(KUBELET_PORT, kubelet_port);
        let port = port.map_or(kubelet_port, i32::from);
        if node.is_none() || port != kubelet_port {
            return Err(DialError::Refused(format!("{name}:{port}")));
        }
        let (client, connection) = memory_connection();
        let (kubelet, name) = (self.clone(), name.to_owned());
        let tasks = self.shared().context.tasks.clone();
        tasks.spawn("kubelet-connection", async move {
            let serving = serve_http1(connection, async |request| {
                kubelet.respond(&name, request.method(), request.uri().path())
            });
            if let Err(error) = serving.await {
                tracing::debug!(%error, "connection to a kubelet failed");
            }
        });
        Ok(Box::new(client))
    }

    fn respond(&self, node: &str, method: &Method, path: &str) -> Response<Full<Bytes>> {
        const TEXT: &str = "text/plain; charset=utf-8";
        if !matches!(*method, Method::GET | Method::HEAD) {
            let text = "405: Method Not Allowed".into();
            let mut response = text_response(StatusCode::METHOD_NOT_ALLOWED, TEXT, text);
            let allowed = HeaderValue::from_static("GET, HEAD");
            response.headers_mut().insert(ALLOW, allowed);
            return response;
        }
        let pods = || self.shared().pods.by_index("node", node);
        match path.trim_end_matches('/') {
            "/healthz" | "/healthz/ping" | "/healthz/log" | "/healthz/syncloop" => {
                text_response(StatusCode::OK, TEXT, "ok".into())
            }
            "/pods" => {
                let pods: Vec<_> = pods().iter().map(|pod| (**pod).clone()).collect();
                let list =
                    json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": pods});
                text_response(StatusCode::OK, "application/json", list.to_string())
            }
            "/metrics" => {
                let running = pods().iter().filter(|pod| phase(pod) == "Running").count();
                let text = format!(
                    "# HELP kubelet_node_name [ALPHA] The node's name. The count is always 1.\n\
                     # TYPE kubelet_node_name gauge\n\
                     kubelet_node_name{{node=\"{node}\"}} 1\n\
                     # HELP kubelet_running_pods [ALPHA] Number of pods that have a running pod \
                     sandbox\n\
                     # TYPE kubelet_running_pods gauge\n\
                     kubelet_running_pods {running}\n"
                );
                text_response(StatusCode::OK, "text/plain; version=0.0.4", text)
            }
            _ => text_response(StatusCode::NOT_FOUND, TEXT, "404 page not found\n".into()),
        }
    }
}

fn kubelet_port(node: &Node) -> i32 {
    let status = node.status.as_ref();
    let endpoints = status.and_then(|s| s.daemon_endpoints.as_ref());
    let endpoint = endpoints.and_then(|e| e.kubelet_endpoint.as_ref());
    endpoint.map_or(KUBELET_PORT, |endpoint| endpoint.port)
}
