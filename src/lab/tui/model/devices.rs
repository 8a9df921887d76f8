//! Devices of dynamic resource allocation: ResourceSlices and the allocations of ResourceClaims.

use std::collections::{BTreeMap, HashMap};

use k8s_openapi::api::resource::v1::{ResourceClaim, ResourceSlice};

use super::meta::Meta;
use super::{ClusterData, ObjectKey, Row};
use crate::text::sanitize;

/// A device: driver, pool and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DeviceId {
    pub driver: String,
    pub pool: String,
    pub device: String,
}

/// A ResourceSlice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceSliceRow {
    /// Metadata.
    pub(crate) meta: Meta,
    /// The node of its devices, if it is one.
    pub(crate) node: Option<String>,
    /// Its devices.
    pub(crate) devices: Vec<DeviceId>,
}

impl ResourceSliceRow {
    /// Converts a ResourceSlice.
    pub(crate) fn of(slice: &ResourceSlice) -> Self {
        let (spec, pool) = (&slice.spec, &slice.spec.pool);
        let devices = spec.devices.iter().flatten().map(|device| DeviceId {
            driver: sanitize(&spec.driver),
            pool: sanitize(&pool.name),
            device: sanitize(&device.name),
        });
        Self {
            meta: Meta::of(&slice.metadata),
            node: spec.node_name.as_deref().map(sanitize),
            devices: devices.collect(),
        }
    }
}

impl Row for ResourceSliceRow {
    fn key(&self) -> &ObjectKey {
        &self.meta.key
    }
}

/// A ResourceClaim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceClaimRow {
    /// Metadata.
    pub(crate) meta: Meta,
    /// The allocated devices, without those of admin access.
    pub(crate) devices: Vec<DeviceId>,
    /// The pods that it is reserved for.
    pub(crate) pods: Vec<String>,
}

impl ResourceClaimRow {
    /// Converts a ResourceClaim.
    pub(crate) fn of(claim: &ResourceClaim) -> Self {
        let status = claim.status.as_ref();
        let allocation = status.and_then(|s| s.allocation.as_ref()?.devices.as_ref());
        let results = allocation.and_then(|devices| devices.results.as_ref());
        let results = results.into_iter().flatten();
        let exclusive = results.filter(|result| result.admin_access != Some(true));
        let devices = exclusive.map(|result| DeviceId {
            driver: sanitize(&result.driver),
            pool: sanitize(&result.pool),
            device: sanitize(&result.device),
        });
        let consumers = status.and_then(|s| s.reserved_for.as_ref());
        let consumers = consumers.into_iter().flatten();
        Self {
            meta: Meta::of(&claim.metadata),
            devices: devices.collect(),
            pods: consumers.map(|consumer| sanitize(&consumer.name)).collect(),
        }
    }
}

impl Row for ResourceClaimRow {
    fn key(&self) -> &ObjectKey {
        &self.meta.key
    }
}

/// A device of a node and the claim that it is allocated for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeDevice {
    pub id: DeviceId,
    pub claim: Option<ObjectKey>,
}

/// The devices of each node, by driver, pool and name.
pub(crate) fn devices_by_node(data: &ClusterData) -> BTreeMap<String, Vec<NodeDevice>> {
    let claims = data.resource_claims.iter();
    let users = claims.flat_map(|claim| claim.devices.iter().map(|id| (id, claim.key())));
    let users: HashMap<&DeviceId, &ObjectKey> = users.collect();
    let mut nodes: BTreeMap<String, Vec<NodeDevice>> = BTreeMap::new();
    for slice in data.resource_slices.iter() {
        let Some(node) = &slice.node else { continue };
        let devices = slice.devices.iter().map(|id| NodeDevice {
            id: id.clone(),
            claim: users.get(id).map(|key| (*key).clone()),
        });
        nodes.entry(node.clone()).or_default().extend(devices);
    }
    for devices in nodes.values_mut() {
        devices.sort_by(|a, b| a.id.cmp(&b.id));
    }
    nodes
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;
    use crate::model::{Delta, WatchUpdate};

    fn object<T: DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn devices_of_a_node_have_the_claim_that_uses_them() {
        let device = |index: i32| json!({"name": format!("device-{index}")});
        let slice = json!({
            "metadata": {"name": "n0-gpu.example.com"},
            "spec": {
                "driver": "gpu.example.com", "nodeName": "n0",
                "pool": {"name": "n0", "generation": 1, "resourceSliceCount": 1},
                "devices": [device(1), device(0), device(2)],
            },
        });
        let result = |index: i32, admin: bool| json!({"request": "r", "driver": "gpu.example.com", "pool": "n0", "device": format!("device-{index}"), "adminAccess": admin});
        let claim = json!({
            "metadata": {"namespace": "default", "name": "p-gpu"},
            "spec": {},
            "status": {
                "allocation": {"devices": {"results": [result(1, false), result(2, true)]}},
                "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
            },
        });
        let mut data = ClusterData::default();
        let slice = ResourceSliceRow::of(&object(slice));
        data.apply(WatchUpdate::ResourceSlice(Delta::Updated(Box::new(slice))));
        let claim = ResourceClaimRow::of(&object(claim));
        data.apply(WatchUpdate::ResourceClaim(Delta::Updated(Box::new(claim))));
        let nodes = devices_by_node(&data);
        let devices = &nodes["n0"];
        let shown = devices.iter().map(|device| {
            let claim = device.claim.as_ref();
            let claim = claim.and_then(|key| data.resource_claims.get(key));
            let pods = claim.map(|claim| claim.pods.join(","));
            (&*device.id.device, pods)
        });
        let expected = [
            ("device-0", None),
            ("device-1", Some("p".to_owned())),
            ("device-2", None),
        ];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
        assert_eq!(nodes.len(), 1);
    }
}
