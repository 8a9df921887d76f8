//! Dynamic resource allocation: claims, their templates, device classes, resource slices.

use serde_json::{Value, json};

use crate::kinds::check::{Errors, Path};
use crate::kinds::rules::{Fields, Rules};
use crate::kinds::value::{Fill, Look};

pub(super) fn rules(kind: &str) -> Rules {
    match kind {
        "ResourceClaim" => Rules {
            default: |claim| {
                if let Some(spec) = claim.child_if("spec") {
                    claim_spec(spec);
                }
            },
            prepare_create: |claim| claim["status"] = json!({}),
            update: |new, old| {
                let mut errors = Errors::default();
                errors.immutable(&Path::root("spec"), new.at("/spec"), old.at("/spec"));
                errors.0
            },
            ..Rules::PLAIN
        },
        "ResourceClaimTemplate" => Rules {
            default: |template| {
                if let Some(spec) = template.child_if("spec").and_then(|s| s.child_if("spec")) {
                    claim_spec(spec);
                }
            },
            update: |new, old| {
                let mut errors = Errors::default();
                errors.immutable(&Path::root("spec"), new.at("/spec"), old.at("/spec"));
                errors.0
            },
            ..Rules::PLAIN
        },
        "DeviceClass" => Rules {
            generation_of: &["spec"],
            ..Rules::PLAIN
        },
        "ResourceSlice" => Rules {
            fields: Fields::Some(&[
                ("spec.nodeName", "/spec/nodeName", ""),
                ("spec.driver", "/spec/driver", ""),
            ]),
            generation_of: &["spec"],
            ..Rules::PLAIN
        },
        _ => Rules::PLAIN,
    }
}

fn claim_spec(spec: &mut Value) {
    let Some(devices) = spec.child_if("devices") else {
        return;
    };
    for request in devices.items_mut("requests") {
        if let Some(exactly) = request.child_if("exactly") {
            counted(exactly);
        }
        request
            .items_mut("firstAvailable")
            .iter_mut()
            .for_each(counted);
    }
}

/// One device is asked for where no number is given.
fn counted(request: &mut Value) {
    request.or_set("allocationMode", "ExactCount");
    if request.text("/allocationMode") == "ExactCount" {
        request.or_set("count", 1);
    }
}
