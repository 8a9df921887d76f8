//! Tables of storage.

use serde_json::Value;

use super::parts::{age_cell, or, scalar};
use super::{AGE, DEFAULT, NAME, Table};
use crate::kinds::value::Look;
use kueue_lab_quantity::Quantity;

pub(super) fn of(kind: &str) -> Table {
    match kind {
        "StorageClass" => STORAGE_CLASS,
        "VolumeAttributesClass" => VOLUME_ATTRIBUTES_CLASS,
        "VolumeAttachment" => VOLUME_ATTACHMENT,
        "CSINode" => CSI_NODE,
        "CSIDriver" => CSI_DRIVER,
        "CSIStorageCapacity" => CSI_STORAGE_CAPACITY,
        _ => DEFAULT,
    }
}

/// The name, marked where an annotation makes the object the default of its kind.
fn marked_name(o: &Value, annotation: &str) -> Value {
    match o.annotation(annotation) {
        Some("true") => format!("{} (default)", o.name()).into(),
        _ => o.name().into(),
    }
}

const STORAGE_CLASS: Table = Table {
    columns: &[
        NAME,
        ("Provisioner", "string", 0),
        ("ReclaimPolicy", "string", 0),
        ("VolumeBindingMode", "string", 0),
        ("AllowVolumeExpansion", "string", 0),
        AGE,
    ],
    cells: |o, now| {
        let beta = "storageclass.beta.kubernetes.io/is-default-class";
        let name = match o.annotation(beta) {
            Some("true") => marked_name(o, beta),
            _ => marked_name(o, "storageclass.kubernetes.io/is-default-class"),
        };
        vec![
            name,
            o.text("/provisioner").into(),
            or(o.text("/reclaimPolicy"), "Delete").into(),
            or(o.text("/volumeBindingMode"), "Immediate").into(),
            o.flag("/allowVolumeExpansion").into(),
            age_cell(o, now),
        ]
    },
};

const VOLUME_ATTRIBUTES_CLASS: Table = Table {
    columns: &[NAME, ("DriverName", "string", 0), AGE],
    cells: |o, now| {
        let name = marked_name(
            o,
            "volumeattributesclass.alpha.kubernetes.io/is-default-class",
        );
        vec![name, o.text("/driverName").into(), age_cell(o, now)]
    },
};

const VOLUME_ATTACHMENT: Table = Table {
    columns: &[
        NAME,
        ("Attacher", "string", 0),
        ("PV", "string", 0),
        ("Node", "string", 0),
        ("Attached", "boolean", 0),
        AGE,
    ],
    cells: |o, now| {
        vec![
            o.name().into(),
            o.text("/spec/attacher").into(),
            o.text("/spec/source/persistentVolumeName").into(),
            o.text("/spec/nodeName").into(),
            o.flag("/status/attached").into(),
            age_cell(o, now),
        ]
    },
};

const CSI_NODE: Table = Table {
    columns: &[NAME, ("Drivers", "integer", 0), AGE],
    cells: |o, now| {
        vec![
            o.name().into(),
            o.list("/spec/drivers").len().into(),
            age_cell(o, now),
        ]
    },
};

const CSI_DRIVER: Table = Table {
    columns: &[
        NAME,
        ("AttachRequired", "boolean", 0),
        ("PodInfoOnMount", "boolean", 0),
        ("StorageCapacity", "boolean", 0),
        ("TokenRequests", "string", 0),
        ("RequiresRepublish", "boolean", 0),
        ("Modes", "string", 0),
        AGE,
    ],
    cells: |o, now| {
        let modes: Vec<String> = o
            .list("/spec/volumeLifecycleModes")
            .iter()
            .map(scalar)
            .collect();
        let tokens = o.list("/spec/tokenRequests").iter();
        let audiences: Vec<&str> = tokens.map(|t| t.text("/audience")).collect();
        let tokens = match o.has("/spec/tokenRequests") {
            true => audiences.join(","),
            false => "<unset>".into(),
        };
        vec![
            o.name().into(),
            o.at("/spec/attachRequired")
                .as_bool()
                .unwrap_or(true)
                .into(),
            o.flag("/spec/podInfoOnMount").into(),
            o.flag("/spec/storageCapacity").into(),
            tokens.into(),
            o.flag("/spec/requiresRepublish").into(),
            or(&modes.join(","), "<none>").into(),
            age_cell(o, now),
        ]
    },
};

const CSI_STORAGE_CAPACITY: Table = Table {
    columns: &[
        NAME,
        ("StorageClassName", "string", 0),
        ("Capacity", "string", 0),
    ],
    cells: |o, _| {
        let capacity = Quantity::of(o.at("/capacity")).map(|q| q.to_string());
        vec![
            o.name().into(),
            o.text("/storageClassName").into(),
            capacity.unwrap_or_else(|| "<unset>".into()).into(),
        ]
    },
};
