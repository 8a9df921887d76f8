//! Allocates cluster IPs and node ports of services; requested ones must be free.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::PluginContext;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_field::FieldError;
use kueue_lab_json::{ValueExt, ValueMutExt};
use kueue_lab_kinds::service::patch_allocated_values;

/// The service CIDR: its first address and its size.
const SERVICE_CIDR: (Ipv4Addr, u32) = (Ipv4Addr::new(10, 96, 0, 0), 1 << 20);
const NETWORK_TEXT: &str = "10.96.0.0/12";
/// The static band: the first addresses, not used for dynamic allocation.
const STATIC_BAND: u32 = 256;
const NODE_PORT_RANGE: std::ops::RangeInclusive<i64> = 30000..=32767;

/// Cluster IPs and node ports of the other services, read when they are first needed.
struct Allocations<'a> {
    write: &'a PluginContext<'a>,
    taken: OnceCell<TakenAllocations>,
}

/// The IPv4 addresses, and the node ports by protocol.
#[derive(Default)]
struct TakenAllocations {
    addresses: HashSet<Ipv4Addr>,
    ports: BTreeMap<String, HashSet<i64>>,
}

impl<'a> Allocations<'a> {
    fn of(write: &'a PluginContext<'a>) -> Self {
        Self {
            write,
            taken: OnceCell::new(),
        }
    }

    fn taken(&self) -> &TakenAllocations {
        self.taken.get_or_init(|| {
            let own = self.write.request;
            let mut taken = TakenAllocations::default();
            for service in self.write.reader.service_allocations() {
                if service.name == own.name && service.namespace == own.namespace {
                    continue;
                }
                let addresses = service.addresses.iter();
                taken
                    .addresses
                    .extend(addresses.filter_map(|address| address.parse::<Ipv4Addr>().ok()));
                for (protocol, port) in &service.ports {
                    let ports = taken.ports.entry(protocol.clone()).or_default();
                    ports.insert(*port);
                }
            }
            taken
        })
    }

    fn has_address(&self, address: Ipv4Addr) -> bool {
        self.taken().addresses.contains(&address)
    }

    fn has_port(&self, protocol: &str, port: i64) -> bool {
        let ports = self.taken().ports.get(protocol);
        ports.is_some_and(|ports| ports.contains(&port))
    }

    fn free_address(&self) -> Option<Ipv4Addr> {
        let (first, count) = (u32::from(SERVICE_CIDR.0), SERVICE_CIDR.1);
        let size = count - STATIC_BAND - 1;
        let start = random_number(self.write, size);
        (0..size)
            .map(|i| Ipv4Addr::from(first + STATIC_BAND + (start + i) % size))
            .find(|address| !self.has_address(*address))
    }

    /// A free port that is not one of `own`, the node ports of this service by protocol.
    fn free_port(&self, protocol: &str, own: &NodePorts) -> Option<i64> {
        let size = u32::try_from(NODE_PORT_RANGE.end() - NODE_PORT_RANGE.start() + 1).unwrap_or(1);
        let start = random_number(self.write, size);
        let own = own.get(protocol);
        (0..size)
            .map(|i| NODE_PORT_RANGE.start() + i64::from((start + i) % size))
            .find(|port| {
                !self.has_port(protocol, *port) && !own.is_some_and(|own| own.contains(port))
            })
    }
}

/// Node ports by protocol.
type NodePorts = HashMap<String, HashSet<i64>>;

/// A random number in `0..size`.
fn random_number(write: &PluginContext<'_>, size: u32) -> u32 {
    let drawn = (write.entropy.unit() * f64::from(size)) as u32;
    drawn.min(size - 1)
}

/// Allocates the addresses and ports that the service type requires, and releases others.
pub(crate) fn allocate(write: &PluginContext<'_>, service: &mut Value) -> Result<(), ApiError> {
    let old = write.request.old_object;
    if let Some(old) = old {
        drop_type_dependent_fields(service, old);
    }
    patch_allocated_values(service, old);
    let kind = service.text("/spec/type").to_string();
    if !service.at("/spec").is_object() || kind == "ExternalName" {
        return Ok(());
    }
    init_ip_family_fields(service);
    let taken = Allocations::of(write);
    let mut errors = Vec::new();
    address(write, &taken, service, &mut errors)?;
    let wants_ports = kind == "NodePort"
        || kind == "LoadBalancer"
            && service.at("/spec/allocateLoadBalancerNodePorts") != &json!(false);
    node_ports(write, &taken, service, wants_ports, &mut errors)?;
    if kind == "LoadBalancer"
        && service.text("/spec/externalTrafficPolicy") == "Local"
        && service.int("/spec/healthCheckNodePort") == 0
        && let Some(port) = taken.free_port("TCP", &NodePorts::new())
    {
        service["spec"]["healthCheckNodePort"] = port.into();
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid("", "Service", service.name(), &errors))
}

/// Whether the write allocates addresses or ports.
pub(crate) fn allocates(write: &PluginContext<'_>) -> bool {
    write.is_write_of("", "services")
}

/// Checks that the addresses and ports of this service were not allocated to another one in the
/// meantime.
pub(super) fn check_allocations(
    write: &PluginContext<'_>,
    service: &Value,
) -> Result<(), ApiError> {
    allocate(write, &mut service.clone())
}

/// Clears fields the new service type does not support, where the update did not change them.
fn drop_type_dependent_fields(service: &mut Value, old: &Value) {
    let needs_address = |s: &Value| s.text("/spec/type") != "ExternalName";
    let needs_ports = |s: &Value| matches!(s.text("/spec/type"), "NodePort" | "LoadBalancer");
    if needs_address(old) && !needs_address(service) {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if service.at("/spec").get(field) == old.at("/spec").get(field) {
                service.object_mut("spec").remove_key(field);
            }
        }
    }
    if needs_ports(old) && !needs_ports(service) {
        let numbers = |s: &Value| -> Vec<i64> {
            let ports = s.list("/spec/ports").iter();
            ports.map(|p| p.int("/nodePort")).collect()
        };
        if numbers(service) == numbers(old) {
            for port in service.object_mut("spec").items_mut("ports") {
                port.remove_key("nodePort");
            }
        }
    }
}

/// Sets the IP family fields: single-stack IPv4; headless services without selector are dual-stack.
fn init_ip_family_fields(service: &mut Value) {
    let headless = service.text("/spec/clusterIP") == "None";
    let without_selector = headless && service.entries("/spec/selector").next().is_none();
    let spec = service.object_mut("spec");
    spec.set_default(
        "ipFamilyPolicy",
        if without_selector {
            "RequireDualStack"
        } else {
            "SingleStack"
        },
    );
    let both = without_selector && spec.text("/ipFamilyPolicy") != "SingleStack";
    if spec.list("/ipFamilies").is_empty() {
        spec.set_or_remove("ipFamilies", Some(json!(["IPv4"])));
    }
    if both && spec.list("/ipFamilies").len() == 1 {
        let other = if spec.text("/ipFamilies/0") == "IPv4" {
            "IPv6"
        } else {
            "IPv4"
        };
        let first = spec.text("/ipFamilies/0").to_string();
        spec["ipFamilies"] = json!([first, other]);
    }
}

fn address(
    write: &PluginContext<'_>,
    taken: &Allocations<'_>,
    service: &mut Value,
    errors: &mut Vec<FieldError>,
) -> Result<(), ApiError> {
    let own = service.text("/spec/clusterIP").to_string();
    let before = write.request.old_object.map(|o| o.text("/spec/clusterIP"));
    if own.is_empty() {
        let free = taken
            .free_address()
            .ok_or_else(|| range_full_error("serviceIP"))?
            .to_string();
        let spec = service.object_mut("spec");
        spec["clusterIPs"] = json!([free]);
        spec["clusterIP"] = free.into();
        return Ok(());
    }
    if own == "None" || before == Some(&own) {
        return Ok(());
    }
    let reason = match own.parse::<Ipv4Addr>() {
        Err(_) => return Ok(()),
        Ok(ip) if u32::from(ip).wrapping_sub(u32::from(SERVICE_CIDR.0)) >= SERVICE_CIDR.1 => {
            format!(
                "the provided IP ({own}) is not in the valid range. The range of valid IPs is {NETWORK_TEXT}"
            )
        }
        Ok(ip) if taken.has_address(ip) => "provided IP is already allocated".to_string(),
        Ok(_) => return Ok(()),
    };
    errors.push(FieldError::invalid(
        "spec.clusterIPs",
        service.at("/spec/clusterIPs").clone(),
        format!("failed to allocate IP {own}: {reason}"),
    ));
    Ok(())
}

/// The error for an exhausted range.
fn range_full_error(resource: &str) -> ApiError {
    ApiError::internal(format!("failed to allocate a {resource}: range is full"))
}

fn node_ports(
    write: &PluginContext<'_>,
    taken: &Allocations<'_>,
    service: &mut Value,
    wants: bool,
    errors: &mut Vec<FieldError>,
) -> Result<(), ApiError> {
    let before: BTreeSet<i64> = write
        .request
        .old_object
        .map(|o| {
            o.list("/spec/ports")
                .iter()
                .map(|p| p.int("/nodePort"))
                .collect()
        })
        .unwrap_or_default();
    // Ports with the same number but different protocols share a node port.
    let mut shared: HashMap<i64, Vec<(String, i64)>> = HashMap::new();
    // Node ports of this service, by protocol.
    let ports = service.list("/spec/ports").iter();
    let mut given = NodePorts::new();
    for (protocol, own) in ports.map(|p| (p.text("/protocol"), p.int("/nodePort"))) {
        if own != 0 {
            given.entry(protocol.to_owned()).or_default().insert(own);
        }
    }
    for (i, port) in service
        .object_mut("spec")
        .items_mut("ports")
        .iter_mut()
        .enumerate()
    {
        let protocol = port.text("/protocol").to_string();
        let (number, own) = (port.int("/port"), port.int("/nodePort"));
        if own != 0 {
            let shared = shared.entry(number).or_default();
            shared.push((protocol.clone(), own));
            if before.contains(&own) {
                continue;
            }
            let path = format!("spec.ports[{i}].nodePort");
            if !NODE_PORT_RANGE.contains(&own) {
                errors.push(FieldError::invalid(path, own, format!(
                    "provided port is not in the valid range. The range of valid ports is {}-{}",
                    NODE_PORT_RANGE.start(),
                    NODE_PORT_RANGE.end()
                )));
            } else if taken.has_port(&protocol, own) {
                errors.push(FieldError::invalid(
                    path,
                    own,
                    "provided port is already allocated",
                ));
            }
            continue;
        }
        if !wants {
            continue;
        }
        let shared = shared.entry(number).or_default();
        let own = given.entry(protocol.clone()).or_default();
        let sibling = shared.iter().find(|(other, n)| {
            *other != protocol && !taken.has_port(&protocol, *n) && !own.contains(n)
        });
        let free = match sibling {
            Some((_, n)) => Some(*n),
            None => taken.free_port(&protocol, &given),
        };
        let free = free.ok_or_else(|| range_full_error("nodePort"))?;
        port["nodePort"] = free.into();
        given.entry(protocol.clone()).or_default().insert(free);
        shared.push((protocol, free));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::plugins::fake::{Objects, request, with};
    use crate::plugins::{AdmissionRequest, Operation};

    fn service(spec: Value) -> Value {
        json!({"metadata": {"name": "x", "namespace": "n"}, "spec": spec})
    }

    fn other() -> Objects {
        let mut other = service(
            json!({"clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7"],
            "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30001}]}),
        );
        other["metadata"]["name"] = "other".into();
        Objects(vec![("", "services", other)])
    }

    fn allocated(old: Option<&Value>, spec: Value) -> Result<Value, String> {
        let mut service = service(spec);
        let operation = if old.is_some() {
            Operation::Update
        } else {
            Operation::Create
        };
        let request = AdmissionRequest {
            old_object: old,
            ..request("", "services", operation)
        };
        with(&other(), &request, |w| allocate(w, &mut service)).map_err(|e| e.message)?;
        Ok(service)
    }

    #[test]
    fn addresses() {
        let plain = allocated(None, json!({"type": "ClusterIP"})).expect("allocated");
        let given: Ipv4Addr = plain.text("/spec/clusterIP").parse().expect("an address");
        assert!(given > Ipv4Addr::new(10, 96, 0, 255));
        assert_eq!(plain["spec"]["clusterIPs"], json!([given.to_string()]));
        assert_eq!(plain["spec"]["ipFamilies"], json!(["IPv4"]));
        let taken = allocated(None, json!({"type": "ClusterIP", "clusterIP": "10.96.0.7"}));
        assert_eq!(
            taken.expect_err("rejected"),
            r#"Service "x" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.7"]: failed to allocate IP 10.96.0.7: provided IP is already allocated"#
        );
        let without_selector = allocated(None, json!({"type": "ClusterIP", "clusterIP": "None"}));
        assert_eq!(
            without_selector.expect("allocated")["spec"]["ipFamilyPolicy"],
            "RequireDualStack"
        );
        let name = allocated(None, json!({"type": "ExternalName"})).expect("allocated");
        assert!(!name.has("/spec/clusterIP"));
    }

    #[test]
    fn ports() {
        let ports = json!([{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]);
        let both = allocated(None, json!({"type": "NodePort", "ports": ports})).expect("allocated");
        let number = both.int("/spec/ports/0/nodePort");
        assert!(NODE_PORT_RANGE.contains(&number));
        assert_eq!(both.int("/spec/ports/1/nodePort"), number);
        let own = |n: i64| {
            let ports = json!([{"port": 1, "protocol": "TCP", "nodePort": n}]);
            allocated(None, json!({"type": "NodePort", "ports": ports})).expect_err("rejected")
        };
        assert!(own(30001).ends_with("Invalid value: 30001: provided port is already allocated"));
        assert!(own(80).ends_with("The range of valid ports is 30000-32767"));
    }

    #[test]
    fn each_port_of_a_protocol_gets_a_node_port_of_its_own() {
        let ports: Vec<Value> = (1..=200)
            .map(|port| json!({"port": port, "protocol": "TCP"}))
            .collect();
        let spec = json!({"type": "NodePort", "ports": ports});
        let service = allocated(None, spec).expect("allocated");
        let ports = service.list("/spec/ports").iter();
        let numbers: BTreeSet<i64> = ports.map(|port| port.int("/nodePort")).collect();
        assert_eq!(numbers.len(), 200);
        assert!(!numbers.contains(&30001), "the port of the other service");
    }

    #[test]
    fn updates_keep_and_release() {
        let ports = json!([{"port": 53, "protocol": "TCP"}]);
        let old = allocated(None, json!({"type": "NodePort", "ports": ports})).expect("allocated");
        let same =
            allocated(Some(&old), json!({"type": "NodePort", "ports": ports})).expect("kept");
        assert_eq!(same["spec"], old["spec"]);
        let mut spec = old["spec"].clone();
        spec["type"] = "ClusterIP".into();
        let plain = allocated(Some(&old), spec.clone()).expect("released");
        assert!(!plain.has("/spec/ports/0/nodePort"));
        spec["type"] = "ExternalName".into();
        let name = allocated(Some(&old), spec).expect("released");
        assert!(!name.has("/spec/clusterIP") && !name.has("/spec/clusterIPs"));
    }
}
