//! Serves a request for a remote command over the protocol of the client.

use http::request::Parts;
use http::{Response, StatusCode};

use super::process::{RemoteCommand, StreamOptions};
use super::{spdy, websocket};
use crate::handshake::{HandshakeError, is_websocket_request, websocket_protocols};
use crate::session::Session;

/// The error of a command that the kubelet did not start, before the connection is upgraded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StartError {
    /// The HTTP status of the kubelet.
    pub status: StatusCode,
    /// The text of the kubelet.
    pub message: String,
}

/// Serves `command` over an upgrade of the request's connection; returns the response 101.
///
/// A client of v5 over WebSocket receives a [`StartError`] on its error stream, since the API
/// server accepts the connection before it calls the kubelet. Others receive it as the response.
///
/// # Errors
/// The request cannot be upgraded, or the command was not started.
pub fn serve(
    head: &Parts,
    session: Session,
    options: StreamOptions,
    command: Result<RemoteCommand, StartError>,
) -> Result<Response<()>, HandshakeError> {
    let mut options = options;
    options.stderr &= !options.tty;
    let is_websocket = is_websocket_request(&head.headers);
    let offered = websocket_protocols(&head.headers);
    if is_websocket && offered.iter().any(|protocol| protocol == websocket::V5) {
        return websocket::serve_v5(head, session, options, command);
    }
    let rejected = |error: StartError| HandshakeError::new(error.status, error.message);
    let command = command.map_err(rejected)?;
    if !options.stdin && !options.stdout && !options.stderr {
        return Err(HandshakeError::new(
            StatusCode::BAD_REQUEST,
            "you must specify at least 1 of stdin, stdout, stderr",
        ));
    }
    match is_websocket {
        true => websocket::serve(head, session, options, command),
        false => spdy::serve(head, session, options, command),
    }
}
