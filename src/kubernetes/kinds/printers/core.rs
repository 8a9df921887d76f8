//! Printers of the core group except pods, and of Events.

use jiff::Timestamp;
use serde_json::Value;

use super::table_printer::{AGE, NAME};
use super::{DEFAULT, TablePrinter, persistent_volume, service};
use kueue_lab_apimachinery::strategy::table_cells::{
    age_cell, containers, labels, text_or, translate_timestamp_since,
};
use kueue_lab_json::ValueExt;
use kueue_lab_quantity::Quantity;

pub(crate) fn printer_of(kind: &str) -> TablePrinter {
    match kind {
        "Namespace" => NAMESPACE,
        "Node" => NODE,
        "Event" => EVENT,
        "ConfigMap" => CONFIG_MAP,
        "Secret" => SECRET,
        "Service" => service::SERVICE,
        "Endpoints" => service::ENDPOINTS,
        "ServiceAccount" | "LimitRange" => super::table_printer::NAME_AND_AGE,
        "ResourceQuota" => RESOURCE_QUOTA,
        "PersistentVolume" => persistent_volume::PERSISTENT_VOLUME,
        "PersistentVolumeClaim" => persistent_volume::PERSISTENT_VOLUME_CLAIM,
        "ComponentStatus" => COMPONENT_STATUS,
        "PodTemplate" => POD_TEMPLATE,
        "ReplicationController" => super::workload::REPLICATION_CONTROLLER,
        _ => DEFAULT,
    }
}

const NAMESPACE: TablePrinter = TablePrinter {
    columns: &[NAME, ("Status", "string", 0), AGE],
    cells: |o, now| {
        vec![
            o.name().into(),
            o.text("/status/phase").into(),
            age_cell(o, now),
        ]
    },
};

const CONFIG_MAP: TablePrinter = TablePrinter {
    columns: &[NAME, ("Data", "string", 0), AGE],
    cells: |o, now| {
        let keys = o.entries("/data").count() + o.entries("/binaryData").count();
        vec![o.name().into(), keys.into(), age_cell(o, now)]
    },
};

const SECRET: TablePrinter = TablePrinter {
    columns: &[NAME, ("Type", "string", 0), ("Data", "string", 0), AGE],
    cells: |o, now| {
        let keys = o.entries("/data").count();
        vec![
            o.name().into(),
            o.text("/type").into(),
            keys.into(),
            age_cell(o, now),
        ]
    },
};

const COMPONENT_STATUS: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Status", "string", 0),
        ("Message", "string", 0),
        ("Error", "string", 0),
    ],
    cells: |o, _| {
        let healthy = o
            .list("/conditions")
            .iter()
            .find(|c| c.text("/type") == "Healthy");
        let (status, message, error) = match healthy {
            Some(c) if c.text("/status") == "True" => {
                ("Healthy", c.text("/message"), c.text("/error"))
            }
            Some(c) => ("Unhealthy", c.text("/message"), c.text("/error")),
            None => ("Unknown", "", ""),
        };
        vec![o.name().into(), status.into(), message.into(), error.into()]
    },
};

const POD_TEMPLATE: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Containers", "string", 0),
        ("Images", "string", 0),
        ("Pod Labels", "string", 0),
    ],
    cells: |o, _| {
        let [names, images] = containers(o.list("/template/spec/containers"));
        vec![
            o.name().into(),
            names,
            images,
            labels(o.at("/template/metadata/labels")).into(),
        ]
    },
};

const NODE: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Status", "string", 0),
        ("Roles", "string", 0),
        AGE,
        ("Version", "string", 0),
        ("Internal-IP", "string", 1),
        ("External-IP", "string", 1),
        ("OS-Image", "string", 1),
        ("Kernel-Version", "string", 1),
        ("Container-Runtime", "string", 1),
    ],
    cells: node,
};

fn node(o: &Value, now: Timestamp) -> Vec<Value> {
    let ready = o
        .list("/status/conditions")
        .iter()
        .rfind(|c| c.text("/type") == "Ready");
    let mut status = match ready.map(|c| c.text("/status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_string();
    if o.flag("/spec/unschedulable") {
        status.push_str(",SchedulingDisabled");
    }
    let address = |kind: &str| {
        let found = o
            .list("/status/addresses")
            .iter()
            .find(|a| a.text("/type") == kind);
        text_or(
            found.map(|a| a.text("/address")).unwrap_or_default(),
            "<none>",
        )
    };
    let info = |field: &str| text_or(o.text(&format!("/status/nodeInfo/{field}")), "<unknown>");
    vec![
        o.name().into(),
        status.into(),
        text_or(&roles(o).join(","), "<none>").into(),
        age_cell(o, now),
        o.text("/status/nodeInfo/kubeletVersion").into(),
        address("InternalIP").into(),
        address("ExternalIP").into(),
        info("osImage").into(),
        info("kernelVersion").into(),
        info("containerRuntimeVersion").into(),
    ]
}

/// Node roles from the `node-role.kubernetes.io/` and `kubernetes.io/role` labels.
fn roles(node: &Value) -> Vec<&str> {
    let mut roles: Vec<&str> = Vec::new();
    for (key, value) in node.entries("/metadata/labels") {
        let value = value.as_str().unwrap_or_default();
        match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) if !role.is_empty() => roles.push(role),
            None if key == "kubernetes.io/role" && !value.is_empty() => roles.push(value),
            _ => {}
        }
    }
    roles.sort_unstable();
    roles.dedup();
    roles
}

const EVENT: TablePrinter = TablePrinter {
    columns: &[
        ("Last Seen", "string", 0),
        ("Type", "string", 0),
        ("Reason", "string", 0),
        ("Object", "string", 0),
        ("Subobject", "string", 1),
        ("Source", "string", 1),
        ("Message", "string", 0),
        ("First Seen", "string", 1),
        ("Count", "string", 1),
        ("Name", "string", 1),
    ],
    cells: event,
};

/// Cells of an Event of either group: core or `events.k8s.io`.
fn event(o: &Value, now: Timestamp) -> Vec<Value> {
    let either = |core: &'static str, other: &'static str| {
        if o.has(core) { o.at(core) } else { o.at(other) }
    };
    let object = either("/involvedObject", "/regarding");
    let source = either("/source", "/deprecatedSource");
    let first_time = either("/firstTimestamp", "/deprecatedFirstTimestamp");
    let last_time = either("/lastTimestamp", "/deprecatedLastTimestamp");
    let first = if first_time.is_null() {
        o.at("/eventTime")
    } else {
        first_time
    };
    let mut last = if last_time.is_null() {
        first
    } else {
        last_time
    };
    let mut count = either("/count", "/deprecatedCount")
        .as_i64()
        .unwrap_or(0)
        .max(1);
    if o.has("/series") {
        last = o.at("/series/lastObservedTime");
        count = o.int("/series/count");
    }
    let kind = object.text("/kind").to_lowercase();
    let target = match object.text("/name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let first_of = |a: &str, b: &str| text_or(a, b);
    let component = first_of(
        source.text("/component"),
        first_of(
            o.text("/reportingComponent"),
            o.text("/reportingController"),
        )
        .as_str(),
    );
    let instance = first_of(source.text("/host"), o.text("/reportingInstance"));
    let reporter = if instance.is_empty() {
        component
    } else {
        format!("{component}, {instance}")
    };
    let message = first_of(o.text("/message"), o.text("/note"));
    vec![
        translate_timestamp_since(last, now).into(),
        o.text("/type").into(),
        o.text("/reason").into(),
        target.into(),
        object.text("/fieldPath").into(),
        reporter.into(),
        message.trim().into(),
        translate_timestamp_since(first, now).into(),
        count.into(),
        o.name().into(),
    ]
}

const RESOURCE_QUOTA: TablePrinter = TablePrinter {
    columns: &[NAME, ("Request", "string", 0), ("Limit", "string", 0), AGE],
    cells: |o, now| {
        let (mut requests, mut limits) = (Vec::new(), Vec::new());
        for (resource, hard) in o.entries("/status/hard") {
            let used = Quantity::or_zero(o.at("/status/used").get(resource));
            let hard = Quantity::or_zero(Some(hard));
            let of_limits = resource.starts_with("limits.");
            let side = if of_limits {
                &mut limits
            } else {
                &mut requests
            };
            side.push(format!("{resource}: {used}/{hard}"));
        }
        vec![
            o.name().into(),
            requests.join(", ").into(),
            limits.join(", ").into(),
            age_cell(o, now),
        ]
    },
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn now() -> Timestamp {
        "2026-01-01T01:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_node_shows_roles_and_readiness() {
        let o = json!({
            "metadata": {"name": "n", "labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "gpu"}},
            "spec": {"unschedulable": true},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        });
        let cells = node(&o, now());
        assert_eq!(cells[1], "Ready,SchedulingDisabled");
        assert_eq!(cells[2], "gpu,worker");
        assert_eq!(cells[5], "<none>");
    }

    #[test]
    fn an_event_of_either_group_shows_the_same() {
        let core = json!({"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "p"},
            "source": {"component": "c"}, "lastTimestamp": "2026-01-01T00:59:50Z", "firstTimestamp": null,
            "eventTime": "2026-01-01T00:58:00.000000Z", "message": "m ", "count": 3});
        let other = json!({"metadata": {"name": "e"}, "regarding": {"kind": "Pod", "name": "p"},
            "deprecatedSource": {"component": "c"}, "deprecatedLastTimestamp": "2026-01-01T00:59:50Z",
            "eventTime": "2026-01-01T00:58:00.000000Z", "note": "m ", "deprecatedCount": 3});
        let cells = event(&core, now());
        assert_eq!(cells, event(&other, now()));
        let text: Vec<String> = cells
            .iter()
            .map(kueue_lab_apimachinery::strategy::table_cells::scalar)
            .collect();
        assert_eq!(text.join("|"), "10s|||pod/p||c|m|2m|3|e");
    }

    #[test]
    fn quota_and_service() {
        let o = json!({"status": {"hard": {"pods": "10", "limits.cpu": "4", "requests.memory": "1Gi"},
            "used": {"pods": "2", "requests.memory": "512Mi"}}});
        let cells = (RESOURCE_QUOTA.cells)(&o, now());
        assert_eq!(cells[1], "pods: 2/10, requests.memory: 512Mi/1Gi");
        assert_eq!(cells[2], "limits.cpu: 0/4");
        let o = json!({"spec": {"type": "LoadBalancer", "clusterIPs": ["10.0.0.1"],
            "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30080}, {"port": 81, "protocol": "UDP"}]}});
        let cells = (service::SERVICE.cells)(&o, now());
        assert_eq!(
            (&cells[3], &cells[4]),
            (&json!("<pending>"), &json!("80:30080/TCP,81/UDP"))
        );
    }
}
