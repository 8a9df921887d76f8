//! Test data and tools for the tests of all crates. A dev-dependency only; imports no other crate of the
//! workspace.
//!
//! * [`recordings`]: recordings of upstream Kueue and Kubernetes that are part of this repository.
//! * [`shared`], [`shared_or_env`]: data sets in `../shared`, which are not part of this repository.
//! * [`read_text`]: text files that may be packed as `.gz`.
//! * [`has_tool`]: programs such as `kubectl`.
//! * [`assert_parts`]: the output of a command.
//! * [`assert_parses_nested_texts`]: parsers on a small stack.
//! * [`texts`]: values as texts.
//!
//! A test whose data or tool is missing prints `skipped: ...` and passes, except with `CI=true` in the
//! environment: then it fails. [`skipped_summary`] is the line about them at the end of a run.

mod assert_parts;
mod nested_texts;
mod recordings;
mod shared;
mod skipped_tests;
#[cfg(test)]
mod tests;
mod text_file;
mod texts;

pub use assert_parts::assert_parts;
pub use nested_texts::assert_parses_nested_texts;
pub use recordings::recordings;
pub use shared::{has_tool, shared, shared_or_env, skip};
pub use skipped_tests::{SkipReason, record_skip, skipped_summary};
pub use text_file::read_text;
pub use texts::texts;
