//! Test files (`docs/test-format.md`): a queue configuration and cases of timed steps.

mod event_kinds;
mod known_names;
mod known_pods;
mod known_samples;
mod load;
mod raw;
mod schema;
#[cfg(test)]
mod schema_agreement;
mod test_error;

pub(crate) use known_names::KnownNames;
pub use load::{TestCase, TestFile};
pub use schema::TEST_FILE_SCHEMA;
pub use test_error::TestFileError;
