//! Tests of the conversion between versions.

mod fixture;
mod known_conversions;
mod legacy;
mod round_trip;
