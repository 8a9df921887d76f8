//! Tests of the whole UI: screens of fixture clusters, keys, and properties for any cluster and size.

mod driver;
mod fixture;
mod invariants;
mod keys;
mod properties;
mod screens;
