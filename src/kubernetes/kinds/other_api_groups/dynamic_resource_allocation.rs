//! Dynamic Resource Allocation: ResourceClaims, ResourceClaimTemplates, DeviceClasses and
//! ResourceSlices.

use serde_json::{Value, json};

use super::device_selectors;
use crate::builtin_strategy::{BuiltinStrategy, SelectableFields};
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::FieldError;
use kueue_lab_json::{ValueExt, ValueMutExt};

pub(super) fn strategy_of(kind: &str) -> BuiltinStrategy {
    match kind {
        "ResourceClaim" => BuiltinStrategy {
            set_defaults: |claim| {
                if let Some(spec) = claim.get_object_mut("spec") {
                    claim_spec(spec);
                }
            },
            prepare_for_create: |claim| claim["status"] = json!({}),
            validate_create: |claim| {
                let mut errors = ErrorList::default();
                device_selectors::of_claim(
                    &mut errors,
                    &FieldPath::root("spec"),
                    claim.at("/spec"),
                );
                errors.0
            },
            validate_update: validate_immutable_spec,
            ..BuiltinStrategy::DEFAULT
        },
        "ResourceClaimTemplate" => BuiltinStrategy {
            set_defaults: |template| {
                if let Some(spec) = template
                    .get_object_mut("spec")
                    .and_then(|s| s.get_object_mut("spec"))
                {
                    claim_spec(spec);
                }
            },
            validate_create: |template| {
                let mut errors = ErrorList::default();
                let path = FieldPath::root("spec");
                let path = path.child("spec");
                device_selectors::of_claim(&mut errors, &path, template.at("/spec/spec"));
                errors.0
            },
            validate_update: validate_immutable_spec,
            ..BuiltinStrategy::DEFAULT
        },
        "DeviceClass" => BuiltinStrategy {
            validate_create: |class| {
                let mut errors = ErrorList::default();
                let path = FieldPath::root("spec");
                device_selectors::validate(&mut errors, &path, class.at("/spec"), &Value::Null);
                errors.0
            },
            validate_update: |new, old| {
                let mut errors = ErrorList::default();
                let path = FieldPath::root("spec");
                let (new, old) = (new.at("/spec"), old.at("/spec"));
                device_selectors::validate(&mut errors, &path, new, old);
                errors.0
            },
            generation_fields: &["spec"],
            ..BuiltinStrategy::DEFAULT
        },
        "ResourceSlice" => BuiltinStrategy {
            selectable_fields: SelectableFields::Some(&[
                ("spec.nodeName", "/spec/nodeName", ""),
                ("spec.driver", "/spec/driver", ""),
            ]),
            generation_fields: &["spec"],
            ..BuiltinStrategy::DEFAULT
        },
        _ => BuiltinStrategy::DEFAULT,
    }
}

fn validate_immutable_spec(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    errors.immutable(&FieldPath::root("spec"), new.at("/spec"), old.at("/spec"));
    errors.0
}

fn claim_spec(spec: &mut Value) {
    let Some(devices) = spec.get_object_mut("devices") else {
        return;
    };
    for request in devices.items_mut("requests") {
        if let Some(exactly) = request.get_object_mut("exactly") {
            default_device_request_count(exactly);
        }
        request
            .items_mut("firstAvailable")
            .iter_mut()
            .for_each(default_device_request_count);
    }
}

/// Defaults the `count` of a device request to 1.
fn default_device_request_count(request: &mut Value) {
    request.set_default("allocationMode", "ExactCount");
    if request.text("/allocationMode") == "ExactCount" {
        request.set_default("count", 1);
    }
}
