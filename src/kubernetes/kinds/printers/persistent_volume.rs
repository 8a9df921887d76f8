//! Printers of PersistentVolumes and PersistentVolumeClaims.

use serde_json::Value;

use super::TablePrinter;
use super::table_printer::{AGE, NAME};
use kueue_lab_apimachinery::strategy::table_cells::{age_cell, text_or};
use kueue_lab_json::ValueExt;
use kueue_lab_quantity::Quantity;

/// Abbreviated access modes without duplicates.
fn access_modes(modes: &[Value]) -> String {
    const SHORT: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let given = |long: &str| modes.iter().any(|m| m.as_str() == Some(long));
    let names: Vec<&str> = SHORT.iter().filter(|s| given(s.0)).map(|s| s.1).collect();
    names.join(",")
}

/// The storage class, from the legacy annotation or the field.
fn storage_class(o: &Value) -> &str {
    let annotated = o.annotation("volume.beta.kubernetes.io/storage-class");
    annotated.unwrap_or_else(|| o.text("/spec/storageClassName"))
}

fn volume_phase(o: &Value) -> Value {
    if o.is_terminating() {
        "Terminating".into()
    } else {
        o.text("/status/phase").into()
    }
}

pub(crate) const PERSISTENT_VOLUME: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Capacity", "string", 0),
        ("Access Modes", "string", 0),
        ("Reclaim Policy", "string", 0),
        ("Status", "string", 0),
        ("Claim", "string", 0),
        ("StorageClass", "string", 0),
        ("VolumeAttributesClass", "string", 0),
        ("Reason", "string", 0),
        AGE,
        ("VolumeMode", "string", 1),
    ],
    cells: |o, now| {
        let claim = match o.has("/spec/claimRef") {
            true => {
                let claim = o.at("/spec/claimRef");
                format!("{}/{}", claim.text("/namespace"), claim.text("/name"))
            }
            false => String::new(),
        };
        vec![
            o.name().into(),
            Quantity::or_zero(Some(o.at("/spec/capacity/storage")))
                .to_string()
                .into(),
            access_modes(o.list("/spec/accessModes")).into(),
            o.text("/spec/persistentVolumeReclaimPolicy").into(),
            volume_phase(o),
            claim.into(),
            storage_class(o).into(),
            text_or(o.text("/spec/volumeAttributesClassName"), "<unset>").into(),
            o.text("/status/reason").into(),
            age_cell(o, now),
            text_or(o.text("/spec/volumeMode"), "<unset>").into(),
        ]
    },
};

pub(crate) const PERSISTENT_VOLUME_CLAIM: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Status", "string", 0),
        ("Volume", "string", 0),
        ("Capacity", "string", 0),
        ("Access Modes", "string", 0),
        ("StorageClass", "string", 0),
        ("VolumeAttributesClass", "string", 0),
        AGE,
        ("VolumeMode", "string", 1),
    ],
    cells: |o, now| {
        let bound = !o.text("/spec/volumeName").is_empty();
        let (capacity, modes) = match bound {
            true => {
                let capacity = Quantity::or_zero(Some(o.at("/status/capacity/storage")));
                (
                    capacity.to_string(),
                    access_modes(o.list("/status/accessModes")),
                )
            }
            false => (String::new(), String::new()),
        };
        vec![
            o.name().into(),
            volume_phase(o),
            o.text("/spec/volumeName").into(),
            capacity.into(),
            modes.into(),
            storage_class(o).into(),
            text_or(o.text("/spec/volumeAttributesClassName"), "<unset>").into(),
            age_cell(o, now),
            text_or(o.text("/spec/volumeMode"), "<unset>").into(),
        ]
    },
};
