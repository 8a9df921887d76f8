//! API Priority and Fairness, `k8s.io/apiserver/pkg/util/flowcontrol`: which requests are executed
//! at the same time, and which ones wait or are rejected.

pub(crate) mod request_limits;
pub(crate) mod response_bytes;
pub(crate) mod seats;
pub(crate) mod user_limit;
