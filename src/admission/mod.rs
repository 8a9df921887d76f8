//! The admission engine: Kueue's scheduling semantics as a pure function.
//!
//! Objects and a `now` go in, decisions with their whole reason come out. No tokio, no kube client,
//! no clock, no randomness, no logging. Knows [`crate::api`] types and nothing else.
