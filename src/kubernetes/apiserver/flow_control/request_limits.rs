//! The limits of the requests of a server on the network.

use std::time::Duration;

/// Limits of requests. The in-process client is exempt from all but the size of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// Seats of all priority levels together, as the sum of kube-apiserver's
    /// `--max-requests-inflight` and `--max-mutating-requests-inflight`. A level has seats in
    /// proportion to its `nominalConcurrencyShares`.
    pub max_requests_inflight: usize,
    /// Time for a request that is not long-running, with its body and its wait for a seat;
    /// kube-apiserver's `--request-timeout`.
    pub request_timeout: Duration,
    /// Bytes of all request bodies of one user that are held at the same time. Users of the exempt
    /// priority level have no such limit.
    pub max_body_bytes_per_user: usize,
    /// Bytes of all request bodies that are held at the same time, without those of the exempt
    /// priority level.
    pub max_body_bytes: usize,
    /// Bytes of the large responses of one user that are held because they are not read yet. Lists
    /// that are encoded while they are sent, and users of the exempt priority level, have no such
    /// limit. A single response is not limited while there is no other one.
    pub max_response_bytes_per_user: usize,
    /// Bytes of all such responses that are held at the same time.
    pub max_response_bytes: usize,
    /// Watches of one user that are open at the same time. Users of the exempt priority level have
    /// no such limit.
    pub max_watches_per_user: usize,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            max_requests_inflight: 600,
            request_timeout: Duration::from_secs(60),
            max_body_bytes_per_user: 8 << 20,
            max_body_bytes: 32 << 20,
            max_response_bytes_per_user: 64 << 20,
            max_response_bytes: 256 << 20,
            max_watches_per_user: 1000,
        }
    }
}
