//! The default classes of volume claims and ingresses, and growing claims.

use kueue_lab_quantity::Quantity;
use serde_json::Value;

use super::PluginContext;
use crate::apimachinery::api_error::ApiError;
use crate::apimachinery::value_ext::{ValueExt, ValueMutExt};

/// Gives a new claim that names no class the default one: of several the youngest, then the first by
/// name.
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
    let youngest = all.iter().filter(is_default).max_by(|a, b| {
        let born = |c: &Value| c.text("/metadata/creationTimestamp").to_string();
        born(a).cmp(&born(b)).then_with(|| b.name().cmp(a.name()))
    });
    if let Some(class) = youngest {
        claim.object_mut("spec")["storageClassName"] = class.name().into();
    }
}

/// Only bound claims of a class that allows it may grow.
pub(crate) fn validate_volume_resize(
    write: &PluginContext<'_>,
    claim: &Value,
) -> Result<(), ApiError> {
    let Some(old) = write.request.old_object else {
        return Ok(());
    };
    let size = |c: &Value| Quantity::or_zero(Some(c.at("/spec/resources/requests/storage")));
    if size(claim) <= size(old) {
        return Ok(());
    }
    if old.text("/status/phase") != "Bound" {
        return Err(write.forbidden("Only bound persistent volume claims can be expanded"));
    }
    let name = match claim.annotation("volume.beta.kubernetes.io/storage-class") {
        Some(name) => name,
        None => claim.text("/spec/storageClassName"),
    };
    let class = write
        .reader
        .get("storage.k8s.io", "storageclasses", "", name);
    if class.is_some_and(|c| c.flag("/allowVolumeExpansion")) {
        return Ok(());
    }
    Err(write.forbidden(
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
    ))
}

/// Gives a new ingress that names no class the default one.
pub(crate) fn set_default_ingress_class(
    write: &PluginContext<'_>,
    ingress: &mut Value,
) -> Result<(), ApiError> {
    let named = ingress.has("/spec/ingressClassName")
        || ingress.annotation("kubernetes.io/ingress.class").is_some();
    if named || !write.is_create() {
        return Ok(());
    }
    let all = write.reader.list("networking.k8s.io", "ingressclasses", "");
    let key = "ingressclass.kubernetes.io/is-default-class";
    let defaults: Vec<_> = all
        .iter()
        .filter(|c| c.annotation(key) == Some("true"))
        .collect();
    match defaults.as_slice() {
        [] => {}
        [only] => ingress.object_mut("spec")["ingressClassName"] = only.name().into(),
        _ => {
            return Err(write.forbidden(format!(
                "{} default IngressClasses were found, only 1 allowed",
                defaults.len()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::plugins::fake::{Objects, request, with};
    use crate::plugins::{AdmissionRequest, Operation};

    fn class(name: &str, born: &str) -> (&'static str, &'static str, Value) {
        let class = json!({"metadata": {"name": name, "creationTimestamp": born, "annotations":
            {"storageclass.kubernetes.io/is-default-class": "true"}}, "allowVolumeExpansion": name == "b"});
        ("storage.k8s.io", "storageclasses", class)
    }

    #[test]
    fn the_youngest_default_class() {
        let objects = Objects(vec![
            class("a", "2026-01-01T00:00:00Z"),
            class("b", "2026-01-02T00:00:00Z"),
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

    #[test]
    fn claims_grow_where_their_class_allows() {
        let objects = Objects(vec![class("a", ""), class("b", "")]);
        let claim = |class: &str, size: &str, phase: &str| {
            json!({"spec": {"storageClassName": class, "resources": {"requests": {"storage": size}}},
                "status": {"phase": phase}})
        };
        let grown = |class: &str, phase: &str| {
            let old = claim(class, "1Gi", phase);
            let update = AdmissionRequest {
                old_object: Some(&old),
                ..request("", "persistentvolumeclaims", Operation::Update)
            };
            with(&objects, &update, |w| {
                validate_volume_resize(w, &claim(class, "2Gi", phase))
            })
            .is_ok()
        };
        assert!(grown("b", "Bound") && !grown("b", "Pending") && !grown("a", "Bound"));
    }
}
