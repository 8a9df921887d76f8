//! `kueue.x-k8s.io` and friends: typed Rust for every kind the lab owns, v1beta2 as the hub, with
//! conversion, defaulting and validation as plain functions and the CRDs built from the same types.
//!
//! Must not know any other room; other rooms read and write the cluster in these words.

#[macro_use]
mod wire;

pub mod config;
pub mod constants;
pub mod convert;
pub mod crds;
pub mod load;
pub mod name_validation;
pub mod provisioning_request;
mod schema;
pub mod v1beta2;
pub mod validation;
pub mod visibility;
pub mod webhook_defaults;

pub use kueue_lab_field as field;
