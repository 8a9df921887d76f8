//! API responses before they are written to HTTP.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, WARNING};
use http::{Response, StatusCode};
use serde_json::Value;

use super::response_body::Body;
use crate::protobuf::{self, ProtobufError};
use crate::request::content_negotiation::{Encoding, EndpointRestrictions, MediaTypeOptions};
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::status_reason::StatusReason;
use kueue_lab_apimachinery::watch::EventStream;

/// The number of characters of all warnings above which they are truncated.
const WARNINGS_MAX: usize = 4 * 1024;
/// The number of characters of a truncated warning.
const WARNING_TRUNCATED: usize = 256;

/// Status, headers and body of a response.
pub(super) struct ApiResponse {
    status: u16,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Body,
    /// The events of a watch for a client in this process, in place of the body.
    events: Option<EventStream>,
}

impl ApiResponse {
    /// A response with the given status, content type and body.
    pub(super) fn new(status: u16, content_type: &'static str, body: Body) -> Self {
        let headers = vec![(CONTENT_TYPE, HeaderValue::from_static(content_type))];
        Self {
            status,
            headers,
            body,
            events: None,
        }
    }

    /// The events of a watch, for a client in this process.
    pub(super) fn events(events: EventStream) -> Self {
        Self {
            events: Some(events),
            ..Self::empty(200)
        }
    }

    /// The response of another server.
    pub(super) fn proxied(
        status: u16,
        headers: Vec<(HeaderName, HeaderValue)>,
        body: Body,
    ) -> Self {
        Self {
            status,
            headers,
            body,
            events: None,
        }
    }

    /// Encoded JSON, transcoded to the accepted media type.
    pub(super) fn encoded(status: u16, accept: MediaTypeOptions, json: Bytes) -> Self {
        match accept.encoding {
            Encoding::Json if !accept.pretty => Self::new(status, "application/json", json.into()),
            _ => match serde_json::from_slice(&json) {
                Ok(value) => Self::value(status, accept, &value),
                Err(e) => Self::error(&ApiError::internal(e.to_string())),
            },
        }
    }

    /// An object, in the accepted media type.
    pub(super) fn value(status: u16, accept: MediaTypeOptions, value: &Value) -> Self {
        let (content_type, text) = match accept.encoding {
            Encoding::Json if accept.pretty => (
                "application/json",
                serde_json::to_vec_pretty(value).unwrap_or_default(),
            ),
            Encoding::Json => (
                "application/json",
                serde_json::to_vec(value).unwrap_or_default(),
            ),
            Encoding::Yaml => (
                "application/yaml",
                serde_yaml::to_string(value)
                    .unwrap_or_default()
                    .into_bytes(),
            ),
            Encoding::Protobuf => match protobuf::encode(value) {
                Ok(bytes) => (protobuf::MEDIA_TYPE, bytes),
                Err(error) => return Self::protobuf_error(&not_encodable(value, &error)),
            },
        };
        Self::new(status, content_type, Bytes::from(text).into())
    }

    /// An object as JSON.
    pub(super) fn json(value: &Value) -> Self {
        Self::value(200, MediaTypeOptions::default(), value)
    }

    /// A response with a status and no body.
    pub(super) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Bytes::new().into(),
            events: None,
        }
    }

    /// Plain text.
    pub(super) fn text(status: u16, text: impl Into<String>) -> Self {
        Self::new(
            status,
            "text/plain; charset=utf-8",
            Bytes::from(text.into()).into(),
        )
    }

    /// The plain-text 404 of a path that is not served.
    pub(super) fn page_not_found() -> Self {
        Self::text(404, "404 page not found\n")
    }

    fn protobuf_error(error: &ApiError) -> Self {
        match protobuf::encode(&error.to_status()) {
            Ok(bytes) => Self::new(error.code, protobuf::MEDIA_TYPE, Bytes::from(bytes).into()),
            Err(_) => Self::error(error),
        }
    }

    /// An error as a Status object in JSON.
    pub(super) fn error(error: &ApiError) -> Self {
        Self::value(error.code, MediaTypeOptions::default(), &error.to_status())
    }

    /// An error as a Status object in the media type of an `Accept` header, or in JSON if that is
    /// not supported.
    pub(super) fn negotiated_error(error: &ApiError, accept: &str) -> Self {
        let accept = MediaTypeOptions::negotiate(accept, EndpointRestrictions::Default);
        Self::value(error.code, accept.unwrap_or_default(), &error.to_status())
    }

    /// A response of another handler.
    pub(super) fn from_http(response: Response<impl Into<Body>>) -> Self {
        let (head, body) = response.into_parts();
        let headers = head.headers.iter();
        Self {
            status: head.status.as_u16(),
            headers: headers.map(|(n, v)| (n.clone(), v.clone())).collect(),
            body: body.into(),
            events: None,
        }
    }

    /// The HTTP status.
    pub(super) fn status(&self) -> u16 {
        self.status
    }

    /// Adds `Warning` headers. If there are more than [`WARNINGS_MAX`] characters, each text is
    /// truncated, and further texts are omitted.
    pub(super) fn with_warnings(mut self, warnings: Vec<String>) -> Self {
        let length = |text: &str| text.chars().count();
        let truncates = warnings.iter().map(|w| length(w)).sum::<usize>() > WARNINGS_MAX;
        let mut written = 0;
        for text in warnings {
            if truncates && written >= WARNINGS_MAX {
                break;
            }
            let text = match truncates {
                true => text.chars().take(WARNING_TRUNCATED).collect(),
                false => text,
            };
            written += length(&text);
            let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
            let clean: String = quoted.chars().filter(|c| !c.is_control()).collect();
            if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{clean}\"")) {
                self.headers.push((WARNING, value));
            }
        }
        self
    }

    /// Adds one header.
    pub(super) fn with_header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    /// Converts to an HTTP response.
    pub(super) fn into_response(self) -> Response<Body> {
        let mut response = Response::new(self.body);
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or_default();
        if let Some(events) = self.events {
            response.extensions_mut().insert(events);
        }
        let headers = response.headers_mut();
        for (name, value) in self.headers {
            headers.append(name, value);
        }
        headers
            .entry(CACHE_CONTROL)
            .or_insert(HeaderValue::from_static("no-cache, private"));
        response
    }
}

/// The error of an object that has no protobuf message; other errors are internal.
pub(super) fn not_encodable(value: &Value, error: &ProtobufError) -> ApiError {
    let ProtobufError::UnknownKind { kind, .. } = error else {
        return ApiError::internal(error.to_string());
    };
    let go_type = match kind.as_str() {
        "Table" => "*v1.Table",
        _ if value["items"].is_array() => "*unstructured.UnstructuredList",
        _ => "*unstructured.Unstructured",
    };
    let message = format!(
        "object {go_type} does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message"
    );
    ApiError::new(406, StatusReason::NotAcceptable, message)
}
