//! Printers of storage.k8s.io.

use serde_json::Value;

use super::table_printer::{AGE, NAME};
use super::{DEFAULT, TablePrinter};
use kueue_lab_apimachinery::strategy::table_cells::{age_cell, scalar, text_or};
use kueue_lab_json::ValueExt;
use kueue_lab_quantity::Quantity;

pub(crate) fn printer_of(kind: &str) -> TablePrinter {
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

/// The name, with the suffix ` (default)` if an annotation marks the object as the default.
fn name_with_default_marker(o: &Value, annotation: &str) -> Value {
    match o.annotation(annotation) {
        Some("true") => format!("{} (default)", o.name()).into(),
        _ => o.name().into(),
    }
}

const STORAGE_CLASS: TablePrinter = TablePrinter {
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
            Some("true") => name_with_default_marker(o, beta),
            _ => name_with_default_marker(o, "storageclass.kubernetes.io/is-default-class"),
        };
        vec![
            name,
            o.text("/provisioner").into(),
            text_or(o.text("/reclaimPolicy"), "Delete").into(),
            text_or(o.text("/volumeBindingMode"), "Immediate").into(),
            o.flag("/allowVolumeExpansion").into(),
            age_cell(o, now),
        ]
    },
};

const VOLUME_ATTRIBUTES_CLASS: TablePrinter = TablePrinter {
    columns: &[NAME, ("DriverName", "string", 0), AGE],
    cells: |o, now| {
        let name = name_with_default_marker(
            o,
            "volumeattributesclass.alpha.kubernetes.io/is-default-class",
        );
        vec![name, o.text("/driverName").into(), age_cell(o, now)]
    },
};

const VOLUME_ATTACHMENT: TablePrinter = TablePrinter {
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

const CSI_NODE: TablePrinter = TablePrinter {
    columns: &[NAME, ("Drivers", "integer", 0), AGE],
    cells: |o, now| {
        vec![
            o.name().into(),
            o.list("/spec/drivers").len().into(),
            age_cell(o, now),
        ]
    },
};

const CSI_DRIVER: TablePrinter = TablePrinter {
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
            text_or(&modes.join(","), "<none>").into(),
            age_cell(o, now),
        ]
    },
};

const CSI_STORAGE_CAPACITY: TablePrinter = TablePrinter {
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
