//! Printers of apps, policy, autoscaling and ReplicationControllers.

use jiff::Timestamp;
use serde_json::Value;

use super::table_printer::{AGE, NAME};
use super::{DEFAULT, TablePrinter};
use kueue_lab_apimachinery::strategy::table_cells::{
    age_cell, containers, format_label_selector, labels, scalar, selector_cell, text_or,
};
use kueue_lab_json::ValueExt;
use kueue_lab_quantity::Quantity;

pub(crate) fn printer_of(kind: &str) -> TablePrinter {
    match kind {
        "Deployment" => DEPLOYMENT,
        "ReplicaSet" => REPLICA_SET,
        "StatefulSet" => STATEFUL_SET,
        "DaemonSet" => DAEMON_SET,
        "ControllerRevision" => CONTROLLER_REVISION,
        "PodDisruptionBudget" => POD_DISRUPTION_BUDGET,
        "HorizontalPodAutoscaler" => HORIZONTAL_POD_AUTOSCALER,
        _ => DEFAULT,
    }
}

pub(crate) const CONTAINERS: (&str, &str, i32) = ("Containers", "string", 1);
pub(crate) const IMAGES: (&str, &str, i32) = ("Images", "string", 1);
pub(crate) const SELECTOR: (&str, &str, i32) = ("Selector", "string", 1);
const TEMPLATE: &str = "/spec/template/spec/containers";

/// Appends the cells of [`CONTAINERS`], [`IMAGES`] and [`SELECTOR`].
pub(crate) fn with_containers_and_selector(
    mut cells: Vec<Value>,
    template_containers: &[Value],
    selector: String,
) -> Vec<Value> {
    cells.extend(containers(template_containers));
    cells.push(selector.into());
    cells
}

const DEPLOYMENT: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Ready", "string", 0),
        ("Up-to-date", "string", 0),
        ("Available", "string", 0),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    cells: |o, now| {
        let cells = vec![
            o.name().into(),
            ready(o, "/status/readyReplicas", "/spec/replicas"),
            o.int("/status/updatedReplicas").into(),
            o.int("/status/availableReplicas").into(),
            age_cell(o, now),
        ];
        with_containers_and_selector(
            cells,
            o.list(TEMPLATE),
            format_label_selector(o.at("/spec/selector")),
        )
    },
};

fn ready(o: &Value, ready: &str, desired: &str) -> Value {
    format!("{}/{}", o.int(ready), o.int(desired)).into()
}

const REPLICA_COLUMNS: &[(&str, &str, i32)] = &[
    NAME,
    ("Desired", "integer", 0),
    ("Current", "integer", 0),
    ("Ready", "integer", 0),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

fn replicas(o: &Value, now: Timestamp, selector: String) -> Vec<Value> {
    let cells = vec![
        o.name().into(),
        o.int("/spec/replicas").into(),
        o.int("/status/replicas").into(),
        o.int("/status/readyReplicas").into(),
        age_cell(o, now),
    ];
    with_containers_and_selector(cells, o.list(TEMPLATE), selector)
}

const REPLICA_SET: TablePrinter = TablePrinter {
    columns: REPLICA_COLUMNS,
    cells: |o, now| replicas(o, now, selector_cell(o.at("/spec/selector"))),
};

pub(crate) const REPLICATION_CONTROLLER: TablePrinter = TablePrinter {
    columns: REPLICA_COLUMNS,
    cells: |o, now| replicas(o, now, labels(o.at("/spec/selector"))),
};

const STATEFUL_SET: TablePrinter = TablePrinter {
    columns: &[NAME, ("Ready", "string", 0), AGE, CONTAINERS, IMAGES],
    cells: |o, now| {
        let [names, images] = containers(o.list(TEMPLATE));
        let ready = ready(o, "/status/readyReplicas", "/spec/replicas");
        vec![o.name().into(), ready, age_cell(o, now), names, images]
    },
};

const DAEMON_SET: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Desired", "integer", 0),
        ("Current", "integer", 0),
        ("Ready", "integer", 0),
        ("Up-to-date", "integer", 0),
        ("Available", "integer", 0),
        ("Node Selector", "string", 0),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    cells: |o, now| {
        let cells = vec![
            o.name().into(),
            o.int("/status/desiredNumberScheduled").into(),
            o.int("/status/currentNumberScheduled").into(),
            o.int("/status/numberReady").into(),
            o.int("/status/updatedNumberScheduled").into(),
            o.int("/status/numberAvailable").into(),
            labels(o.at("/spec/template/spec/nodeSelector")).into(),
            age_cell(o, now),
        ];
        with_containers_and_selector(
            cells,
            o.list(TEMPLATE),
            selector_cell(o.at("/spec/selector")),
        )
    },
};

const CONTROLLER_REVISION: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Controller", "string", 0),
        ("Revision", "string", 0),
        AGE,
    ],
    cells: |o, now| {
        let owner = o
            .list("/metadata/ownerReferences")
            .iter()
            .find(|r| r.flag("/controller"));
        let owner = match owner {
            Some(owner) => {
                let kind = owner.text("/kind").to_lowercase();
                let kind = match owner.text("/apiVersion").split_once('/') {
                    Some((group, _)) => format!("{kind}.{group}"),
                    None => kind,
                };
                format!("{kind}/{}", owner.text("/name"))
            }
            None => "<none>".into(),
        };
        vec![
            o.name().into(),
            owner.into(),
            o.int("/revision").into(),
            age_cell(o, now),
        ]
    },
};

const POD_DISRUPTION_BUDGET: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Min Available", "string", 0),
        ("Max Unavailable", "string", 0),
        ("Allowed Disruptions", "integer", 0),
        AGE,
    ],
    cells: |o, now| {
        vec![
            o.name().into(),
            text_or(&scalar(o.at("/spec/minAvailable")), "N/A").into(),
            text_or(&scalar(o.at("/spec/maxUnavailable")), "N/A").into(),
            o.int("/status/disruptionsAllowed").into(),
            age_cell(o, now),
        ]
    },
};

const HORIZONTAL_POD_AUTOSCALER: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Reference", "string", 0),
        ("Targets", "string", 0),
        ("MinPods", "string", 0),
        ("MaxPods", "string", 0),
        ("Replicas", "string", 0),
        AGE,
    ],
    cells: |o, now| {
        let target = o.at("/spec/scaleTargetRef");
        vec![
            o.name().into(),
            format!("{}/{}", target.text("/kind"), target.text("/name")).into(),
            metrics(o).into(),
            text_or(&scalar(o.at("/spec/minReplicas")), "<unset>").into(),
            o.int("/spec/maxReplicas").into(),
            o.int("/status/currentReplicas").into(),
            age_cell(o, now),
        ]
    },
};

/// Formats current and target values of an autoscaler's metrics, in `v2` or `v1` form.
fn metrics(o: &Value) -> String {
    if let Some(wanted) = o.at("/spec/targetCPUUtilizationPercentage").as_i64() {
        let now = o.at("/status/currentCPUUtilizationPercentage");
        let now = now.as_i64().map_or("<unknown>".into(), |n| format!("{n}%"));
        return format!("cpu: {now}/{wanted}%");
    }
    let specs = o.list("/spec/metrics");
    if specs.is_empty() {
        return "<none>".into();
    }
    let statuses = o.list("/status/currentMetrics");
    let texts = specs
        .iter()
        .enumerate()
        .map(|(i, spec)| metric(spec, statuses.get(i)));
    let texts: Vec<String> = texts.collect();
    let shown = texts
        .iter()
        .take(2)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    match texts.len() {
        0..=2 => shown,
        all => format!("{shown} + {} more...", all - 2),
    }
}

fn metric(spec: &Value, status: Option<&Value>) -> String {
    let (field, named) = match spec.text("/type") {
        "External" => ("external", false),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".into(),
    };
    let spec = spec.at(&format!("/{field}"));
    let empty = Value::Null;
    let current = status
        .unwrap_or(&empty)
        .at(&format!("/{field}/current"))
        .clone();
    let quantity = |v: &Value| Quantity::of(v).map(|q| q.to_string());
    let unknown = || "<unknown>".to_string();
    if named {
        let name = spec.text("/name");
        if let Some(wanted) = quantity(spec.at("/target/averageValue")) {
            let now = quantity(current.at("/averageValue")).unwrap_or_else(unknown);
            return format!("{name}: {now}/{wanted}");
        }
        let percent = |v: &Value| v.as_i64().map(|n| format!("{n}%"));
        let now = percent(current.at("/averageUtilization")).unwrap_or_else(unknown);
        let wanted = percent(spec.at("/target/averageUtilization"));
        return format!(
            "{name}: {now}/{}",
            wanted.unwrap_or_else(|| "<auto>".into())
        );
    }
    if let Some(wanted) = quantity(spec.at("/target/averageValue")) {
        let now = quantity(current.at("/averageValue")).unwrap_or_else(unknown);
        let note = if field == "pods" { "" } else { " (avg)" };
        return format!("{now}/{wanted}{note}");
    }
    let now = quantity(current.at("/value")).unwrap_or_else(unknown);
    format!(
        "{now}/{}",
        Quantity::or_zero(Some(spec.at("/target/value")))
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_read_as_parameters() {
        let s = json!({"matchLabels": {"b": "2"}, "matchExpressions": [
            {"key": "a", "operator": "In", "values": ["y", "x"]}, {"key": "c", "operator": "DoesNotExist"}]});
        assert_eq!(format_label_selector(&s), "a in (x,y),b=2,!c");
        assert_eq!(selector_cell(&json!({})), "<none>");
    }

    #[test]
    fn autoscaler_metrics() {
        let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}});
        let ext = json!({"type": "External", "external": {"target": {"averageValue": "10"}}});
        let o = json!({"spec": {"metrics": [cpu.clone(), ext, cpu]},
            "status": {"currentMetrics": [{"resource": {"current": {"averageUtilization": 7}}}]}});
        assert_eq!(metrics(&o), "cpu: 7%/50%, <unknown>/10 (avg) + 1 more...");
    }

    #[test]
    fn a_revision_names_its_controller() {
        let o = json!({"metadata": {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "controller": true}]}});
        let cells = (CONTROLLER_REVISION.cells)(&o, Timestamp::UNIX_EPOCH);
        assert_eq!(cells[1], "statefulset.apps/s");
    }
}
