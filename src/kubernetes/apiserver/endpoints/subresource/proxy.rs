//! `proxy` of pods, services and nodes: forwards HTTP requests to the cluster's network.

use std::fmt::Display;
use std::net::IpAddr;

use bytes::Bytes;
use futures::StreamExt;
use http::header::{
    AUTHORIZATION, CONNECTION, HeaderMap, HeaderName, HeaderValue, LOCATION, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;

use super::super::request_context::RequestContext;
use super::super::response::ApiResponse;
use super::remote_command::session;
use crate::endpoints::response_body::Body;
use crate::plugins::{DialError, PodConnection};
use crate::registry::object_reader::ObjectReader;
use crate::service_client::service_resolver;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::status_reason::StatusReason;
use kueue_lab_http::connect_tls_insecure;
use kueue_lab_json::ValueExt;
use kueue_lab_streaming::is_upgrade_request;

/// Headers of one connection, which are not forwarded.
const HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// The target of a forwarded request.
struct Location {
    is_tls: bool,
    target: Target,
}

/// The address of a forwarded request.
enum Target {
    /// An address of the cluster's network.
    Address(IpAddr, u16),
    /// A node and a port; without one, its kubelet.
    Node(String, Option<u16>),
}

/// Handles a request to `proxy`.
pub(super) async fn proxy(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let location = match call.path.resource.as_str() {
        "pods" => pod_location(call)?,
        "services" => service_location(call)?,
        _ => node_location(call)?,
    };
    let head = &call.request.parts;
    let path = proxied_path(head.uri.path(), call);
    let is_upgrade = is_upgrade_request(&head.headers);
    if path.is_empty() && !is_upgrade && matches!(head.method, Method::GET | Method::HEAD) {
        let query = head.uri.query().map(|query| format!("?{query}"));
        let to = format!("{}/{}", head.uri.path(), query.unwrap_or_default());
        return Ok(ApiResponse::empty(301).with_header(LOCATION, &to));
    }
    let session = is_upgrade.then(|| session(call)).transpose()?;
    let connection = connect(call, &location).await.map_err(unreachable)?;
    let mut request = forwarded_request(call, path)?;
    if is_upgrade {
        for name in [CONNECTION, UPGRADE] {
            if let Some(value) = head.headers.get(&name) {
                request.headers_mut().insert(name, value.clone());
            }
        }
    }
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(connection))
        .await
        .map_err(unreachable)?;
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "proxied connection failed");
        }
    });
    let response = sender.send_request(request).await;
    let mut response = response.map_err(unreachable)?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS
        && let Some(session) = session
    {
        session.tunnel(hyper::upgrade::on(&mut response));
        let (head, _) = response.into_parts();
        let response = http::Response::from_parts(head, String::new());
        return Ok(ApiResponse::from_http(response));
    }
    let (mut head, body) = response.into_parts();
    remove_hop_by_hop(&mut head.headers);
    let data = body.into_data_stream();
    let data = data.take_while(|data| futures::future::ready(data.is_ok()));
    // The body of the connection ends when the sender is dropped.
    let data = data.filter_map(move |data| {
        let _ = &sender;
        futures::future::ready(data.ok())
    });
    let response = http::Response::from_parts(head, Body::stream(data.boxed()));
    Ok(ApiResponse::from_http(response))
}

/// The target of a request that cannot be reached.
#[derive(Debug, thiserror::Error)]
enum ConnectError {
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error("tls: first record does not look like a TLS handshake")]
    Tls,
}

fn unreachable(error: impl Display) -> ApiError {
    let message = format!("error trying to reach service: {error}");
    ApiError::new(503, StatusReason::ServiceUnavailable, message)
}

/// Connects to the target of a request.
async fn connect(
    call: &RequestContext<'_>,
    location: &Location,
) -> Result<PodConnection, ConnectError> {
    let kubelet = call.core.plugins.kubelet();
    let (host, connection) = match &location.target {
        Target::Address(address, port) => match kubelet {
            Some(kubelet) => (address.to_string(), kubelet.dial(*address, *port).await?),
            None => {
                return Err(DialError::NoRoute(format!("{address}:{port}")).into());
            }
        },
        Target::Node(name, port) => match kubelet {
            Some(kubelet) => (name.clone(), kubelet.dial_node(name, *port).await?),
            None => return Err(DialError::NoRoute(name.clone()).into()),
        },
    };
    if !location.is_tls {
        return Ok(connection);
    }
    // As upstream, whose transport to pods and Services does not verify certificates.
    let connection = connect_tls_insecure(connection, &host).await;
    Ok(Box::new(connection.map_err(|_| ConnectError::Tls)?))
}

/// The path after `proxy`, percent-encoded as in the request; empty if there is not even a slash.
fn proxied_path<'a>(path: &'a str, call: &RequestContext<'_>) -> &'a str {
    let before = match call.path.namespace.as_str() {
        "" => ["api", "v1", &call.path.resource, "name", "proxy"].len(),
        _ => [
            "api",
            "v1",
            "namespaces",
            "namespace",
            "resource",
            "name",
            "proxy",
        ]
        .len(),
    };
    let mut rest = path;
    for _ in 0..before {
        rest = rest.trim_start_matches('/');
        rest = rest.find('/').map_or("", |at| &rest[at..]);
    }
    rest
}

fn forwarded_request(
    call: &RequestContext<'_>,
    path: &str,
) -> Result<Request<Full<Bytes>>, ApiError> {
    let head = &call.request.parts;
    let path = if path.is_empty() { "/" } else { path };
    let target = match head.uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let uri: Uri = target
        .parse()
        .map_err(|_| ApiError::bad_request("the path of the request is invalid"))?;
    let mut request = Request::new(Full::new(call.request.body.clone()));
    *request.method_mut() = head.method.clone();
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    headers.clone_from(&head.headers);
    remove_hop_by_hop(headers);
    // The credentials of the client are those of the API server.
    headers.remove(AUTHORIZATION);
    let impersonation: Vec<HeaderName> = headers
        .keys()
        .filter(|name| name.as_str().starts_with("impersonate-"))
        .cloned()
        .collect();
    for name in impersonation {
        headers.remove(name);
    }
    let peer = head.extensions.get::<kueue_lab_http::PeerAddr>();
    let peer = peer.map_or("127.0.0.1".into(), |peer| peer.0.ip().to_string());
    let forwarded = [
        ("x-forwarded-for", peer.as_str()),
        ("x-forwarded-uri", head.uri.path()),
    ];
    for (name, value) in forwarded {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.append(name, value);
        }
    }
    if let Some(authority) = head.uri.authority()
        && let Ok(value) = HeaderValue::from_str(authority.as_str())
    {
        headers.entry(http::header::HOST).or_insert(value);
    }
    Ok(request)
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}

/// The parts of `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`.
fn split_scheme_name_port(id: &str) -> Option<(&str, &str, &str)> {
    let parts: Vec<&str> = id.split(':').collect();
    let (scheme, name, port) = match parts[..] {
        [name] => ("", name, ""),
        [name, port] => ("", name, port),
        [scheme @ ("" | "http" | "https"), name, port] => (scheme, name, port),
        _ => return None,
    };
    (!name.is_empty()).then_some((scheme, name, port))
}

fn allowed_address(text: &str) -> Result<IpAddr, ApiError> {
    let address: Option<IpAddr> = text.parse().ok();
    let is_allowed = |ip: &IpAddr| !ip.is_unspecified() && !ip.is_multicast() && !ip.is_loopback();
    address
        .filter(is_allowed)
        .ok_or_else(|| ApiError::bad_request("address not allowed"))
}

fn pod_location(call: &RequestContext<'_>) -> Result<Location, ApiError> {
    let id = &call.path.name;
    let (scheme, name, port) = split_scheme_name_port(id)
        .ok_or_else(|| ApiError::bad_request(format!("invalid pod request {id:?}")))?;
    let pod = call.core.objects().get("", "pods", call.namespace(), name);
    let pod = pod.ok_or_else(|| call.not_found(name))?;
    let is_tls = scheme == "https";
    let ports = || {
        let containers = pod.list("/spec/containers").iter();
        containers.flat_map(|container| container.list("/ports"))
    };
    let port = match port {
        "" => {
            let first = ports().find_map(|port| port.at("/containerPort").as_u64());
            let first = first.and_then(|port| u16::try_from(port).ok());
            first.unwrap_or(if is_tls { 443 } else { 80 })
        }
        port => port
            .parse()
            .map_err(|_| ApiError::bad_request(format!("invalid pod request {id:?}")))?,
    };
    Ok(Location {
        is_tls,
        target: Target::Address(allowed_address(pod.text("/status/podIP"))?, port),
    })
}

fn service_location(call: &RequestContext<'_>) -> Result<Location, ApiError> {
    let id = &call.path.name;
    let (scheme, name, wanted) = split_scheme_name_port(id)
        .ok_or_else(|| ApiError::bad_request(format!("invalid service request {id:?}")))?;
    let (objects, namespace) = (call.core.objects(), call.namespace());
    let service = objects.get("", "services", namespace, name);
    let service = service.ok_or_else(|| call.not_found(name))?;
    // A number is a port of the Service, which has a name in the EndpointSlices.
    let ports = service.list("/spec/ports");
    let port_name = match (wanted.parse::<u64>(), ports) {
        (Ok(number), ports) => {
            let known = ports
                .iter()
                .find(|port| port.at("/port").as_u64() == Some(number));
            let known = known.ok_or_else(|| {
                let message = format!("no service port {number} found for service {name:?}");
                ApiError::new(503, StatusReason::ServiceUnavailable, message)
            })?;
            known.text("/name").to_owned()
        }
        // The default of a Service with one port.
        (Err(_), [only]) if wanted.is_empty() => only.text("/name").to_owned(),
        (Err(_), _) => wanted.to_owned(),
    };
    let endpoints = service_resolver::endpoints(&objects, namespace, name, &port_name);
    let index = (call.core.entropy.unit() * endpoints.len() as f64) as usize;
    let Some(endpoint) = endpoints.get(index) else {
        let message = format!("no endpoints available for service {id:?}");
        return Err(ApiError::new(
            503,
            StatusReason::ServiceUnavailable,
            message,
        ));
    };
    Ok(Location {
        is_tls: scheme == "https",
        target: Target::Address(endpoint.address.ip(), endpoint.address.port()),
    })
}

fn node_location(call: &RequestContext<'_>) -> Result<Location, ApiError> {
    let id = &call.path.name;
    let (_, name, port) = split_scheme_name_port(id)
        .ok_or_else(|| ApiError::bad_request(format!("invalid node request {id:?}")))?;
    let node = call.core.objects().get("", "nodes", "", name);
    node.ok_or_else(|| call.not_found(name))?;
    let port = match port {
        "" => None,
        port => Some(
            port.parse()
                .map_err(|_| ApiError::bad_request(format!("invalid node request {id:?}")))?,
        ),
    };
    Ok(Location {
        is_tls: false,
        target: Target::Node(name.into(), port),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_scheme_and_a_port() {
        assert_eq!(split_scheme_name_port("p"), Some(("", "p", "")));
        assert_eq!(split_scheme_name_port("p:80"), Some(("", "p", "80")));
        assert_eq!(
            split_scheme_name_port("http:p:80"),
            Some(("http", "p", "80"))
        );
        assert_eq!(split_scheme_name_port("https:p:"), Some(("https", "p", "")));
        assert_eq!(split_scheme_name_port("ftp:p:1"), None);
        assert_eq!(split_scheme_name_port(":80"), None);
    }
}
