//! Serves a request for port forwarding over the protocol of the client.

use std::sync::Arc;

use http::Response;
use http::request::Parts;

use super::forwarder::PortForwarder;
use super::{spdy, websocket};
use crate::handshake::{HandshakeError, is_websocket_request, websocket_protocols};
use crate::session::Session;

/// Serves connections to a pod over an upgrade of the request's connection; returns the response
/// 101. `ports` are those of the query, which only the WebSocket channels use.
///
/// # Errors
/// The request cannot be upgraded.
pub fn serve(
    head: &Parts,
    session: Session,
    ports: &[String],
    forwarder: Arc<dyn PortForwarder>,
) -> Result<Response<()>, HandshakeError> {
    if !is_websocket_request(&head.headers) {
        return spdy::serve(head, session, forwarder);
    }
    let offered = websocket_protocols(&head.headers);
    if offered.iter().any(|protocol| spdy::is_tunnel(protocol)) {
        return spdy::serve_tunnel(head, session, forwarder);
    }
    websocket::serve(head, session, ports, forwarder)
}
