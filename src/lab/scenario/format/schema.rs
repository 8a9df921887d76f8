//! [`test_file_schema`]: the JSON schema of test files, derived from the types that the files are read into.

use schemars::schema_for;
use serde_json::Value;

use crate::raw::RawTestFile;

/// The JSON schema of test files, for editors. It has the fields, their types and descriptions; what depends on names or
/// on the values of several fields is checked only when a file is loaded.
pub fn test_file_schema() -> Value {
    schema_for!(RawTestFile).to_value()
}
