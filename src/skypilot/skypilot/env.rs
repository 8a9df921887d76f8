//! The environment of a launch: user, context and configuration.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::SkyConfig;
use kueue_lab_yaml::Problem;

/// Maximum size of a configuration file in bytes.
const MAX_FILE: u64 = 1 << 20;

/// A configuration file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigFileError {
    /// It cannot be read.
    #[error("{}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is invalid.
    #[error("{}: {source}", file.display())]
    Parse {
        /// The file.
        file: PathBuf,
        /// Why.
        source: Problem,
    },
}

/// The user, the cluster and the configuration of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct SkyEnv {
    /// Login name.
    pub user: String,
    /// The user hash: eight hex digits in every cluster name.
    pub user_hash: String,
    /// Kubeconfig context of the cluster.
    pub context: String,
    /// Namespace of the context, in which clusters are launched.
    pub namespace: String,
    /// SkyPilot workspace.
    pub workspace: String,
    /// The user's configuration.
    pub config: SkyConfig,
}

impl SkyEnv {
    /// The user `sky` on the given context, in the namespace `default`.
    pub fn new(context: impl Into<String>) -> Self {
        Self {
            user: "sky".into(),
            user_hash: "5c1e7a9b".into(),
            context: context.into(),
            namespace: "default".into(),
            workspace: "default".into(),
            config: SkyConfig::default(),
        }
    }
    /// The environment with the configuration in a file; unchanged if there is no such file.
    ///
    /// # Errors
    /// The file cannot be read, or it is invalid.
    pub(crate) fn with_config_file(&self, file: &Path) -> Result<Self, ConfigFileError> {
        let text = match kueue_lab_host::read_to_string(file, MAX_FILE) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(self.clone()),
            Err(source) => {
                let file = file.to_owned();
                return Err(ConfigFileError::Read { file, source });
            }
        };
        if text.trim().is_empty() {
            return Ok(self.clone());
        }
        let config = SkyConfig::parse(&text).map_err(|source| ConfigFileError::Parse {
            file: file.to_owned(),
            source,
        })?;
        Ok(self.with_config(config))
    }

    /// The environment with a configuration.
    #[must_use]
    pub fn with_config(&self, config: SkyConfig) -> Self {
        let namespace = config.namespace().unwrap_or(&self.namespace).to_owned();
        Self {
            namespace,
            config,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_sets_namespace_and_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.yaml");
        let env = SkyEnv::new("lab");
        assert_eq!(env.with_config_file(&file).unwrap(), env);
        std::fs::write(
            &file,
            "kubernetes:\n  namespace: team\n  kueue: {local_queue_name: q}\n",
        )
        .unwrap();
        let changed = env.with_config_file(&file).unwrap();
        assert_eq!(changed.namespace, "team");
        assert_ne!(changed.config, env.config);
        std::fs::write(&file, "kubernetes: [").unwrap();
        assert!(
            env.with_config_file(&file)
                .unwrap_err()
                .to_string()
                .contains("config.yaml")
        );
    }
}
