//! The faults.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{FaultContext, clock_skew, credentials, network, write_failures};

/// The function of a fault.
pub(crate) type Fault = fn(&FaultContext) -> BoxFuture<'_, ()>;

/// The faults, and the minutes by which the cluster's clock is ahead of the labs'.
pub(crate) const FAULTS: &[(&str, i64, Fault)] = &[
    ("the_api_server_is_restarted", 0, |t| {
        network::the_api_server_is_restarted(t).boxed()
    }),
    ("the_network_is_partitioned", 0, |t| {
        network::the_network_is_partitioned(t).boxed()
    }),
    ("the_leader_is_partitioned", 0, |t| {
        network::the_leader_is_partitioned(t).boxed()
    }),
    ("another_client_writes_continuously", 0, |t| {
        write_failures::another_client_writes_continuously(t).boxed()
    }),
    ("killed_between_quota_reservation_and_job_start", 0, |t| {
        write_failures::killed_between_quota_reservation_and_job_start(t).boxed()
    }),
    ("a_token_is_revoked_and_replaced", 0, |t| {
        credentials::a_token_is_revoked_and_replaced(t).boxed()
    }),
    ("labs_are_five_minutes_behind", 5, |t| {
        clock_skew::clock_skew(t).boxed()
    }),
    ("labs_are_five_minutes_ahead", -5, |t| {
        clock_skew::clock_skew(t).boxed()
    }),
];
