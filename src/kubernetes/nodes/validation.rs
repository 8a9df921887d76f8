//! Validates node pools: names, quantities, bounds.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ContainerImage, Taint};

use super::node_devices::node_devices;
use super::node_pools::{
    Autoscale, Effect, NodePool, RawAutoscale, RawImage, RawNodePool, RawTaint,
};
use kueue_lab_component_helpers::resource_amounts::{CPU, MEMORY, PODS};
use kueue_lab_field::name_validation::{
    dns1123_label, dns1123_subdomain, label_value, qualified_name,
};
use kueue_lab_quantity::{Format, Quantity};
use kueue_lab_yaml::{Located, Position, Problem};

/// Maximum number of nodes per pool.
const POOL_NODES: i64 = 5_000;
/// Maximum number of nodes in all pools.
const ALL_NODES: u64 = 10_000;
/// Default number of pods per node, as a kubelet's.
const USUAL_PODS: i64 = 110;
/// Default time from a scale-up until the nodes exist.
const SCALE_UP_DELAY: Duration = Duration::from_secs(30);
/// Default time without pods until an added node is removed, as the cluster autoscaler's.
const SCALE_DOWN_UNNEEDED_TIME: Duration = Duration::from_secs(600);
/// Maximum size of a provider ID, in bytes.
const MAX_PROVIDER_ID: usize = 512;
/// Maximum number of images per node, as a kubelet reports them (`nodeStatusMaxImages`).
const MAX_IMAGES: usize = 50;
/// Maximum number of names of an image, as a kubelet reports them.
const MAX_IMAGE_NAMES: usize = 5;
/// Maximum size of the name of an image, in bytes.
const MAX_IMAGE_NAME: usize = 512;
/// Less memory than this indicates a wrong unit.
const LEAST_MEMORY: i64 = 1 << 20;

/// Validates a pool.
pub(super) fn pool(written: RawNodePool) -> Result<NodePool, Problem> {
    let name = written.name;
    if !is_label(&name.value) || name.value.len() > 50 {
        return invalid(
            name.at,
            format!(
                "{:?} is not a pool name: lower-case letters, digits and '-', starting and ending with a letter or digit, at most 50",
                name.value
            ),
        );
    }
    let names = self::names(written.names)?;
    let count = self::count(written.count, names.len(), name.at)?;
    let mut resources = BTreeMap::new();
    for (resource, amount) in written.resources.value {
        let quantity = self::amount(&resource, &amount)?;
        resources.insert(resource, quantity);
    }
    for needed in [CPU, MEMORY] {
        if !resources.contains_key(needed) {
            let message = format!("every node needs {needed}, such as {needed}: 64Gi");
            let message = message.replace("cpu: 64Gi", "cpu: 16");
            return invalid(written.resources.at, message);
        }
    }
    resources
        .entry(PODS.into())
        .or_insert_with(|| Quantity::from_value(USUAL_PODS));
    let labels = self::labels(written.labels)?;
    let taints = written.taints.into_iter().map(taint);
    let zones = written.zones.into_iter().map(|zone| {
        if is_label_value(&zone.value) && !zone.value.is_empty() {
            Ok(zone.value)
        } else {
            invalid(zone.at, format!("{:?} is not a zone name", zone.value))
        }
    });
    let topology = written.topology.into_iter().map(|level| {
        if !is_qualified(&level.value.label) {
            return invalid(
                level.at,
                format!("{:?} is not a label key", level.value.label),
            );
        }
        if level.value.nodes_per_domain == 0 {
            return invalid(level.at, "a domain has at least one node");
        }
        Ok(level.value)
    });
    let autoscale = match written.autoscale {
        None => None,
        Some(autoscale) => Some(self::autoscale(autoscale, count)?),
    };
    Ok(NodePool {
        name: name.value,
        count: u32::try_from(count).unwrap_or(0),
        names,
        resources,
        labels,
        taints: taints.collect::<Result<_, _>>()?,
        zones: zones.collect::<Result<_, _>>()?,
        topology: topology.collect::<Result<_, _>>()?,
        provider_id: written.provider_id.map(provider_id).transpose()?,
        address: written.address.map(address).transpose()?,
        images: self::images(written.images)?,
        devices: node_devices(written.devices)?,
        autoscale,
    })
}

/// Validates the names of nodes.
fn names(written: Vec<Located<String>>) -> Result<Vec<String>, Problem> {
    let mut names = Vec::with_capacity(written.len());
    for name in written {
        if !is_node_name(&name.value) {
            let message = format!(
                "{:?} is not a node name: lower-case letters, digits, '-' and '.', starting and ending with a letter or digit, at most 63",
                name.value
            );
            return invalid(name.at, message);
        }
        if names.contains(&name.value) {
            return invalid(name.at, format!("node {:?} is listed twice", name.value));
        }
        names.push(name.value);
    }
    Ok(names)
}

/// Validates the number of nodes of a pool with so many names.
fn count(written: Option<Located<i64>>, names: usize, at: Position) -> Result<i64, Problem> {
    let named = i64::try_from(names).unwrap_or(i64::MAX);
    let count = match &written {
        Some(count) => count.value,
        None if names > 0 => named,
        None => return invalid(at, "a pool needs count, or the names of its nodes"),
    };
    let at = written.map_or(at, |count| count.at);
    if !(0..=POOL_NODES).contains(&count) {
        let message = format!("{count} is not a number of nodes; a pool has 0 to {POOL_NODES}");
        return invalid(at, message);
    }
    if count < named {
        return invalid(
            at,
            format!("count ({count}) is less than the number of names ({named})"),
        );
    }
    Ok(count)
}

/// Validates a provider ID.
fn provider_id(written: Located<String>) -> Result<String, Problem> {
    let id = written.value;
    if id.is_empty() || id.len() > MAX_PROVIDER_ID || id.chars().any(|c| c.is_control() || c == ' ')
    {
        let message = format!(
            "{id:?} is not a provider ID such as kind://docker/kind/$(NODE_NAME), at most {MAX_PROVIDER_ID} bytes"
        );
        return invalid(written.at, message);
    }
    Ok(id)
}

/// Validates the address of nodes.
fn address(written: Located<String>) -> Result<IpAddr, Problem> {
    let address = written.value.parse::<IpAddr>().ok();
    match address.filter(IpAddr::is_loopback) {
        Some(address) => Ok(address),
        None => {
            let message = format!(
                "{:?} is not a loopback address such as 127.0.0.1",
                written.value
            );
            invalid(written.at, message)
        }
    }
}

/// Validates the images of nodes.
fn images(written: Vec<Located<RawImage>>) -> Result<Vec<ContainerImage>, Problem> {
    if let Some(image) = written.get(MAX_IMAGES) {
        return invalid(image.at, format!("a node has at most {MAX_IMAGES} images"));
    }
    let images = written.into_iter().map(|image| {
        let RawImage { names, size_bytes } = image.value;
        let right = |name: &String| (1..=MAX_IMAGE_NAME).contains(&name.len());
        if names.is_empty() || names.len() > MAX_IMAGE_NAMES || !names.iter().all(right) {
            let message = format!(
                "an image has 1 to {MAX_IMAGE_NAMES} names, of 1 to {MAX_IMAGE_NAME} bytes"
            );
            return invalid(image.at, message);
        }
        if size_bytes.is_some_and(|size| size < 0) {
            return invalid(image.at, "sizeBytes is negative");
        }
        Ok(ContainerImage {
            names: Some(names),
            size_bytes,
        })
    });
    images.collect()
}

/// Validates that no two nodes have the same name.
pub(super) fn node_names(pools: &[NodePool], at: Position) -> Result<(), Problem> {
    if pools.iter().all(|pool| pool.names.is_empty()) {
        // The names of pools are different, and those of their nodes too.
        return Ok(());
    }
    let mut known = BTreeSet::new();
    for pool in pools {
        let size = pool.autoscale.map_or(pool.count, |a| a.max.max(pool.count));
        for name in (0..size).map(|index| pool.node_name(index)) {
            if known.contains(&name) {
                return invalid(at, format!("there are two nodes {name:?}"));
            }
            known.insert(name);
        }
    }
    Ok(())
}

/// Validates the settings of the autoscaler for a pool of `count` nodes.
fn autoscale(written: Located<RawAutoscale>, count: i64) -> Result<Autoscale, Problem> {
    let max = i64::from(written.value.max);
    if max < count || max > POOL_NODES {
        let message = format!("max must be between count ({count}) and {POOL_NODES}");
        return invalid(written.at, message);
    }
    let duration = |text: Option<Located<String>>, default| match text {
        None => Ok(default),
        Some(text) => match text.value.parse::<kueue_lab_duration::Duration>() {
            Ok(duration) if !duration.is_negative() => Ok(duration.to_std()),
            _ => invalid(
                text.at,
                format!("{:?} is not a duration such as 30s or 2m", text.value),
            ),
        },
    };
    Ok(Autoscale {
        max: written.value.max,
        delay: duration(written.value.delay, SCALE_UP_DELAY)?,
        scale_down_unneeded_time: duration(
            written.value.scale_down_unneeded_time,
            SCALE_DOWN_UNNEEDED_TIME,
        )?,
    })
}

/// Validates the total number of nodes.
pub(super) fn total(pools: &[NodePool], at: Position) -> Result<(), Problem> {
    let all: u64 = pools
        .iter()
        .map(|p| u64::from(p.autoscale.map_or(p.count, |a| a.max.max(p.count))))
        .sum();
    if all > ALL_NODES {
        return invalid(
            at,
            format!("{all} nodes are too many; all pools together have at most {ALL_NODES}"),
        );
    }
    Ok(())
}

/// Validates labels.
pub(super) fn labels(
    written: BTreeMap<String, Located<String>>,
) -> Result<BTreeMap<String, String>, Problem> {
    let mut labels = BTreeMap::new();
    for (key, value) in written {
        if !is_qualified(&key) {
            return invalid(value.at, format!("{key:?} is not a label key"));
        }
        if !is_label_value(&value.value) {
            return invalid(
                value.at,
                format!(
                    "{:?} is not a label value: at most 63 letters, digits, '-', '_' and '.'",
                    value.value
                ),
            );
        }
        labels.insert(key, value.value);
    }
    Ok(labels)
}

/// Validates a quantity.
pub(super) fn amount(
    resource: &str,
    written: &Located<super::node_pools::RawQuantity>,
) -> Result<Quantity, Problem> {
    let text = &written.value.0;
    let at = written.at;
    let known = matches!(resource, CPU | MEMORY | PODS | "ephemeral-storage")
        || resource.starts_with("hugepages-");
    let named = resource.contains('/') && is_qualified(resource);
    if !known && !named {
        return invalid(
            at,
            format!(
                "{resource:?} is not a resource: cpu, memory, ephemeral-storage, pods, or a name with a domain such as nvidia.com/gpu"
            ),
        );
    }
    let Ok(quantity) = Quantity::parse(text) else {
        return invalid(
            at,
            format!(
                "{text:?} is not an amount of {resource}; quantities look like 8, 500m or 64Gi (Gi with a capital G and a small i)"
            ),
        );
    };
    if quantity.is_negative() {
        return invalid(at, format!("{text} of {resource} is negative"));
    }
    let binary = quantity.format() == Format::BinarySi;
    match resource {
        CPU if binary => invalid(
            at,
            format!("{text} is not an amount of cpu; write 16 or 500m"),
        ),
        MEMORY if quantity.value() < LEAST_MEMORY => invalid(
            at,
            format!("{text} of memory is {text} bytes; was {text}Gi meant?"),
        ),
        CPU | MEMORY | "ephemeral-storage" => Ok(quantity),
        _ if !quantity.is_integer() || (binary && !resource.starts_with("hugepages-")) => {
            invalid(at, format!("{resource} is an integer; {text} is not"))
        }
        _ => Ok(quantity),
    }
}

/// Validates a taint.
pub(super) fn taint(written: Located<RawTaint>) -> Result<Taint, Problem> {
    let (at, taint) = (written.at, written.value);
    if !is_qualified(&taint.key) {
        return invalid(at, format!("{:?} is not a taint key", taint.key));
    }
    if let Some(value) = &taint.value
        && !is_label_value(value)
    {
        return invalid(at, format!("{value:?} is not a taint value"));
    }
    let effect = match taint.effect {
        Effect::NoSchedule => "NoSchedule",
        Effect::PreferNoSchedule => "PreferNoSchedule",
        Effect::NoExecute => "NoExecute",
    };
    Ok(Taint {
        key: taint.key,
        value: taint.value,
        effect: effect.into(),
        time_added: None,
    })
}

/// An error at a position.
pub(super) fn invalid<T>(at: Position, message: impl Into<String>) -> Result<T, Problem> {
    Err(Problem::new(at, message))
}

/// A DNS label: RFC 1123.
fn is_label(text: &str) -> bool {
    dns1123_label(text).is_empty()
}

/// A DNS subdomain: RFC 1123.
pub(super) fn is_subdomain(text: &str) -> bool {
    dns1123_subdomain(text).is_empty()
}

/// The name of a node: a DNS subdomain that is also a label value.
fn is_node_name(text: &str) -> bool {
    is_subdomain(text) && is_label_value(text)
}

/// A valid label value, possibly empty.
fn is_label_value(text: &str) -> bool {
    label_value(text).is_empty()
}

/// A qualified name, with an optional DNS prefix.
pub(super) fn is_qualified(text: &str) -> bool {
    qualified_name(text).is_empty()
}

#[cfg(test)]
mod tests {
    use crate::NodePools;

    fn refusal(text: &str) -> String {
        NodePools::parse(text).unwrap_err().to_string()
    }

    const OK: &str = "resources: {cpu: 4, memory: 8Gi";

    #[test]
    fn built_in_pools_are_valid() {
        let pools = NodePools::parse(include_str!("../../../lab/nodes.yaml")).unwrap();
        assert!(!pools.pools.is_empty());
        assert_eq!(pools, NodePools::built_in());
    }

    #[test]
    fn a_list_is_the_pools_of_a_mapping() {
        let list = format!("- name: a\n  count: 2\n  {OK}, nvidia.com/gpu: 8}}\n");
        let mapping = format!("pools:\n- name: a\n  count: 2\n  {OK}, nvidia.com/gpu: 8}}\n");
        let pools = NodePools::parse(&list).unwrap();
        assert_eq!(pools, NodePools::parse(&mapping).unwrap());
        assert_eq!(pools.pools[0].resources["nvidia.com/gpu"].value(), 8);
        assert_eq!(pools.pools[0].resources["pods"].value(), 110);
    }

    #[test]
    fn errors_give_the_position_and_a_remedy() {
        for (text, expected) in [
            (
                format!("- name: a\n  count: 2\n  {OK}}}\n  lables: {{}}\n"),
                r#"4:3: unknown field "lables"; did you mean "labels"?"#,
            ),
            (
                "- name: a\n  count: 2\n  resources: {cpu: 4, memory: 64GB}\n".into(),
                r#"3:31: "64GB" is not an amount of memory; quantities look like 8, 500m or 64Gi (Gi with a capital G and a small i)"#,
            ),
            (
                "- name: a\n  count: 2\n  resources: {cpu: 4, memory: 64}\n".into(),
                "3:31: 64 of memory is 64 bytes; was 64Gi meant?",
            ),
            (
                "- name: a\n  count: 2\n  resources: {cpu: -4, memory: 64Gi}\n".into(),
                "3:20: -4 of cpu is negative",
            ),
            (
                format!("- name: a\n  count: 2\n  {OK}, nvidia.com/gpu: 1500m}}\n"),
                "3:52: nvidia.com/gpu is an integer; 1500m is not",
            ),
            (
                format!("- name: a\n  count: -1\n  {OK}}}\n"),
                "2:10: -1 is not a number of nodes; a pool has 0 to 5000",
            ),
            (
                format!("- name: a\n  count: 1\n  {OK}}}\n- name: a\n  count: 1\n  {OK}}}\n"),
                r#"4:9: pool "a" is already defined; choose another name"#,
            ),
            (
                format!("- name: a\n  count: 100000\n  {OK}}}\n"),
                "2:10: 100000 is not a number of nodes; a pool has 0 to 5000",
            ),
            (
                "- name: a\n  count: 2\n  resources: {cpu: 4}\n".into(),
                "3:14: every node needs memory, such as memory: 64Gi",
            ),
            (
                format!(
                    "- name: a\n  count: 2\n  {OK}}}\n  taints: [{{key: spot, effect: NoSchedul}}]\n"
                ),
                r#"4:32: unknown value "NoSchedul"; did you mean "NoSchedule"?"#,
            ),
            (
                "realNodes:\n- name: w\n  selector: {}\n  resources: {nvidia.com/gpu: 8Gi}\n"
                    .into(),
                "4:31: nvidia.com/gpu is an integer; 8Gi is not",
            ),
            (
                "realNodes:\n- name: w\n  selector: {}\n  resources: {cpu: 8}\n".into(),
                "4:20: cpu of a real node cannot be faked; only resources with a domain, such as nvidia.com/gpu, can",
            ),
            (
                "realNodes:\n- name: w\n  selector: {}\n  labels: {kueue-lab.dev/pool: a}\n".into(),
                "4:32: labels with kueue-lab.dev/ are reserved",
            ),
            (
                "nodes: []\n".into(),
                r#"1:1: unknown field "nodes"; known are "pools", "realNodes""#,
            ),
            ("{}\n".into(), "1:1: there are neither pools nor realNodes"),
            (
                format!("- name: a\n  {OK}}}\n"),
                "1:9: a pool needs count, or the names of its nodes",
            ),
            (
                format!("- name: a\n  names: [w, W]\n  {OK}}}\n"),
                r#"2:14: "W" is not a node name: lower-case letters, digits, '-' and '.', starting and ending with a letter or digit, at most 63"#,
            ),
            (
                format!("- name: a\n  names: [w, w]\n  {OK}}}\n"),
                r#"2:14: node "w" is listed twice"#,
            ),
            (
                format!("- name: a\n  count: 1\n  names: [v, w]\n  {OK}}}\n"),
                "2:10: count (1) is less than the number of names (2)",
            ),
            (
                format!("- name: a\n  count: 2\n  {OK}}}\n- name: b\n  names: [a-1]\n  {OK}}}\n"),
                r#"1:1: there are two nodes "a-1""#,
            ),
            (
                format!("- name: a\n  names: [w]\n  address: 10.0.0.1\n  {OK}}}\n"),
                r#"3:12: "10.0.0.1" is not a loopback address such as 127.0.0.1"#,
            ),
            (
                format!("- name: a\n  names: [w]\n  providerID: ''\n  {OK}}}\n"),
                r#"3:15: "" is not a provider ID such as kind://docker/kind/$(NODE_NAME), at most 512 bytes"#,
            ),
            (
                format!("- name: a\n  names: [w]\n  images: [{{names: []}}]\n  {OK}}}\n"),
                "3:12: an image has 1 to 5 names, of 1 to 512 bytes",
            ),
        ] {
            assert_eq!(refusal(&text), expected);
        }
    }
}
