//! Printers of the smaller groups: scheduling, node, coordination, rbac, certificates, resource,
//! apiregistration.

use serde_json::Value;

use super::table_printer::{AGE, NAME, NAME_AND_AGE};
use super::{DEFAULT, TablePrinter};
use kueue_lab_apimachinery::strategy::table_cells::{age_cell, text_or};
use kueue_lab_duration::human_duration;
use kueue_lab_json::ValueExt;

pub(crate) fn printer_of(kind: &str) -> TablePrinter {
    match kind {
        "PriorityClass" => PRIORITY_CLASS,
        "RuntimeClass" => RUNTIME_CLASS,
        "Lease" => LEASE,
        "RoleBinding" | "ClusterRoleBinding" => ROLE_BINDING,
        "CertificateSigningRequest" => CERTIFICATE_SIGNING_REQUEST,
        "ResourceClaim" => RESOURCE_CLAIM,
        "ResourceSlice" => RESOURCE_SLICE,
        "DeviceClass" | "ResourceClaimTemplate" => NAME_AND_AGE,
        "APIService" => API_SERVICE,
        _ => DEFAULT,
    }
}

const PRIORITY_CLASS: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Value", "integer", 0),
        ("Global-Default", "boolean", 0),
        AGE,
        ("PreemptionPolicy", "string", 0),
    ],
    cells: |o, now| {
        vec![
            o.name().into(),
            o.int("/value").into(),
            o.flag("/globalDefault").into(),
            age_cell(o, now),
            o.text("/preemptionPolicy").into(),
        ]
    },
};

const RUNTIME_CLASS: TablePrinter = TablePrinter {
    columns: &[NAME, ("Handler", "string", 0), AGE],
    cells: |o, now| vec![o.name().into(), o.text("/handler").into(), age_cell(o, now)],
};

const LEASE: TablePrinter = TablePrinter {
    columns: &[NAME, ("Holder", "string", 0), AGE],
    cells: |o, now| {
        vec![
            o.name().into(),
            o.text("/spec/holderIdentity").into(),
            age_cell(o, now),
        ]
    },
};

const ROLE_BINDING: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Role", "string", 0),
        AGE,
        ("Users", "string", 1),
        ("Groups", "string", 1),
        ("ServiceAccounts", "string", 1),
    ],
    cells: |o, now| {
        let of_kind = |kind: &str| {
            let subjects = o
                .list("/subjects")
                .iter()
                .filter(|s| s.text("/kind") == kind);
            let name = |s: &Value| match kind {
                "ServiceAccount" => format!("{}/{}", s.text("/namespace"), s.text("/name")),
                _ => s.text("/name").to_string(),
            };
            Value::from(subjects.map(name).collect::<Vec<_>>().join(", "))
        };
        let role = o.at("/roleRef");
        vec![
            o.name().into(),
            format!("{}/{}", role.text("/kind"), role.text("/name")).into(),
            age_cell(o, now),
            of_kind("User"),
            of_kind("Group"),
            of_kind("ServiceAccount"),
        ]
    },
};

const CERTIFICATE_SIGNING_REQUEST: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        AGE,
        ("SignerName", "string", 0),
        ("Requestor", "string", 0),
        ("RequestedDuration", "string", 0),
        ("Condition", "string", 0),
    ],
    cells: |o, now| {
        let is = |type_: &str| o.condition(type_).is_some();
        let mut condition = match () {
            () if is("Denied") => "Denied",
            () if is("Approved") => "Approved",
            () => "Pending",
        }
        .to_string();
        if is("Failed") {
            condition.push_str(",Failed");
        }
        if !o.text("/status/certificate").is_empty() {
            condition.push_str(",Issued");
        }
        let duration = o.at("/spec/expirationSeconds").as_i64().map(human_duration);
        vec![
            o.name().into(),
            age_cell(o, now),
            text_or(o.text("/spec/signerName"), "<none>").into(),
            o.text("/spec/username").into(),
            duration.unwrap_or_else(|| "<none>".into()).into(),
            condition.into(),
        ]
    },
};

const RESOURCE_CLAIM: TablePrinter = TablePrinter {
    columns: &[NAME, ("State", "string", 0), AGE],
    cells: |o, now| {
        let mut states = Vec::new();
        if o.is_terminating() {
            states.push("deleted");
        }
        if o.has("/status/allocation") {
            states.push("allocated");
            if !o.list("/status/reservedFor").is_empty() {
                states.push("reserved");
            }
        } else if !o.is_terminating() {
            states.push("pending");
        }
        vec![o.name().into(), states.join(",").into(), age_cell(o, now)]
    },
};

const RESOURCE_SLICE: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Node", "string", 0),
        ("Driver", "string", 0),
        ("Pool", "string", 0),
        AGE,
    ],
    cells: |o, now| {
        vec![
            o.name().into(),
            o.text("/spec/nodeName").into(),
            o.text("/spec/driver").into(),
            o.text("/spec/pool/name").into(),
            age_cell(o, now),
        ]
    },
};

const API_SERVICE: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Service", "string", 0),
        ("Available", "string", 0),
        AGE,
    ],
    cells: |o, now| {
        let service = o.at("/spec/service");
        let service = match service.is_null() {
            true => "Local".to_string(),
            false => format!("{}/{}", service.text("/namespace"), service.text("/name")),
        };
        let available = o.condition("Available");
        let status = match available.map(|c| (c.text("/status"), c.text("/reason"))) {
            Some(("True", _)) => "True".to_string(),
            Some((status, reason)) => format!("{status} ({reason})"),
            None => "Unknown".into(),
        };
        vec![
            o.name().into(),
            service.into(),
            status.into(),
            age_cell(o, now),
        ]
    },
};
