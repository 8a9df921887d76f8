//! Proxies requests to extension API servers, as kube-aggregator's `handler_proxy.go`.

use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::BodyExt;
use kube::client::Body as ClientBody;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::aggregator::RemoteApiService;
use crate::auth::certificates::TlsError;
use crate::auth::user::User;
use crate::endpoints::response::ApiResponse;
use crate::endpoints::response_body::Body;
use crate::server_state::ServerState;
use crate::service_client::client_manager::ServerAddress;
use crate::service_client::service_resolver::ResolveError;
use kueue_lab_streaming::{Session, is_upgrade_request};

/// Headers of one connection, which are not forwarded.
const HOP_BY_HOP: [HeaderName; 5] = [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];
/// Headers of the user, which the API server sets itself.
const USER_PREFIXES: [&str; 2] = ["x-remote-", "impersonate-"];
/// The bytes of the key of an extra field that are escaped in a header name.
const EXTRA_KEY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'*')
    .remove(b'+')
    .remove(b'^')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// A request to an extension API server.
pub(in crate::endpoints) struct ProxiedRequest<'a> {
    pub(in crate::endpoints) method: &'a Method,
    pub(in crate::endpoints) uri: &'a Uri,
    pub(in crate::endpoints) headers: &'a HeaderMap,
    pub(in crate::endpoints) body: Bytes,
    pub(in crate::endpoints) user: &'a User,
}

/// Sends a request to an extension API server; the response is that of the server. After an upgrade
/// the connection belongs to the session.
pub(in crate::endpoints) async fn proxy(
    core: &Arc<ServerState>,
    service: &RemoteApiService,
    request: ProxiedRequest<'_>,
    session: Option<Session>,
) -> ApiResponse {
    if !service.is_available() {
        return ApiResponse::text(503, "service unavailable\n");
    }
    let server = match server_address(core, service) {
        Ok(server) => server,
        Err(reason) => {
            tracing::debug!("error resolving {}: {reason}", service.name);
            return ApiResponse::text(503, "service unavailable\n");
        }
    };
    let sent = match request.into_client_request() {
        Ok(request) => core.webhook_clients.send(&server, request).await,
        Err(error) => Err(error.into()),
    };
    match sent {
        Ok(mut response) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
            match session {
                Some(session) => session.tunnel(hyper::upgrade::on(&mut response)),
                None => return ApiResponse::text(502, "unexpected upgrade of the connection\n"),
            }
            let (head, _) = response.into_parts();
            ApiResponse::from_http(Response::from_parts(head, String::new()))
        }
        Ok(response) => into_api_response(response),
        Err(reason) => ApiResponse::text(503, format!("error trying to reach service: {reason}\n")),
    }
}

/// Why there is no server of an APIService.
#[derive(Debug, thiserror::Error)]
pub(super) enum ServerAddressError {
    /// Its Service has no endpoint.
    #[error(transparent)]
    Service(#[from] ResolveError),
    /// The endpoint, a pod, does not listen.
    #[error("dial tcp {0}: connect: connection refused")]
    Refused(String),
    /// There is no identity.
    #[error(transparent)]
    Identity(#[from] TlsError),
}

/// The server of an APIService, with the identity of the API server.
///
/// # Errors
/// Its Service has no endpoint that can be reached, or there is no identity.
pub(super) fn server_address(
    core: &ServerState,
    service: &RemoteApiService,
) -> Result<ServerAddress, ServerAddressError> {
    let endpoint = service.service.resolve(&core.objects())?;
    if endpoint.is_pod {
        let authority = endpoint.address.to_string();
        return Err(ServerAddressError::Refused(authority));
    }
    let identity = core.certificates.front_proxy_identity()?;
    Ok(service.server(&endpoint, identity))
}

impl ProxiedRequest<'_> {
    /// The request with the headers of a front proxy.
    pub(super) fn into_client_request(self) -> Result<Request<ClientBody>, http::Error> {
        let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::builder().method(self.method).uri(path);
        if let Some(headers) = request.headers_mut() {
            forward_headers(self.headers, headers);
            if is_upgrade_request(self.headers) {
                for name in [CONNECTION, UPGRADE] {
                    let values = self.headers.get_all(&name).iter();
                    for value in values {
                        headers.append(&name, value.clone());
                    }
                }
            }
            set_user_headers(self.user, headers);
        }
        request.body(ClientBody::from(self.body.to_vec()))
    }
}

/// Copies the headers that are forwarded.
fn forward_headers(from: &HeaderMap, to: &mut HeaderMap) {
    for (name, value) in from {
        let of_user = USER_PREFIXES
            .iter()
            .any(|prefix| name.as_str().starts_with(prefix));
        let dropped = [AUTHORIZATION, CONTENT_LENGTH, HOST].contains(name);
        if !of_user && !dropped && !HOP_BY_HOP.contains(name) {
            to.append(name, value.clone());
        }
    }
}

/// Sets the headers that name the user, as client-go's `SetAuthProxyHeaders`.
fn set_user_headers(user: &User, headers: &mut HeaderMap) {
    let mut add = |name: &str, value: &str| {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            headers.append(name, value);
        }
    };
    add("x-remote-user", &user.name);
    if !user.uid.is_empty() {
        add("x-remote-uid", &user.uid);
    }
    for group in &user.groups {
        add("x-remote-group", group);
    }
    for (key, values) in &user.extra {
        let key = utf8_percent_encode(key, EXTRA_KEY)
            .to_string()
            .to_lowercase();
        for value in values {
            add(&format!("x-remote-extra-{key}"), value);
        }
    }
}

/// The response of another server, whose body is streamed.
fn into_api_response(response: Response<ClientBody>) -> ApiResponse {
    let (head, body) = response.into_parts();
    let chunks = body.into_data_stream().map_err(|error| {
        tracing::debug!(%error, "the response of an extension API server broke off");
    });
    // A broken response ends: its length has been sent already.
    let chunks = chunks.take_while(|chunk| std::future::ready(chunk.is_ok()));
    let chunks = chunks.filter_map(|chunk| std::future::ready(chunk.ok()));
    let headers = head
        .headers
        .iter()
        .filter(|(name, _)| !HOP_BY_HOP.contains(name) && *name != CONTENT_LENGTH);
    let headers = headers.map(|(name, value)| (name.clone(), value.clone()));
    ApiResponse::proxied(
        head.status.as_u16(),
        headers.collect(),
        Body::stream(chunks.boxed()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_is_named_by_headers_of_the_proxy_only() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("authorization", "Bearer x"),
            ("x-remote-user", "root"),
            ("x-remote-group", "system:masters"),
            ("impersonate-user", "other"),
            ("connection", "close"),
            ("accept", "application/json"),
        ] {
            let name: HeaderName = name.parse().unwrap();
            headers.insert(name, HeaderValue::from_static(value));
        }
        let mut user = User {
            name: "ann".into(),
            uid: "7".into(),
            groups: vec!["dev".into(), "ops".into()],
            ..User::default()
        };
        user.extra.insert("example.com/A".into(), vec!["b".into()]);
        let uri: Uri = "/apis/g/v1/things?watch=true".parse().unwrap();
        let request = ProxiedRequest {
            method: &Method::GET,
            uri: &uri,
            headers: &headers,
            body: Bytes::new(),
            user: &user,
        };
        let request = request.into_client_request().unwrap();
        assert_eq!(request.uri(), "/apis/g/v1/things?watch=true");
        let mut sent: Vec<(&str, &str)> = request
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        sent.sort_unstable();
        assert_eq!(
            sent,
            [
                ("accept", "application/json"),
                ("x-remote-extra-example.com%2fa", "b"),
                ("x-remote-group", "dev"),
                ("x-remote-group", "ops"),
                ("x-remote-uid", "7"),
                ("x-remote-user", "ann"),
            ]
        );
    }
}
