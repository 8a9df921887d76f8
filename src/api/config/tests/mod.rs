//! Tests of the configuration.

mod fixture;
mod load;
mod validation;
