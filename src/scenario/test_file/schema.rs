//! The JSON schema of test files.

/// The JSON schema of test files.
pub const TEST_FILE_SCHEMA: &str = include_str!("schema.json");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use kueue_lab_yaml::from_str;
    use serde::de::DeserializeOwned;
    use serde_json::Value;

    use super::*;
    use crate::raw::{RawExpectation, RawStep};
    use crate::test_file::raw::{RawCase, RawTestFile};

    /// The fields of a type, from its error about an unknown one.
    fn fields<T: DeserializeOwned>(of_schema: &Value) -> BTreeSet<String> {
        let names = of_schema["properties"].as_object().unwrap().keys();
        let unknown = |name: &&String| {
            let read: Result<T, _> = from_str(&format!("{name}:\n"));
            read.err()
                .is_some_and(|e| e.to_string().contains("unknown field"))
        };
        names.filter(unknown).cloned().collect()
    }

    #[test]
    fn the_schema_has_no_unknown_fields() {
        let schema: Value = serde_json::from_str(TEST_FILE_SCHEMA).unwrap();
        let defs = &schema["$defs"];
        assert_eq!(fields::<RawTestFile>(&schema), BTreeSet::new());
        assert_eq!(fields::<RawCase>(&defs["case"]), BTreeSet::new());
        assert_eq!(fields::<RawStep>(&defs["step"]), BTreeSet::new());
        assert_eq!(
            fields::<RawExpectation>(&defs["expectation"]),
            BTreeSet::new()
        );
        assert_eq!(
            fields::<RawExpectation>(&defs["step"]).len(),
            defs["step"]["properties"].as_object().unwrap().len()
        );
    }
}
