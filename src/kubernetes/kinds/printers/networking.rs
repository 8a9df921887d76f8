//! Printers of networking.k8s.io and discovery.k8s.io.

use serde_json::Value;

use super::service::load_balancer_status;
use super::table_printer::{AGE, NAME};
use super::{DEFAULT, TablePrinter};
use kueue_lab_apimachinery::strategy::table_cells::{
    age_cell, scalar, selector_cell, text_or, truncate_list,
};
use kueue_lab_json::ValueExt;

pub(crate) fn printer_of(kind: &str) -> TablePrinter {
    match kind {
        "Ingress" => INGRESS,
        "IngressClass" => INGRESS_CLASS,
        "NetworkPolicy" => NETWORK_POLICY,
        "IPAddress" => IP_ADDRESS,
        "ServiceCIDR" => SERVICE_CIDR,
        "EndpointSlice" => ENDPOINT_SLICE,
        _ => DEFAULT,
    }
}

const INGRESS: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Class", "string", 0),
        ("Hosts", "string", 0),
        ("Address", "string", 0),
        ("Ports", "string", 0),
        AGE,
    ],
    cells: |o, now| {
        let rules = o.list("/spec/rules");
        let hosts = rules.iter().map(|r| r.text("/host").to_string());
        let hosts: Vec<String> = hosts.filter(|h| !h.is_empty()).take(3).collect();
        let ports = if o.list("/spec/tls").is_empty() {
            "80"
        } else {
            "80, 443"
        };
        // The number of omitted rules is shown only after three hosts.
        let rules = if hosts.len() < 3 {
            hosts.len()
        } else {
            rules.len()
        };
        vec![
            o.name().into(),
            text_or(o.text("/spec/ingressClassName"), "<none>").into(),
            text_or(&truncate_list(&hosts, 3, rules), "*").into(),
            load_balancer_status(o.list("/status/loadBalancer/ingress")).into(),
            ports.into(),
            age_cell(o, now),
        ]
    },
};

const INGRESS_CLASS: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Controller", "string", 0),
        ("Parameters", "string", 0),
        AGE,
    ],
    cells: |o, now| {
        let parameters = o.at("/spec/parameters");
        let text = match (parameters.is_null(), parameters.text("/apiGroup")) {
            (true, _) => "<none>".to_string(),
            (false, "") => format!("{}/{}", parameters.text("/kind"), parameters.text("/name")),
            (false, group) => {
                format!(
                    "{}.{group}/{}",
                    parameters.text("/kind"),
                    parameters.text("/name")
                )
            }
        };
        vec![
            o.name().into(),
            o.text("/spec/controller").into(),
            text.into(),
            age_cell(o, now),
        ]
    },
};

const NETWORK_POLICY: TablePrinter = TablePrinter {
    columns: &[NAME, ("Pod-Selector", "string", 0), AGE],
    cells: |o, now| {
        vec![
            o.name().into(),
            selector_cell(o.at("/spec/podSelector")).into(),
            age_cell(o, now),
        ]
    },
};

const IP_ADDRESS: TablePrinter = TablePrinter {
    columns: &[NAME, ("ParentRef", "string", 0), AGE],
    cells: |o, now| {
        let parent = o.at("/spec/parentRef");
        let mut text = parent.text("/resource").to_lowercase();
        if !parent.text("/group").is_empty() {
            text = format!("{text}.{}", parent.text("/group"));
        }
        for part in [parent.text("/namespace"), parent.text("/name")] {
            if !part.is_empty() {
                text = format!("{text}/{part}");
            }
        }
        vec![
            o.name().into(),
            text_or(&text, "<none>").into(),
            age_cell(o, now),
        ]
    },
};

const SERVICE_CIDR: TablePrinter = TablePrinter {
    columns: &[NAME, ("CIDRs", "string", 0), AGE],
    cells: |o, now| {
        let cidrs = o
            .list("/spec/cidrs")
            .iter()
            .map(scalar)
            .collect::<Vec<_>>()
            .join(",");
        vec![o.name().into(), cidrs.into(), age_cell(o, now)]
    },
};

const ENDPOINT_SLICE: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("AddressType", "string", 0),
        ("Ports", "string", 0),
        ("Endpoints", "string", 0),
        AGE,
    ],
    cells: |o, now| {
        let port = |p: &Value| match p.at("/port") {
            Value::Null => text_or(p.text("/name"), "*"),
            port => scalar(port),
        };
        let ports: Vec<String> = o.list("/ports").iter().map(port).collect();
        let endpoints = o.list("/endpoints").iter();
        let addresses: Vec<String> = endpoints
            .flat_map(|e| e.list("/addresses"))
            .map(scalar)
            .collect();
        let shown = |list: &[String]| text_or(&truncate_list(list, 3, list.len()), "<unset>");
        vec![
            o.name().into(),
            o.text("/addressType").into(),
            shown(&ports).into(),
            shown(&addresses).into(),
            age_cell(o, now),
        ]
    },
};

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_cut_after_three() {
        let rules = |n: usize| {
            (0..n)
                .map(|i| json!({"host": format!("h{i}")}))
                .collect::<Vec<_>>()
        };
        let hosts = |n| {
            let o = json!({"spec": {"rules": rules(n)}});
            (INGRESS.cells)(&o, Timestamp::UNIX_EPOCH)[2].clone()
        };
        assert_eq!(hosts(0), "*");
        assert_eq!(hosts(3), "h0,h1,h2");
        assert_eq!(hosts(5), "h0,h1,h2 + 2 more...");
        let o = json!({"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": [{"port": 80}, {}]});
        let cells = (ENDPOINT_SLICE.cells)(&o, Timestamp::UNIX_EPOCH);
        assert_eq!((&cells[2], &cells[3]), (&json!("80,*"), &json!("10.0.0.1")));
    }
}
