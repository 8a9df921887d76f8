//! Demos and test files (`docs/test-format.md`).

mod created_jobs;
mod demo;
mod description;
mod job_steps;
mod load_scenario;
mod load_steps;
mod object_fields;
mod schema;
mod test_file;
mod test_file_error;
#[cfg(test)]
mod tests;

pub use schema::test_file_schema;
pub use test_file::TestFile;
pub use test_file_error::TestFileError;
