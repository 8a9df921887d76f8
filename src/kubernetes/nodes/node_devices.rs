//! The devices of a node for dynamic resource allocation, as the node-pool file has them.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::resource::v1::{Device, DeviceAttribute, DeviceCapacity};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::Deserialize;

use super::node_pools::RawQuantity;
use super::validation::{invalid, is_qualified, is_subdomain};
use kueue_lab_yaml::{Located, Problem};

/// The maximum number of devices of a ResourceSlice.
const MAX_DEVICES: i64 = 128;

/// Identical devices of a driver on each node of a pool.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeDevices {
    /// The name of the driver, a DNS subdomain.
    pub driver: String,
    /// The number of devices on a node.
    pub count: u32,
    /// Attributes of each device.
    pub attributes: BTreeMap<String, DeviceAttribute>,
    /// Capacity of each device.
    pub capacity: BTreeMap<String, DeviceCapacity>,
}

impl NodeDevices {
    /// The devices `device-0`, `device-1` and so on.
    pub(super) fn devices(&self) -> Vec<Device> {
        let device = |index: u32| Device {
            name: format!("device-{index}"),
            attributes: (!self.attributes.is_empty()).then(|| self.attributes.clone()),
            capacity: (!self.capacity.is_empty()).then(|| self.capacity.clone()),
            ..Device::default()
        };
        (0..self.count).map(device).collect()
    }
}

/// Devices as read from the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNodeDevices {
    driver: Located<String>,
    count: Located<i64>,
    #[serde(default)]
    attributes: BTreeMap<String, Located<RawAttribute>>,
    #[serde(default)]
    capacity: BTreeMap<String, Located<RawQuantity>>,
}

/// The value of an attribute.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "an attribute is a boolean, an integer or a string"
)]
enum RawAttribute {
    Bool(bool),
    Int(i64),
    Text(String),
}

/// Checks the devices of a pool.
pub(super) fn node_devices(
    written: Vec<Located<RawNodeDevices>>,
) -> Result<Vec<NodeDevices>, Problem> {
    let mut drivers = BTreeSet::new();
    let mut devices = Vec::with_capacity(written.len());
    for Located { value: raw, .. } in written {
        let driver = raw.driver;
        if !is_subdomain(&driver.value) {
            let message = format!(
                "{:?} is not the name of a driver, such as gpu.example.com",
                driver.value
            );
            return invalid(driver.at, message);
        }
        if !drivers.insert(driver.value.clone()) {
            let message = format!("the driver {:?} is named twice", driver.value);
            return invalid(driver.at, message);
        }
        if !(1..=MAX_DEVICES).contains(&raw.count.value) {
            let message = format!("a driver has 1 to {MAX_DEVICES} devices on a node");
            return invalid(raw.count.at, message);
        }
        let mut attributes = BTreeMap::new();
        for (name, value) in raw.attributes {
            if !is_qualified(&name) {
                return invalid(
                    value.at,
                    format!("{name:?} is not the name of an attribute"),
                );
            }
            attributes.insert(name, attribute(value.value));
        }
        let mut capacity = BTreeMap::new();
        for (name, value) in raw.capacity {
            let text = value.value.0;
            if !is_qualified(&name) || text.parse::<kueue_lab_quantity::Quantity>().is_err() {
                let message = format!("{name}: {text:?} is not a capacity, such as memory: 80Gi");
                return invalid(value.at, message);
            }
            let dimension = DeviceCapacity {
                value: Quantity(text),
                ..DeviceCapacity::default()
            };
            capacity.insert(name, dimension);
        }
        devices.push(NodeDevices {
            driver: driver.value,
            count: u32::try_from(raw.count.value).unwrap_or(1),
            attributes,
            capacity,
        });
    }
    Ok(devices)
}

fn attribute(value: RawAttribute) -> DeviceAttribute {
    let mut attribute = DeviceAttribute::default();
    match value {
        RawAttribute::Bool(value) => attribute.bool = Some(value),
        RawAttribute::Int(value) => attribute.int = Some(value),
        RawAttribute::Text(value) => attribute.string = Some(value),
    }
    attribute
}
