//! The limits of the server as a table.

use crate::flow_control::request_limits::RequestLimits;
use crate::http::{BODY_LIMIT, LISTENER_LIMITS};
use kueue_lab_apimachinery::patch::{MAX_COPIED_BYTES, MAX_PATCH_STEPS};
use kueue_lab_apimachinery::schema::decode_limits::{MAX_DEPTH, MAX_VALUES};

/// A limit of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The name, as in errors and metrics.
    pub name: &'static str,
    /// The value with its unit.
    pub value: String,
    /// The limited amount, and the effect of exceeding it.
    pub meaning: &'static str,
    /// The flag of `kueue-lab up` that changes it; `None` if it is fixed.
    pub flag: Option<&'static str>,
}

/// The limits of a server with these limits of requests.
pub fn limits(requests: &RequestLimits) -> Vec<Limit> {
    let limit = |name, value: String, meaning, flag| Limit {
        name,
        value,
        meaning,
        flag,
    };
    let fixed = |name, value: usize, meaning| limit(name, value.to_string(), meaning, None);
    let mut all = vec![
        limit(
            "max-requests-inflight",
            requests.max_requests_inflight.to_string(),
            "seats of all priority levels; then requests wait, and get 429",
            Some("--max-requests-inflight"),
        ),
        limit(
            "request-timeout",
            format!("{:?}", requests.request_timeout),
            "time for a request with its body; then 504",
            Some("--request-timeout"),
        ),
        fixed(
            "request-body-bytes",
            requests.max_body_bytes_per_user,
            "bodies of a user at the same time; then 429",
        ),
        fixed(
            "request-body-bytes (all users)",
            requests.max_body_bytes,
            "bodies at the same time, without those of system:masters; then 429",
        ),
        fixed(
            "response-bytes",
            requests.max_response_bytes_per_user,
            "large responses of a user that are not read yet; then 429",
        ),
        fixed(
            "response-bytes (all users)",
            requests.max_response_bytes,
            "large responses that are not read yet, without those of system:masters; then 429",
        ),
        fixed("body-bytes", BODY_LIMIT, "body of one request; then 413"),
        fixed(
            "body-depth",
            MAX_DEPTH,
            "nesting of JSON and YAML; then 400",
        ),
        fixed(
            "body-values",
            MAX_VALUES,
            "values of JSON and YAML; then 400",
        ),
        fixed(
            "patch-steps",
            MAX_PATCH_STEPS,
            "list items that a patch compares or moves; then 413",
        ),
        fixed(
            "patch-copied-bytes",
            MAX_COPIED_BYTES,
            "bytes that the copy operations of a JSON patch add; then 422",
        ),
        fixed(
            "watches-per-user",
            requests.max_watches_per_user,
            "open watches of a user; then 429",
        ),
        fixed(
            "connections",
            LISTENER_LIMITS.max_connections,
            "connections with an authenticated request; one without a request for longest is closed for another",
        ),
    ];
    if let Some(unauthenticated) = LISTENER_LIMITS.unauthenticated {
        all.push(fixed(
            "unauthenticated-connections",
            unauthenticated.max_connections,
            "connections without one; more wait, and those that make no progress are closed",
        ));
        all.push(limit(
            "unauthenticated-connection-timeout",
            format!("{:?}", unauthenticated.timeout),
            "time until a connection without one is closed",
            None,
        ));
    }
    all
}
