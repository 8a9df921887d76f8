//! The HTTP upgrade: detection, negotiation of the subprotocol, and the response 101.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    CONNECTION, HeaderName, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use sha1::{Digest, Sha1};

/// The subprotocols that a SPDY client offers, and the one that the server selects.
const STREAM_PROTOCOL_VERSION: HeaderName = HeaderName::from_static("x-stream-protocol-version");
/// The subprotocols that the server accepts, in the response to a client that offers none of them.
const ACCEPTED_STREAM_PROTOCOL_VERSIONS: HeaderName =
    HeaderName::from_static("x-accepted-stream-protocol-versions");
/// The upgrade token of SPDY.
const SPDY_31: &str = "SPDY/3.1";
/// The GUID of RFC 6455.
const WEBSOCKET_GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The error of a request that is not upgraded: a plain-text response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HandshakeError {
    /// The HTTP status.
    pub status: StatusCode,
    /// The text of the response.
    pub message: String,
    /// The subprotocols of the server, for a client that offers none of them.
    pub accepted: Vec<&'static str>,
}

impl HandshakeError {
    /// An error with a status and a text.
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            accepted: Vec::new(),
        }
    }

    /// The response, with a line feed after the text as Go's `http.Error` writes it.
    pub fn into_response(self) -> Response<String> {
        let mut response = Response::new(format!("{}\n", self.message));
        *response.status_mut() = self.status;
        for protocol in self.accepted {
            let value = HeaderValue::from_static(protocol);
            let headers = response.headers_mut();
            headers.append(ACCEPTED_STREAM_PROTOCOL_VERSIONS, value);
        }
        response
    }
}

/// Whether a request requests an upgrade of its connection.
pub fn is_upgrade_request(headers: &HeaderMap) -> bool {
    headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.to_ascii_lowercase().contains("upgrade"))
}

/// Whether a request requests an upgrade to WebSocket.
pub(crate) fn is_websocket_request(headers: &HeaderMap) -> bool {
    let upgrade = headers.get(UPGRADE).and_then(|value| value.to_str().ok());
    upgrade.is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
        && is_upgrade_request(headers)
}

/// The values of a header with comma-separated values.
fn comma_separated(headers: &HeaderMap, name: &HeaderName) -> Vec<String> {
    let values = headers.get_all(name).iter();
    let values = values.filter_map(|value| value.to_str().ok());
    let values = values.flat_map(|value| value.split(','));
    let values = values.map(str::trim).filter(|value| !value.is_empty());
    values.map(str::to_owned).collect()
}

/// The subprotocols that a WebSocket client offers.
pub(crate) fn websocket_protocols(headers: &HeaderMap) -> Vec<String> {
    comma_separated(headers, &SEC_WEBSOCKET_PROTOCOL)
}

/// Selects the first subprotocol of a WebSocket client that is in `supported`; the empty one stands
/// for a client without subprotocols.
///
/// # Errors
/// The handshake is not one of RFC 6455, or there is no common subprotocol.
pub(crate) fn websocket_handshake(
    head: &Parts,
    supported: &[&'static str],
) -> Result<(&'static str, Response<()>), HandshakeError> {
    let headers = &head.headers;
    let bad = |message: &str| HandshakeError::new(StatusCode::BAD_REQUEST, message);
    let version = headers.get(SEC_WEBSOCKET_VERSION);
    if version.is_none_or(|version| version != "13") {
        return Err(bad("missing or bad WebSocket Version"));
    }
    let key = headers
        .get(SEC_WEBSOCKET_KEY)
        .filter(|key| key.len() == 24)
        .ok_or_else(|| bad("mismatch challenge/response"))?;
    let offered = websocket_protocols(headers);
    let selected = match offered.is_empty() {
        true => supported.iter().find(|protocol| protocol.is_empty()),
        false => offered
            .iter()
            .find_map(|offer| supported.iter().find(|protocol| offer == *protocol)),
    };
    let Some(selected) = selected.copied() else {
        let message = format!(
            "requested protocol(s) are not supported: [{}]; supports [{}]",
            offered.join(" "),
            supported.join(" ")
        );
        return Err(HandshakeError::new(StatusCode::FORBIDDEN, message));
    };
    let mut hash = Sha1::new();
    hash.update(key.as_bytes());
    hash.update(WEBSOCKET_GUID);
    let accept = STANDARD.encode(hash.finalize());
    let mut response = switching_protocols("websocket");
    let headers = response.headers_mut();
    if let Ok(accept) = HeaderValue::from_str(&accept) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    if !selected.is_empty() {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(selected));
    }
    Ok((selected, response))
}

/// Selects the first subprotocol of a SPDY client that is in `supported`.
///
/// # Errors
/// The request is no SPDY upgrade, or there is no common subprotocol.
pub(crate) fn spdy_handshake(
    head: &Parts,
    supported: &[&'static str],
) -> Result<(&'static str, Response<()>), HandshakeError> {
    let headers = &head.headers;
    let bad = |message: String| HandshakeError::new(StatusCode::BAD_REQUEST, message);
    let name = "X-Stream-Protocol-Version";
    if !headers.contains_key(&STREAM_PROTOCOL_VERSION) {
        return Err(bad(format!(
            "unable to upgrade: header {name} does not exist in request with {} headers",
            headers.keys_len()
        )));
    }
    let offered = comma_separated(headers, &STREAM_PROTOCOL_VERSION);
    if offered.is_empty() {
        return Err(bad(format!(
            "unable to upgrade: header {name} contains [], but no valid protocols"
        )));
    }
    let selected = offered
        .iter()
        .find_map(|offer| supported.iter().find(|protocol| offer == *protocol));
    let Some(selected) = selected.copied() else {
        let message = format!(
            "unable to upgrade: unable to negotiate protocol: client supports [{}], server accepts [{}]",
            offered.join(" "),
            supported.join(" ")
        );
        return Err(HandshakeError {
            accepted: supported.to_vec(),
            ..HandshakeError::new(StatusCode::FORBIDDEN, message)
        });
    };
    let upgrade = headers.get(UPGRADE).and_then(|value| value.to_str().ok());
    let upgrade = upgrade.unwrap_or_default().to_ascii_lowercase();
    if !is_upgrade_request(headers) || !upgrade.contains(&SPDY_31.to_ascii_lowercase()) {
        return Err(bad(
            "unable to upgrade: missing upgrade headers in request".into()
        ));
    }
    let mut response = switching_protocols(SPDY_31);
    response
        .headers_mut()
        .insert(STREAM_PROTOCOL_VERSION, HeaderValue::from_static(selected));
    Ok((selected, response))
}

fn switching_protocols(upgrade: &'static str) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static(upgrade));
    response
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn head(headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::get("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn websocket_selects_the_first_common_protocol() {
        let request = |protocols: &str| {
            head(&[
                ("Connection", "keep-alive, Upgrade"),
                ("Upgrade", "WebSocket"),
                ("Sec-WebSocket-Version", "13"),
                // The example of RFC 6455.
                ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
                ("Sec-WebSocket-Protocol", protocols),
            ])
        };
        assert!(is_websocket_request(&request("a").headers));
        let (selected, response) = websocket_handshake(&request("x, b,a"), &["a", "b"]).unwrap();
        assert_eq!(selected, "b");
        assert_eq!(
            response.headers()["sec-websocket-accept"],
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
        assert_eq!(response.headers()["sec-websocket-protocol"], "b");
        let rejected = websocket_handshake(&request("x"), &["a", ""]).unwrap_err();
        assert_eq!(rejected.status, StatusCode::FORBIDDEN);
        let (selected, _) = websocket_handshake(&request(""), &["a", ""]).unwrap();
        assert_eq!(selected, "");
    }

    #[test]
    fn spdy_names_the_accepted_protocols() {
        let request = |protocol: &str| {
            head(&[
                ("Connection", "Upgrade"),
                ("Upgrade", "SPDY/3.1"),
                ("X-Stream-Protocol-Version", protocol),
            ])
        };
        let (selected, response) = spdy_handshake(&request("b"), &["a", "b"]).unwrap();
        assert_eq!(selected, "b");
        assert_eq!(response.headers()["x-stream-protocol-version"], "b");
        let rejected = spdy_handshake(&request("x"), &["a", "b"]).unwrap_err();
        assert_eq!(
            rejected.message,
            "unable to upgrade: unable to negotiate protocol: client supports [x], server accepts [a b]"
        );
        let response = rejected.into_response();
        let accepted = response.headers();
        let accepted = accepted.get_all("x-accepted-stream-protocol-versions");
        assert_eq!(accepted.iter().count(), 2);
    }
}
