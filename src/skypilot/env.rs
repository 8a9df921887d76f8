//! Who launches, from where: what SkyPilot takes from its surroundings.

use super::SkyConfig;

/// The person, the cluster and the settings behind a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct SkyEnv {
    /// Login name.
    pub user: String,
    /// Eight hex digits that stand for the person in every cluster name.
    pub user_hash: String,
    /// Kubeconfig context of the cluster.
    pub context: String,
    /// Namespace of the context; everything is launched there.
    pub namespace: String,
    /// SkyPilot workspace.
    pub workspace: String,
    /// Settings of the person.
    pub config: SkyConfig,
}

impl SkyEnv {
    /// A person called `sky` on the given context, in the namespace `default`.
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
