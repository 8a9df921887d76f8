//! Attributes of devices. Their values describe the hardware and stay, but for the names of objects in them;
//! selectors of devices compare with them.

use serde_json::{Map, Value};

use super::strings::is_public_domain;
use super::visit_names::NameReplacer;

/// Replaces the names in attributes or capacities of a device; false if the fields are none.
pub(super) fn replace_attributes(
    fields: &mut Map<String, Value>,
    replace: &mut impl NameReplacer,
) -> bool {
    if fields.is_empty() || !fields.values().all(Value::is_object) {
        return false;
    }
    for (attribute, mut content) in std::mem::take(fields) {
        for value in content
            .as_object_mut()
            .into_iter()
            .flat_map(Map::values_mut)
        {
            if let Value::String(text) = value {
                *text = replace.text(text);
            }
        }
        // A selector has the domain by itself: `device.attributes["acme.com"].model`.
        let attribute = match attribute.split_once('/') {
            Some((domain, id)) if !is_public_domain(domain) => {
                format!("{}/{id}", replace.name(domain))
            }
            _ => attribute,
        };
        fields.insert(attribute, content);
    }
    true
}
