//! The webhooks of all configurations, read once for each change of a configuration, as upstream's
//! `configuration.MutatingWebhookManager` does.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use super::stored_objects::StoredObjects;
use crate::storage::Snapshot;
use kueue_lab_json::ValueExt;

const GROUP: &str = "admissionregistration.k8s.io";

/// The webhooks of one kind of configuration.
pub(crate) struct WebhookManager {
    resource: &'static str,
    current: Mutex<Option<Current>>,
}

/// The webhooks of a state of the configurations.
struct Current {
    configurations: Snapshot,
    plugins: usize,
    webhooks: Arc<[ConfiguredWebhook]>,
}

/// One webhook of a configuration.
pub(crate) struct ConfiguredWebhook {
    /// Name of the configuration.
    pub(crate) configuration: String,
    /// The webhook.
    pub(crate) hook: Value,
}

impl WebhookManager {
    /// The webhooks of the configurations of `resource`.
    pub(crate) fn new(resource: &'static str) -> Self {
        Self {
            resource,
            current: Mutex::default(),
        }
    }

    /// The webhooks to call, in the order of their configurations. `is_called` is evaluated again
    /// when a configuration or the number of in-process plugins changes.
    pub(crate) fn webhooks(
        &self,
        stored: &StoredObjects<'_>,
        plugins: usize,
        is_called: impl Fn(&Value) -> bool,
    ) -> Arc<[ConfiguredWebhook]> {
        let Some(configurations) = stored.snapshot(GROUP, self.resource) else {
            return Arc::default();
        };
        let mut current = self.current.lock();
        if let Some(current) = current.as_ref()
            && current.plugins == plugins
            && current.configurations.has_same_objects(&configurations)
        {
            return current.webhooks.clone();
        }
        let objects = configurations.scan("", None).map(|object| object.value());
        let webhooks: Arc<[_]> = objects
            .flat_map(|configuration| {
                let hooks = configuration.list("/webhooks").iter();
                let hooks = hooks.filter(|hook| is_called(hook));
                let configured = hooks.map(|hook| ConfiguredWebhook {
                    configuration: configuration.name().to_owned(),
                    hook: hook.clone(),
                });
                configured.collect::<Vec<_>>()
            })
            .collect();
        *current = Some(Current {
            configurations,
            plugins,
            webhooks: webhooks.clone(),
        });
        webhooks
    }
}
