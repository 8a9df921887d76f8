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
    use crate::job_template::RawJobs;
    use crate::raw::{RawExpectation, RawSelector, RawStep};
    use crate::raw_steps::{RawCheck, RawPods, RawProvisioningRequest, RawTaint};
    use crate::test_file::raw::{RawCase, RawTestFile};

    /// The fields of a type, from its error about an unknown one.
    fn fields<T: DeserializeOwned + std::fmt::Debug>() -> BTreeSet<String> {
        let error = from_str::<T>("'?': 1").unwrap_err().to_string();
        let (_, known) = error.split_once("known are ").unwrap();
        let names = known.split(", ").map(|name| name.trim_matches('"'));
        names.map(str::to_owned).collect()
    }

    #[test]
    fn the_schema_has_the_fields_of_the_parser() {
        let schema: Value = serde_json::from_str(TEST_FILE_SCHEMA).unwrap();
        for (pointer, fields) in [
            ("", fields::<RawTestFile>()),
            ("/$defs/case", fields::<RawCase>()),
            ("/$defs/step", fields::<RawStep>()),
            ("/$defs/expectation", fields::<RawExpectation>()),
            ("/$defs/jobs", fields::<RawJobs>()),
            ("/$defs/pods", fields::<RawPods>()),
            ("/$defs/endingPods", fields::<RawPods>()),
            ("/$defs/selector", fields::<RawSelector>()),
            ("/$defs/taint", fields::<RawTaint>()),
            ("/$defs/step/properties/check", fields::<RawCheck>()),
            (
                "/$defs/step/properties/provisioningRequest",
                fields::<RawProvisioningRequest>(),
            ),
        ] {
            let object = schema.pointer(pointer).unwrap();
            let names = object["properties"].as_object().unwrap().keys();
            let names: BTreeSet<String> = names.cloned().collect();
            assert_eq!(names, fields, "{pointer}");
        }
    }
}
