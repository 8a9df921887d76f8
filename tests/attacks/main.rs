//! Attacks on the embedded API server by clients on loopback: the requests of one client must not stop the
//! others, use up the memory, or give it rights that it does not have.

#![allow(clippy::unwrap_used, reason = "a test that fails reports its position")]

mod connection;
mod connections;
mod counts;
mod custom_resource_cost;
mod decoders;
mod expensive_requests;
mod host_addresses;
mod load_generator;
mod metrics;
mod panics;
mod request_bodies;
mod requests_in_flight;
mod served;
#[path = "../apiserver/server_fixture.rs"]
#[allow(dead_code, reason = "shared with tests/apiserver")]
mod server_fixture;
