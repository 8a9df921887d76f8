//! The inventory of applied objects, stored in the cluster, so that a later run on the same cluster can
//! prune objects that were removed from the files meanwhile.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::ResourceKey;
use super::api_client::{ApiClient, ApplyMode, RequestError, RestMapping};
use super::namespace_contents;

const CONFIG_MAP_NAME: &str = "kueue-lab-presets";
const NAMESPACE: &str = "kueue-system";
/// The annotation of a namespace that was created for the inventory.
const CREATED_FOR_PRESETS_ANNOTATION: &str = "kueue-lab.dev/made-for-presets";
/// The key in the ConfigMap.
const INVENTORY_KEY: &str = "inventory";

/// One object of the inventory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InventoryEntry {
    /// The API version it was applied with.
    pub(super) api_version: String,
    /// The object.
    #[serde(flatten)]
    pub(super) key: ResourceKey,
}

/// The inventory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Inventory {
    /// The active preset.
    pub(super) preset: String,
    /// Managed objects, of this or an earlier preset.
    pub(super) objects: Vec<InventoryEntry>,
}

fn config_map() -> (RestMapping, ResourceKey) {
    let kind = RestMapping {
        api_version: "v1".into(),
        plural: "configmaps".into(),
        namespaced: true,
    };
    (
        kind,
        ResourceKey::core("ConfigMap", Some(NAMESPACE), CONFIG_MAP_NAME),
    )
}

/// Loads the inventory of an earlier run; empty if there is none or it cannot be parsed.
pub(super) async fn load(remote: &ApiClient) -> Result<Inventory, RequestError> {
    let (kind, key) = config_map();
    let stored = remote.get(&kind, &key).await?;
    let text = stored
        .as_ref()
        .and_then(|s| s["data"][INVENTORY_KEY].as_str());
    Ok(text
        .and_then(|t| serde_json::from_str(t).ok())
        .unwrap_or_default())
}

/// Saves the inventory, in a namespace that is created if needed.
pub(super) async fn save(remote: &ApiClient, inventory: &Inventory) -> Result<(), RequestError> {
    let namespace = RestMapping::namespaces();
    let namespace_key = ResourceKey::core("Namespace", None, NAMESPACE);
    if remote.get(&namespace, &namespace_key).await?.is_none() {
        let object = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": NAMESPACE, "annotations": {CREATED_FOR_PRESETS_ANNOTATION: "true"}},
        });
        remote
            .apply(&namespace, &namespace_key, &object, ApplyMode::default())
            .await?;
    }
    let (kind, key) = config_map();
    let text = serde_json::to_string(inventory).unwrap_or_default();
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIG_MAP_NAME, "namespace": NAMESPACE},
        "data": {INVENTORY_KEY: text},
    });
    let mode = ApplyMode {
        force: true,
        dry_run: false,
    };
    remote.apply(&kind, &key, &object, mode).await?;
    Ok(())
}

/// Deletes the inventory, and its namespace if it was created for the inventory and is empty.
pub(super) async fn delete(remote: &ApiClient) -> Result<(), RequestError> {
    let (kind, key) = config_map();
    remote.delete(&kind, &key).await?;
    let kind = RestMapping::namespaces();
    let key = ResourceKey::core("Namespace", None, NAMESPACE);
    let Some(namespace) = remote.get(&kind, &key).await? else {
        return Ok(());
    };
    let created_for_presets =
        namespace["metadata"]["annotations"][CREATED_FOR_PRESETS_ANNOTATION] == "true";
    if created_for_presets
        && namespace_contents::first_unmanaged_objects(remote, NAMESPACE)
            .await?
            .is_none()
    {
        remote.delete(&kind, &key).await?;
    }
    Ok(())
}
