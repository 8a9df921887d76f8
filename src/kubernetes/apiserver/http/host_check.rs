//! Host and Origin checks of every network request, before its path is handled.
//!
//! DNS rebinding lets a web page reach a server on loopback; so the Host header must be one of the
//! allowed names. A request that names two hosts is refused: which of them is the right one depends on
//! who reads it. Requests with an Origin header are rejected unless it is the server's own origin,
//! which clients of WebSocket send that are no browsers.

use std::net::IpAddr;

use http::Version;
use http::header::{HOST, HeaderValue, ORIGIN};
use http::request::Parts;
use http::uri::{Authority, Uri};

use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::status_reason::StatusReason;

/// The maximum length of a request target, in bytes.
const TARGET_MAX: usize = 64 << 10;

/// The allowed names and addresses of the Host header.
#[derive(Clone, Debug)]
pub(super) struct AllowedHosts {
    pub(super) names: Vec<String>,
    pub(super) addresses: Vec<IpAddr>,
}

impl AllowedHosts {
    fn contains(&self, host: &str) -> bool {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        match host.parse::<IpAddr>() {
            Ok(address) => address.is_loopback() || self.addresses.contains(&address),
            Err(_) => self.names.iter().any(|n| n.eq_ignore_ascii_case(host)),
        }
    }
}

/// Rejects requests with more than one Host, with an unknown one, or from a page of another origin.
pub(super) fn check_host_and_origin(head: &Parts, hosts: &AllowedHosts) -> Result<(), ApiError> {
    check_single_host(head)?;
    let header = head.headers.get(HOST).and_then(|v| v.to_str().ok());
    let authority = match (head.uri.authority(), header) {
        (Some(authority), _) => Some(authority.clone()),
        (None, Some(text)) => text.parse::<Authority>().ok(),
        (None, None) => None,
    };
    if !authority.as_ref().is_some_and(|a| hosts.contains(a.host())) {
        return Err(ApiError::new(
            421,
            StatusReason::Unknown,
            "the Host header of the request is not allowed",
        ));
    }
    let mut origins = head.headers.get_all(ORIGIN).iter();
    let is_own = |origin: &HeaderValue| authority.as_ref().is_some_and(|a| is_origin(origin, a));
    if !origins.all(is_own) {
        return Err(ApiError::new(
            403,
            StatusReason::Forbidden,
            "the Origin header of the request is not allowed",
        ));
    }
    if head
        .uri
        .path_and_query()
        .is_some_and(|p| p.as_str().len() > TARGET_MAX)
    {
        return Err(ApiError::new(
            414,
            StatusReason::Unknown,
            "the request URI is too long",
        ));
    }
    Ok(())
}

/// Rejects requests with several Host headers, as Go's `net/http`, and HTTP/2 requests whose Host header
/// is not their `:authority`. The Host header of an HTTP/1 request for an absolute URI has no meaning.
fn check_single_host(head: &Parts) -> Result<(), ApiError> {
    let mut headers = head.headers.get_all(HOST).iter();
    let header = headers.next();
    if headers.next().is_some() {
        return Err(ApiError::bad_request("too many Host headers"));
    }
    if head.version >= Version::HTTP_2
        && let (Some(authority), Some(header)) = (head.uri.authority(), header)
        && !header
            .as_bytes()
            .eq_ignore_ascii_case(authority.as_str().as_bytes())
    {
        return Err(ApiError::bad_request(
            "the Host header is not the :authority of the request",
        ));
    }
    Ok(())
}

/// Whether an Origin header is the origin of a server with this authority. Python's
/// `websocket-client` writes the scheme `http` for TLS as well.
fn is_origin(header: &HeaderValue, authority: &Authority) -> bool {
    let origin = header.to_str().ok().and_then(|text| text.parse().ok());
    let origin: Option<Uri> = origin;
    origin.is_some_and(|origin| {
        matches!(origin.scheme_str(), Some("https" | "http" | "wss" | "ws"))
            && origin
                .authority()
                .is_some_and(|other| other.as_str().eq_ignore_ascii_case(authority.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn hosts() -> AllowedHosts {
        AllowedHosts {
            names: vec!["localhost".into()],
            addresses: Vec::new(),
        }
    }

    fn code(request: http::request::Builder) -> Option<u16> {
        let (head, ()) = request.body(()).unwrap().into_parts();
        check_host_and_origin(&head, &hosts()).err().map(|e| e.code)
    }

    #[test]
    fn foreign_hosts_and_browser_origins_are_rejected() {
        for host in [
            "127.0.0.1:6443",
            "localhost",
            "LocalHost:1",
            "[::1]:443",
            "127.0.0.1",
        ] {
            assert_eq!(
                code(Request::get("/api").header(HOST, host)),
                None,
                "{host}"
            );
        }
        for host in [
            "evil.example:6443",
            "10.0.0.1",
            "",
            "localhost.evil.example",
        ] {
            assert_eq!(
                code(Request::get("/api").header(HOST, host)),
                Some(421),
                "{host}"
            );
        }
        assert_eq!(code(Request::get("/api")), Some(421));
        assert_eq!(code(Request::get("https://127.0.0.1:1/api")), None);
        let page = Request::get("/api")
            .header(HOST, "localhost")
            .header(ORIGIN, "http://x");
        assert_eq!(code(page), Some(403));
        for (origin, expected) in [
            ("https://localhost:6443", None),
            ("http://localhost:6443", None),
            ("https://localhost", Some(403)),
            ("https://localhost:6443.evil.example", Some(403)),
            ("https://127.0.0.1:6443", Some(403)),
            ("null", Some(403)),
        ] {
            let own = Request::get("/api")
                .header(HOST, "localhost:6443")
                .header(ORIGIN, origin);
            assert_eq!(code(own), expected, "{origin}");
        }
    }

    #[test]
    fn a_request_names_one_host() {
        for (first, second) in [("localhost", "evil.example"), ("localhost", "localhost")] {
            let two = Request::get("/api")
                .header(HOST, first)
                .header(HOST, second);
            assert_eq!(code(two), Some(400), "{first} {second}");
        }
        for (host, expected) in [
            ("localhost:1", None),
            ("LOCALHOST:1", None),
            ("localhost", Some(400)),
            ("127.0.0.1:1", Some(400)),
            ("evil.example", Some(400)),
        ] {
            let request = Request::get("https://localhost:1/api").header(HOST, host);
            assert_eq!(code(request.version(Version::HTTP_2)), expected, "{host}");
        }
        // HTTP/1 with an absolute URI.
        let request = Request::get("https://localhost:1/api").header(HOST, "evil.example");
        assert_eq!(code(request), None);
    }
}
