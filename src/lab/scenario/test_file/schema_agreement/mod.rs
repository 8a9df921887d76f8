//! The JSON schema accepts what the parser accepts, and refuses what it refuses.

mod checker;
mod differences;
mod expectation_snippets;
mod file_snippets;
mod snippets;
mod step_snippets;
mod tests;
mod value_snippets;
