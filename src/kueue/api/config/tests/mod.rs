//! Tests of the configuration.

mod fixture;
mod load;
mod validation;
mod without_effect;
