//! Writes a configuration as a file of v1beta2.

use serde::Serialize;

use super::{Configuration, GROUP};

/// A configuration with its type.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    api_version: String,
    kind: &'static str,
    #[serde(flatten)]
    configuration: &'a Configuration,
}

impl Configuration {
    /// The configuration as a file that [`load`](super::load) reads.
    ///
    /// # Errors
    /// It cannot be written as YAML.
    pub fn to_yaml(&self) -> Result<String, serde_yaml::Error> {
        serde_yaml::to_string(&Document {
            api_version: format!("{GROUP}/v1beta2"),
            kind: "Configuration",
            configuration: self,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::load;
    use super::*;

    #[test]
    fn a_written_configuration_is_loaded_unchanged() {
        let frameworks = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nintegrations: {frameworks: [batch/job, pod]}\n";
        for configuration in [
            Configuration::defaulted(),
            load(frameworks).unwrap().configuration,
        ] {
            let text = configuration.to_yaml().unwrap();
            assert!(
                text.starts_with(
                    "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
                )
            );
            assert_eq!(load(&text).unwrap().configuration, configuration);
        }
    }
}
