//! Printers of Services and Endpoints.

use jiff::Timestamp;
use serde_json::Value;

use super::TablePrinter;
use super::table_printer::{AGE, NAME};
use kueue_lab_apimachinery::strategy::table_cells::{age_cell, labels, text_or};
use kueue_lab_json::ValueExt;

pub(crate) const SERVICE: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Type", "string", 0),
        ("Cluster-IP", "string", 0),
        ("External-IP", "string", 0),
        ("Port(s)", "string", 0),
        AGE,
        ("Selector", "string", 1),
    ],
    cells: service,
};

fn service(o: &Value, now: Timestamp) -> Vec<Value> {
    let port = |p: &Value| {
        let (port, protocol) = (p.int("/port"), p.text("/protocol"));
        match p.int("/nodePort") {
            0 => format!("{port}/{protocol}"),
            node_port => format!("{port}:{node_port}/{protocol}"),
        }
    };
    let ports: Vec<String> = o.list("/spec/ports").iter().map(port).collect();
    vec![
        o.name().into(),
        o.text("/spec/type").into(),
        text_or(o.text("/spec/clusterIPs/0"), "<none>").into(),
        external_ip(o).into(),
        text_or(&ports.join(","), "<none>").into(),
        age_cell(o, now),
        labels(o.at("/spec/selector")).into(),
    ]
}

fn external_ip(service: &Value) -> String {
    let own = service
        .list("/spec/externalIPs")
        .iter()
        .filter_map(Value::as_str);
    let own = own.collect::<Vec<_>>().join(",");
    match service.text("/spec/type") {
        "ClusterIP" | "NodePort" => text_or(&own, "<none>"),
        "LoadBalancer" => {
            let assigned = load_balancer_status(service.list("/status/loadBalancer/ingress"));
            let both: Vec<&str> = [assigned.as_str(), &own]
                .into_iter()
                .filter(|s| !s.is_empty())
                .collect();
            text_or(&both.join(","), "<pending>")
        }
        "ExternalName" => service.text("/spec/externalName").into(),
        _ => "<unknown>".into(),
    }
}

/// Sorted unique addresses of a load balancer.
pub(crate) fn load_balancer_status(ingress: &[Value]) -> String {
    let point = |i: &Value| text_or(i.text("/ip"), i.text("/hostname"));
    let mut points: Vec<String> = ingress
        .iter()
        .map(point)
        .filter(|p| !p.is_empty())
        .collect();
    points.sort();
    points.dedup();
    points.join(",")
}

pub(crate) const ENDPOINTS: TablePrinter = TablePrinter {
    columns: &[NAME, ("Endpoints", "string", 0), AGE],
    cells: |o, now| {
        vec![
            o.name().into(),
            endpoints(o.list("/subsets")).into(),
            age_cell(o, now),
        ]
    },
};

fn endpoints(subsets: &[Value]) -> String {
    if subsets.is_empty() {
        return "<none>".into();
    }
    let mut all = Vec::new();
    for subset in subsets {
        for port in subset.list("/ports") {
            for address in subset.list("/addresses") {
                let (ip, port) = (address.text("/ip"), port.int("/port"));
                let v6 = ip.contains(':');
                all.push(if v6 {
                    format!("[{ip}]:{port}")
                } else {
                    format!("{ip}:{port}")
                });
            }
        }
    }
    kueue_lab_apimachinery::strategy::table_cells::truncate_list(&all, 3, all.len())
}
