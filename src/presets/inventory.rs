//! What a presets folder has put into the cluster, remembered in the cluster: so that a lab that is
//! started again on the same cluster can take away what has left the files since.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ObjectKey;
use super::api_client::{ApiClient, ApplyMode, RequestError, RestMapping};
use super::apply::namespace_contents;

/// The label of every object the lab has made from a preset; its value is the preset's name.
pub(super) const PRESET_LABEL: &str = "kueue-lab.dev/preset";
const CONFIG_MAP_NAME: &str = "kueue-lab-presets";
const NAMESPACE: &str = "kueue-system";
/// Says of that namespace that it was made for this.
const CREATED_FOR_PRESETS_ANNOTATION: &str = "kueue-lab.dev/made-for-presets";
/// The configuration map's key.
const INVENTORY_KEY: &str = "inventory";

/// One remembered object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InventoryEntry {
    /// Version it was applied in.
    pub(super) api_version: String,
    /// Which object.
    #[serde(flatten)]
    pub(super) key: ObjectKey,
}

/// What is remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Inventory {
    /// The preset in force.
    pub(super) preset: String,
    /// Objects the lab made, of this or an earlier preset.
    pub(super) objects: Vec<InventoryEntry>,
}

fn config_map() -> (RestMapping, ObjectKey) {
    let kind = RestMapping {
        api_version: "v1".into(),
        plural: "configmaps".into(),
        namespaced: true,
    };
    (kind, key("ConfigMap", Some(NAMESPACE), CONFIG_MAP_NAME))
}

fn key(kind: &str, namespace: Option<&str>, name: &str) -> ObjectKey {
    ObjectKey {
        group: String::new(),
        kind: kind.into(),
        namespace: namespace.map(str::to_owned),
        name: name.into(),
    }
}

/// What an earlier run remembered; nothing where there was none or it cannot be read.
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

fn namespace() -> (RestMapping, ObjectKey) {
    let kind = RestMapping {
        api_version: "v1".into(),
        plural: "namespaces".into(),
        namespaced: false,
    };
    (kind, key("Namespace", None, NAMESPACE))
}

/// Remembers.
pub(super) async fn save(remote: &ApiClient, inventory: &Inventory) -> Result<(), RequestError> {
    let (namespace, namespace_key) = namespace();
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

/// Forgets all, and takes away the namespace that was made for it, if nothing else is in there.
pub(super) async fn delete(remote: &ApiClient) -> Result<(), RequestError> {
    let (kind, key) = config_map();
    remote.delete(&kind, &key).await?;
    let (kind, key) = namespace();
    let Some(there) = remote.get(&kind, &key).await? else {
        return Ok(());
    };
    let made = there["metadata"]["annotations"][CREATED_FOR_PRESETS_ANNOTATION] == "true";
    if made
        && namespace_contents::first_unmanaged_objects(remote, NAMESPACE)
            .await?
            .is_none()
    {
        remote.delete(&kind, &key).await?;
    }
    Ok(())
}

/// Whether an object says that the lab made it from a preset.
pub(super) fn is_managed(object: &Value) -> bool {
    object["metadata"]["labels"][PRESET_LABEL].is_string()
}
