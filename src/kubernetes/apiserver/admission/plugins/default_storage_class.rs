//! DefaultStorageClass.

use serde_json::Value;

use super::PluginContext;
use kueue_lab_json::{ValueExt, ValueMutExt};

/// Sets the default class on a new claim without a class. Of several default classes the newest is
/// used, then the first by name.
pub(crate) fn set_default_storage_class(write: &PluginContext<'_>, claim: &mut Value) {
    let named = claim.has("/spec/storageClassName")
        || claim
            .annotation("volume.beta.kubernetes.io/storage-class")
            .is_some();
    if named || !write.is_create() {
        return;
    }
    let all = write.reader.list("storage.k8s.io", "storageclasses", "");
    let is_default = |class: &&std::sync::Arc<Value>| {
        [
            "storageclass.kubernetes.io/is-default-class",
            "storageclass.beta.kubernetes.io/is-default-class",
        ]
        .iter()
        .any(|key| class.annotation(key) == Some("true"))
    };
    let newest = all.iter().filter(is_default).max_by(|a, b| {
        let created = |c: &Value| c.text("/metadata/creationTimestamp").to_string();
        created(a)
            .cmp(&created(b))
            .then_with(|| b.name().cmp(a.name()))
    });
    if let Some(class) = newest {
        claim.object_mut("spec")["storageClassName"] = class.name().into();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::plugins::fake::{Objects, request, storage_class, with};
    use crate::plugins::Operation;

    #[test]
    fn the_youngest_default_class() {
        let objects = Objects(vec![
            storage_class("a", "2026-01-01T00:00:00Z"),
            storage_class("b", "2026-01-02T00:00:00Z"),
        ]);
        let create = request("", "persistentvolumeclaims", Operation::Create);
        let mut claim = json!({"spec": {}});
        with(&objects, &create, |w| {
            set_default_storage_class(w, &mut claim)
        });
        assert_eq!(claim.text("/spec/storageClassName"), "b");
        let mut none = json!({"spec": {"storageClassName": ""}});
        with(&objects, &create, |w| {
            set_default_storage_class(w, &mut none)
        });
        assert_eq!(none.text("/spec/storageClassName"), "");
    }
}
