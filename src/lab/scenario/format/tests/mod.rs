//! What is accepted and refused.

mod checker;
mod expectation_snippets;
mod file_snippets;
mod scenarios;
mod snippets;
mod step_snippets;
mod test_files;
mod value_snippets;
