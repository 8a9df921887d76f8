//! The ConfigMap of Kueue's configuration: selectors, namespaces and keys of labels in it have the
//! pseudonyms of the objects.

use kueue_lab_api::config::CONFIG_MAP_KEY;
use kueue_lab_json::ValueExt;
use kueue_lab_yaml::{Limits, parse_one, to_string};
use serde_json::{Value, json};

use super::visit_names::{NameReplacer, visit_names};

/// Replaces the names in Kueue's configuration. Comments and other data of the ConfigMap are removed, and so
/// is a configuration that is no YAML.
pub(super) fn walk_configuration(config_map: &mut Value, replace: &mut impl NameReplacer) {
    let configuration = configuration(config_map);
    config_map["data"] = json!({});
    if let Some(map) = config_map.as_object_mut() {
        map.remove("binaryData");
    }
    // That of presets without `kueue.yaml` is text as well.
    if let Some(metadata) = config_map["metadata"].as_object_mut() {
        metadata.remove("annotations");
    }
    visit_names(config_map, &[], replace);
    if let Some(mut configuration) = configuration {
        visit_names(&mut configuration, &[], replace);
        config_map["data"][CONFIG_MAP_KEY] = to_string(&configuration).into();
    }
}

/// The configuration in a ConfigMap; `None` if there is none, or it is no YAML.
pub(super) fn configuration(config_map: &Value) -> Option<Value> {
    let text = config_map.at("/data").get(CONFIG_MAP_KEY)?.as_str()?;
    let node = parse_one(text, Limits::default()).ok()?;
    Some(node.to_json())
}
