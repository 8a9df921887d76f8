//! Defaulting of CustomResourceDefinitions.

use serde_json::{Value, json};

use kueue_lab_json::{ValueExt, ValueMutExt};

/// Sets the defaults of a CustomResourceDefinition.
pub fn set_defaults(definition: &mut Value) {
    let spec = definition.object_mut("spec");
    let names = spec.object_mut("names");
    let kind = names.text("/kind").to_string();
    if names.text("/singular").is_empty() && !kind.is_empty() {
        names.set_or_remove("singular", Some(kind.to_lowercase().into()));
    }
    if names.text("/listKind").is_empty() && !kind.is_empty() {
        names.set_or_remove("listKind", Some(format!("{kind}List").into()));
    }
    spec.set_default("conversion", json!({"strategy": "None"}));
    let service = spec
        .get_object_mut("conversion")
        .and_then(|c| c.get_object_mut("webhook"))
        .and_then(|w| w.get_object_mut("clientConfig"))
        .and_then(|c| c.get_object_mut("service"));
    if let Some(service) = service {
        service.set_default("port", 443);
    }
}
