//! The ResourceSlices of the lab's nodes, as the kubelet plugins of DRA drivers publish them.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::resource::v1::{ResourcePool, ResourceSlice, ResourceSliceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use kube::api::{DeleteParams, ObjectMeta, PostParams};

use super::NodeDevices;
use super::virtual_node::MANAGED;
use kueue_lab_controller_runtime::api_errors::is_not_found;
use kueue_lab_controller_runtime::{Api, Change, Context, Informer, WorkQueue};

/// The index of slices by node.
const BY_NODE: &str = "node";

/// The slices of the lab's nodes. Clones share the informer.
#[derive(Clone)]
pub(super) struct ResourceSlices {
    api: Api<ResourceSlice>,
    slices: Informer<ResourceSlice>,
}

impl ResourceSlices {
    /// Starts the informer; a node whose slice is deleted is added to `queue`.
    pub(super) fn start(context: &Context, queue: &WorkQueue<String>) -> Self {
        let api: Api<ResourceSlice> = Api::all(context.client.clone());
        let slices = Informer::builder(api.clone())
            .index(BY_NODE, |slice: &ResourceSlice| {
                slice.spec.node_name.clone().into_iter().collect()
            })
            .start(context);
        let nodes = queue.clone();
        slices.add_event_handler(move |change| {
            if let Change::Deleted(slice) = change
                && is_managed(slice)
            {
                slice
                    .spec
                    .node_name
                    .iter()
                    .for_each(|n| nodes.add(n.clone()));
            }
        });
        Self { api, slices }
    }

    /// Publishes the devices of a node: one slice for each driver.
    pub(super) async fn publish(&self, node: &Node, devices: &[NodeDevices]) -> kube::Result<()> {
        self.slices.wait_for_cache_sync().await;
        let name = node.name_any();
        let published = self.slices.by_index(BY_NODE, &name);
        let published = published.into_iter().filter(|slice| is_managed(slice));
        let mut published: BTreeMap<String, Arc<ResourceSlice>> = published
            .map(|slice| (slice.spec.driver.clone(), slice))
            .collect();
        for devices in devices {
            let Some(old) = published.remove(&devices.driver) else {
                let slice = slice_of(node, devices);
                match self.api.create(&PostParams::default(), &slice).await {
                    Ok(created) => self.slices.observe_write(Arc::new(created)),
                    // Published concurrently, and the watch has not delivered it yet.
                    Err(kube::Error::Api(status)) if status.code == 409 => {}
                    Err(error) => return Err(error),
                }
                continue;
            };
            let wanted = devices.devices();
            if old.spec.devices.as_ref() == Some(&wanted) {
                continue;
            }
            let mut slice = ResourceSlice::clone(&old);
            slice.spec.devices = Some(wanted);
            slice.spec.pool.generation += 1;
            let params = PostParams::default();
            let replaced = self.api.replace(&slice.name_any(), &params, &slice).await?;
            self.slices.observe_write(Arc::new(replaced));
        }
        for slice in published.values() {
            let params = DeleteParams::default();
            match self.api.delete(&slice.name_any(), &params).await {
                Err(error) if !is_not_found(&error) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

fn is_managed(slice: &ResourceSlice) -> bool {
    slice.labels().get(MANAGED).is_some_and(|v| v == "true")
}

/// The slice of a driver on a node; the pool has the name of the node. The node owns it.
fn slice_of(node: &Node, devices: &NodeDevices) -> ResourceSlice {
    let name = node.name_any();
    let owner = OwnerReference {
        api_version: "v1".into(),
        kind: "Node".into(),
        name: name.clone(),
        uid: node.uid().unwrap_or_default(),
        controller: Some(true),
        ..OwnerReference::default()
    };
    ResourceSlice {
        metadata: ObjectMeta {
            name: Some(format!("{name}-{}", devices.driver)),
            labels: Some(BTreeMap::from([(MANAGED.to_owned(), "true".to_owned())])),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        spec: ResourceSliceSpec {
            driver: devices.driver.clone(),
            node_name: Some(name.clone()),
            pool: ResourcePool {
                name,
                generation: 1,
                resource_slice_count: 1,
            },
            devices: Some(devices.devices()),
            ..ResourceSliceSpec::default()
        },
    }
}
