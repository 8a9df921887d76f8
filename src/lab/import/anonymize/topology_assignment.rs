//! Domains of topology assignments: values of node labels whose common prefixes are written once, and which
//! are replaced as a whole.

use kueue_lab_api::v1beta2::TopologyAssignment;
use serde_json::{Map, Value};

use super::visit_names::{NameReplacer, key, label_value};

/// Replaces the levels and domains of a compressed assignment; false if it is none.
pub(super) fn replace_domains(
    fields: &mut Map<String, Value>,
    replace: &mut impl NameReplacer,
) -> bool {
    if !fields.contains_key("slices") {
        return false;
    }
    let assignment = serde_json::from_value::<TopologyAssignment>(Value::Object(fields.clone()));
    let Ok(mut assignment) = assignment else {
        return false;
    };
    let Ok(mut domains) = assignment.decode() else {
        return false;
    };
    for domain in &mut domains {
        for (level, value) in assignment.levels.iter().zip(&mut domain.values) {
            *value = label_value(level, value, replace);
        }
    }
    for level in &mut assignment.levels {
        *level = key(level, replace);
    }
    let encoded = TopologyAssignment::encode(assignment.levels, &domains, true);
    match serde_json::to_value(encoded) {
        Ok(Value::Object(encoded)) => {
            *fields = encoded;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use kueue_lab_api::v1beta2::TopologyDomain;
    use serde_json::json;

    use super::*;
    use crate::anonymize::pseudonyms::Pseudonyms;

    #[test]
    fn domains_have_the_pseudonyms_of_the_nodes() {
        let hosts = ["zeus-a1", "zeus-a2", "zeus-b1"];
        let mut pseudonyms = Pseudonyms::new(BTreeSet::from(hosts.map(str::to_owned)));
        let assignment = json!({
            "levels": ["kubernetes.io/hostname"],
            "slices": [{"domainCount": 3, "podCounts": {"universal": 1}, "valuesPerLevel": [
                {"individual": {"prefix": "zeus-", "roots": ["a1", "a2", "b1"]}}]}],
        });
        let Value::Object(mut fields) = assignment else {
            panic!("an object");
        };
        assert!(replace_domains(&mut fields, &mut pseudonyms));
        let replaced: TopologyAssignment = serde_json::from_value(Value::Object(fields)).unwrap();
        assert_eq!(replaced.levels, ["kubernetes.io/hostname"]);
        let expected = hosts.map(|host| TopologyDomain {
            values: vec![pseudonyms.of(host)],
            count: 1,
        });
        assert_eq!(replaced.decode().unwrap(), expected);
        assert!(!replace_domains(&mut Map::new(), &mut pseudonyms));
    }
}
