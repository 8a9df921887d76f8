//! The environment of a launch: user, context and configuration.

use super::SkyConfig;

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
}
