//! HTTP requests of containers to pods, Services and nodes.

use std::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use http::header::{HOST, HeaderValue};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use kueue_lab_container::{CertificateAuthorities, InsecureTls, RequestError};
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_http::{TlsConnectError, connect_tls, connect_tls_insecure};
use kueue_lab_kubelet::{DialError, Kubelet, PodConnection};

/// Maximum size of a response to a command in a container, in bytes.
const RESPONSE: usize = 16 << 20;

/// Sends an HTTP request of a pod.
pub(super) async fn request(
    kubelet: &Kubelet,
    key: &ObjectKey,
    request: Request<Bytes>,
) -> Result<Response<Bytes>, RequestError> {
    let uri = request.uri().clone();
    let host = uri.host().unwrap_or_default().to_owned();
    let is_tls = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
    let addresses = kubelet.resolve(key, &host).await;
    let Some(address) = addresses.first().copied() else {
        return Err(RequestError::UnknownHost(host));
    };
    let own = kubelet.address(key);
    let own = own.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let failed = |why: &str| {
        RequestError::Connect(format!(
            "Failed to connect to {host} port {port} after 0 ms: {why}"
        ))
    };
    let connection = if address.is_loopback() || own == address {
        // A pod with the address of another one on a full node reaches itself.
        kubelet
            .connect_to_pod(key, port, Some(address))
            .ok_or_else(|| failed("Couldn't connect to server"))?
    } else {
        let connection = kubelet.dial_from(Some(own), address, port).await;
        connection.map_err(|error| match error {
            DialError::NoRoute(_) => failed("No route to host"),
            DialError::Refused(_) => failed("Couldn't connect to server"),
        })?
    };
    let connection: PodConnection = match is_tls {
        true => {
            let no_tls = || {
                let error = "error:0A00010B:SSL routines::wrong version number";
                RequestError::Tls(error.into())
            };
            let extensions = request.extensions();
            if extensions.get::<InsecureTls>().is_some() {
                let connection = connect_tls_insecure(connection, &host).await;
                Box::new(connection.map_err(|_| no_tls())?)
            } else {
                let Some(authorities) = extensions.get::<CertificateAuthorities>() else {
                    return Err(RequestError::UnknownIssuer);
                };
                let connection = connect_tls(connection, &host, &authorities.0).await;
                Box::new(connection.map_err(|error| match error {
                    TlsConnectError::Authorities => RequestError::InvalidAuthorities,
                    TlsConnectError::UnknownIssuer => RequestError::UnknownIssuer,
                    TlsConnectError::Name => RequestError::WrongName(host.clone()),
                    TlsConnectError::Io(_) => no_tls(),
                })?)
            }
        }
        false => connection,
    };
    send(connection, request)
        .await
        .ok_or(RequestError::EmptyReply)
}

/// Sends a request over a connection, and reads the response.
async fn send(connection: PodConnection, request: Request<Bytes>) -> Option<Response<Bytes>> {
    let (mut head, body) = request.into_parts();
    let authority = head.uri.authority().map(|a| a.as_str().to_owned());
    let host = HeaderValue::from_str(&authority?).ok()?;
    head.headers.entry(HOST).or_insert(host);
    let path = head.uri.path_and_query().map_or("/", |p| p.as_str());
    head.uri = path.parse::<Uri>().ok()?;
    let request = Request::from_parts(head, Full::new(body));
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(connection));
    let (mut sender, connection) = handshake.await.ok()?;
    let exchange = async {
        let response = sender.send_request(request).await.ok()?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, RESPONSE).collect().await.ok()?;
        Some(Response::from_parts(head, body.to_bytes()))
    };
    tokio::pin!(exchange);
    tokio::select! {
        response = &mut exchange => response,
        // The response may be complete when the connection ends.
        _ = connection => exchange.await,
    }
}
