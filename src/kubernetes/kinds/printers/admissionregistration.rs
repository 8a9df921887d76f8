//! Printers of admissionregistration.k8s.io and flowcontrol.apiserver.k8s.io.

use serde_json::Value;

use super::table_printer::{AGE, NAME};
use super::{DEFAULT, TablePrinter};
use kueue_lab_apimachinery::strategy::table_cells::{age_cell, format_label_selector, text_or};
use kueue_lab_json::ValueExt;

pub(crate) fn printer_of(kind: &str) -> TablePrinter {
    match kind {
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => WEBHOOKS,
        "ValidatingAdmissionPolicy" => VALIDATING_POLICY,
        "MutatingAdmissionPolicy" => MUTATING_POLICY,
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => POLICY_BINDING,
        "FlowSchema" => FLOW_SCHEMA,
        "PriorityLevelConfiguration" => PRIORITY_LEVEL,
        _ => DEFAULT,
    }
}

const WEBHOOKS: TablePrinter = TablePrinter {
    columns: &[NAME, ("Webhooks", "integer", 0), AGE],
    cells: |o, now| {
        vec![
            o.name().into(),
            o.list("/webhooks").len().into(),
            age_cell(o, now),
        ]
    },
};

fn param_kind(o: &Value) -> Value {
    let kind = o.at("/spec/paramKind");
    match kind.is_null() {
        true => "<unset>".into(),
        false => format!("{}/{}", kind.text("/apiVersion"), kind.text("/kind")).into(),
    }
}

const VALIDATING_POLICY: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Validations", "integer", 0),
        ("ParamKind", "string", 0),
        AGE,
    ],
    cells: |o, now| {
        let rules = o.list("/spec/validations").len();
        vec![
            o.name().into(),
            rules.into(),
            param_kind(o),
            age_cell(o, now),
        ]
    },
};

const MUTATING_POLICY: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Mutations", "integer", 0),
        ("ParamKind", "string", 0),
        AGE,
    ],
    cells: |o, now| {
        let rules = o.list("/spec/mutations").len();
        vec![
            o.name().into(),
            rules.into(),
            param_kind(o),
            age_cell(o, now),
        ]
    },
};

const POLICY_BINDING: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("PolicyName", "string", 0),
        ("ParamRef", "string", 0),
        AGE,
    ],
    cells: |o, now| {
        let param = o.at("/spec/paramRef");
        let text = match (param.text("/name"), param.text("/namespace")) {
            ("", _) if param.has("/selector") => format_label_selector(param.at("/selector")),
            ("", _) => "<unset>".into(),
            // The scope of the parameter resource is unknown to the printer.
            (name, "") => format!("*/{name}"),
            (name, namespace) => format!("{namespace}/{name}"),
        };
        vec![
            o.name().into(),
            o.text("/spec/policyName").into(),
            text.into(),
            age_cell(o, now),
        ]
    },
};

const FLOW_SCHEMA: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("PriorityLevel", "string", 0),
        ("MatchingPrecedence", "string", 0),
        ("DistinguisherMethod", "string", 0),
        AGE,
        ("MissingPL", "string", 0),
    ],
    cells: |o, now| {
        let dangling = o.condition("Dangling");
        vec![
            o.name().into(),
            o.text("/spec/priorityLevelConfiguration/name").into(),
            o.int("/spec/matchingPrecedence").into(),
            text_or(o.text("/spec/distinguisherMethod/type"), "<none>").into(),
            age_cell(o, now),
            dangling.map_or("?", |c| c.text("/status")).into(),
        ]
    },
};

const PRIORITY_LEVEL: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Type", "string", 0),
        ("NominalConcurrencyShares", "string", 0),
        ("Queues", "string", 0),
        ("HandSize", "string", 0),
        ("QueueLengthLimit", "string", 0),
        AGE,
    ],
    cells: |o, now| {
        let limited = o.at("/spec/limited");
        let number = |pointer: &str| match limited.at(pointer) {
            Value::Null => "<none>".into(),
            n => n.clone(),
        };
        vec![
            o.name().into(),
            o.text("/spec/type").into(),
            number("/nominalConcurrencyShares"),
            number("/limitResponse/queuing/queues"),
            number("/limitResponse/queuing/handSize"),
            number("/limitResponse/queuing/queueLengthLimit"),
            age_cell(o, now),
        ]
    },
};
