//! Objects and times for tests of the engine.

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// An object from its JSON form.
pub(super) fn from_json<T: DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).unwrap()
}

/// The time `second` seconds after the start of a test.
pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_785_585_600 + second).unwrap()
}
