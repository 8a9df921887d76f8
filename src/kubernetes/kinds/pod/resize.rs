//! The `resize` subresource of pods.

use serde_json::Value;

use super::qos;
use super::strategy::{SPEC, metadata_and_spec};
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::FieldError;
use kueue_lab_json::{ValueExt, ValueMutExt};
use kueue_lab_quantity::Quantity;

/// Resets all fields except the containers' resources and resize policies to those of `old`.
pub(super) fn prepare(new: &mut Value, old: &Value) {
    let mut kept = old.clone();
    kept["metadata"] = new.at("/metadata").clone();
    for list in ["containers", "initContainers"] {
        let wanted = new.at("/spec").list(&format!("/{list}")).to_vec();
        let same = {
            let now = old.at("/spec").list(&format!("/{list}"));
            now.len() == wanted.len()
                && now
                    .iter()
                    .zip(&wanted)
                    .all(|(a, b)| a.text("/name") == b.text("/name"))
        };
        if !same {
            kept.object_mut("spec")
                .set_or_remove(list, Some(wanted.into()));
            continue;
        }
        for (c, wanted) in kept
            .object_mut("spec")
            .items_mut(list)
            .iter_mut()
            .zip(wanted)
        {
            c.set_or_remove("resources", wanted.get("resources").cloned());
            c.set_or_remove("resizePolicy", wanted.get("resizePolicy").cloned());
        }
    }
    *new = kept;
}

/// Validates a resize.
pub(super) fn validate(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    metadata_and_spec(&mut errors, new);
    if qos::class(new) != old.text("/status/qosClass") {
        let detail = "Pod QOS Class may not change as a result of resizing";
        errors.invalid(&SPEC, new.at("/status/qosClass").clone(), detail);
    }
    let before = errors.0.len();
    for list in ["containers", "initContainers"] {
        container_order(&mut errors, list, new, old);
    }
    if errors.0.len() > before {
        return errors.0;
    }
    let containers = SPEC.child("containers");
    let pairs = new
        .list("/spec/containers")
        .iter()
        .zip(old.list("/spec/containers"));
    for (i, (new, old)) in pairs.enumerate() {
        let entry = containers.index(i);
        container_resize(&mut errors, &entry.child("resources"), new, old);
    }
    errors.0
}

fn container_order(errors: &mut ErrorList, list: &str, new: &Value, old: &Value) {
    let path = SPEC.child(list);
    let pointer = format!("/spec/{list}");
    let (new, old) = (new.list(&pointer), old.list(&pointer));
    if new.len() != old.len() {
        errors.forbidden(
            &path,
            format!("{list} may not be added or removed on resize"),
        );
        return;
    }
    for (i, (new, old)) in new.iter().zip(old).enumerate() {
        if new.text("/name") != old.text("/name") {
            let entry = path.index(i);
            let detail = format!("{list} may not be renamed or reordered on resize");
            errors.forbidden(&entry.child("name"), detail);
        }
    }
}

fn container_resize(errors: &mut ErrorList, path: &FieldPath<'_>, new: &Value, old: &Value) {
    for (list, what) in [
        ("requests", "resource requests"),
        ("limits", "resource limits"),
    ] {
        let (after, before) = (
            new.at("/resources").get(list),
            old.at("/resources").get(list),
        );
        let removed = before
            .into_iter()
            .flat_map(|b| b.entries(""))
            .any(|(name, _)| after.and_then(|a| a.get(name)).is_none());
        if removed {
            errors.forbidden(&path.child(list), format!("{what} cannot be removed"));
        }
    }
    let policies = new.list("/resizePolicy").iter();
    let policy = policies
        .clone()
        .find(|p| p.text("/resourceName") == "memory");
    if policy.is_some_and(|p| p.text("/restartPolicy") == "RestartContainer") {
        return;
    }
    let limit = |c: &Value| Quantity::of(c.at("/resources/limits/memory"));
    if let (Some(after), Some(before)) = (limit(new), limit(old))
        && after < before
    {
        let limits = path.child("limits");
        let detail = "memory limits cannot be decreased unless resizePolicy is RestartContainer";
        errors.forbidden(&limits.key("memory"), detail);
    }
}
