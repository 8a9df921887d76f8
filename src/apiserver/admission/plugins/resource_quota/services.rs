//! Usage of services.

use kueue_lab_quantity::Quantity;
use serde_json::Value;

use super::evaluator::one;
use crate::apimachinery::value_ext::ValueExt;
use crate::kinds::pod::pod_requests::ResourceList;

/// A service and its ports.
pub(crate) fn service(service: &Value) -> ResourceList {
    let mut used = ResourceList::new();
    used.insert("count/services".into(), one());
    used.insert("services".into(), one());
    let ports = i64::try_from(service.list("/spec/ports").len()).unwrap_or(i64::MAX);
    let (mut node_ports, mut balancers) = (0, 0);
    match service.text("/spec/type") {
        "NodePort" => node_ports = ports,
        "LoadBalancer" => {
            balancers = 1;
            if service.at("/spec/allocateLoadBalancerNodePorts") != &Value::Bool(false) {
                node_ports = ports;
            }
        }
        _ => {}
    }
    used.insert(
        "services.nodeports".into(),
        Quantity::from_value(node_ports),
    );
    used.insert(
        "services.loadbalancers".into(),
        Quantity::from_value(balancers),
    );
    used
}
