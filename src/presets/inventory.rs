//! What a presets folder has put into the cluster, remembered in the cluster: so that a lab that is
//! started again on the same cluster can take away what has left the files since.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ObjectKey;
use super::applying::inhabitants;
use super::remote::{ApplyMode, CallError, KindInfo, Remote};

/// The label of every object the lab has made from a preset; its value is the preset's name.
pub(super) const LABEL: &str = "kueue-lab.dev/preset";
const NAME: &str = "kueue-lab-presets";
const NAMESPACE: &str = "kueue-system";
/// Says of that namespace that it was made for this.
const MADE: &str = "kueue-lab.dev/made-for-presets";
/// The configuration map's key.
const DATA: &str = "inventory";

/// One remembered object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Item {
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
    pub(super) objects: Vec<Item>,
}

fn config_map() -> (KindInfo, ObjectKey) {
    let kind = KindInfo {
        api_version: "v1".into(),
        plural: "configmaps".into(),
        namespaced: true,
    };
    (kind, key("ConfigMap", Some(NAMESPACE), NAME))
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
pub(super) async fn load(remote: &Remote) -> Result<Inventory, CallError> {
    let (kind, key) = config_map();
    let stored = remote.get(&kind, &key).await?;
    let text = stored.as_ref().and_then(|s| s["data"][DATA].as_str());
    Ok(text
        .and_then(|t| serde_json::from_str(t).ok())
        .unwrap_or_default())
}

fn namespace() -> (KindInfo, ObjectKey) {
    let kind = KindInfo {
        api_version: "v1".into(),
        plural: "namespaces".into(),
        namespaced: false,
    };
    (kind, key("Namespace", None, NAMESPACE))
}

/// Remembers.
pub(super) async fn save(remote: &Remote, inventory: &Inventory) -> Result<(), CallError> {
    let (namespace, namespace_key) = namespace();
    if remote.get(&namespace, &namespace_key).await?.is_none() {
        let object = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": NAMESPACE, "annotations": {MADE: "true"}},
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
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "data": {DATA: text},
    });
    let mode = ApplyMode {
        force: true,
        dry_run: false,
    };
    remote.apply(&kind, &key, &object, mode).await?;
    Ok(())
}

/// Forgets all, and takes away the namespace that was made for it, if nothing else is in there.
pub(super) async fn forget(remote: &Remote) -> Result<(), CallError> {
    let (kind, key) = config_map();
    remote.delete(&kind, &key).await?;
    let (kind, key) = namespace();
    let Some(there) = remote.get(&kind, &key).await? else {
        return Ok(());
    };
    let made = there["metadata"]["annotations"][MADE] == "true";
    if made && inhabitants::of(remote, NAMESPACE).await?.is_none() {
        remote.delete(&kind, &key).await?;
    }
    Ok(())
}

/// Whether an object says that the lab made it from a preset.
pub(super) fn is_ours(object: &Value) -> bool {
    object["metadata"]["labels"][LABEL].is_string()
}
