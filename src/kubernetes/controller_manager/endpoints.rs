//! The `Endpoints` object of a Service, as the endpoints controller writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{
    EndpointAddress, EndpointPort as OldPort, EndpointSubset, Endpoints, Pod, Service,
};
use kube::ResourceExt;
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kueue_lab_controller_runtime::Api;

use super::endpoint_slices::{EndpointSliceController, address, ports, target};
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_controller_runtime::api_errors::is_not_found;
use kueue_lab_controller_utils::pods;

/// Maximum number of addresses in an `Endpoints` object.
const ADDRESSES: usize = 1000;

fn subsets(service: &Service, endpoint_pods: &[Arc<Pod>]) -> Option<Vec<EndpointSubset>> {
    let always = service
        .spec
        .as_ref()
        .and_then(|s| s.publish_not_ready_addresses)
        == Some(true);
    let mut by_ports: BTreeMap<Vec<i32>, (Vec<OldPort>, EndpointSubset)> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for pod in endpoint_pods.iter().take(ADDRESSES) {
        if pods::is_deleting(pod) && !always || !seen.insert(address(pod)) {
            continue;
        }
        let ports: Vec<OldPort> = ports(service, pod)
            .into_iter()
            .map(|p| OldPort {
                name: p.name.filter(|n| !n.is_empty()),
                port: p.port.unwrap_or(0),
                protocol: p.protocol,
                app_protocol: p.app_protocol,
            })
            .collect();
        let numbers = ports.iter().map(|p| p.port).collect();
        let (_, subset) = by_ports
            .entry(numbers)
            .or_insert_with(|| (ports.clone(), EndpointSubset::default()));
        let entry = EndpointAddress {
            ip: address(pod).unwrap_or_default().to_string(),
            node_name: pod.spec.as_ref().and_then(|s| s.node_name.clone()),
            target_ref: Some(target(pod)),
            hostname: None,
        };
        let list = if always || pods::is_ready(pod) {
            &mut subset.addresses
        } else {
            &mut subset.not_ready_addresses
        };
        list.get_or_insert_default().push(entry);
    }
    let subsets = by_ports
        .into_values()
        .map(|(ports, subset)| EndpointSubset {
            ports: Some(ports).filter(|p| !p.is_empty()),
            ..subset
        });
    Some(subsets.collect::<Vec<_>>()).filter(|s| !s.is_empty())
}

impl EndpointSliceController {
    /// Deletes the Endpoints of a deleted Service. Slices are garbage collected with their owner.
    pub(super) async fn delete_endpoints(&self, key: &ObjectKey) -> Result<(), kube::Error> {
        if self.endpoints.get(key).is_none() {
            return Ok(());
        }
        let api: Api<Endpoints> = Api::namespaced(self.client.clone(), &key.namespace);
        match api.delete(&key.name, &DeleteParams::default()).await {
            Err(error) if !is_not_found(&error) => Err(error),
            _ => Ok(()),
        }
    }

    pub(super) async fn sync_endpoints(
        &self,
        key: &ObjectKey,
        service: &Service,
        endpoint_pods: &[Arc<Pod>],
    ) -> Result<(), kube::Error> {
        let subsets = subsets(service, endpoint_pods);
        let api: Api<Endpoints> = Api::namespaced(self.client.clone(), &key.namespace);
        let written = match self.endpoints.get(key) {
            Some(present) if present.subsets == subsets => return Ok(()),
            Some(present) => {
                let next = Endpoints {
                    metadata: present.metadata.clone(),
                    subsets,
                };
                api.replace(&key.name, &PostParams::default(), &next)
                    .await?
            }
            None => {
                let mut labels = service.labels().clone();
                let manager = "endpoint-controller".to_string();
                labels.insert("endpoints.kubernetes.io/managed-by".to_string(), manager);
                let metadata = ObjectMeta {
                    name: Some(key.name.clone()),
                    namespace: Some(key.namespace.clone()),
                    labels: Some(labels),
                    ..ObjectMeta::default()
                };
                api.create(&PostParams::default(), &Endpoints { metadata, subsets })
                    .await?
            }
        };
        self.endpoints.observe_write(Arc::new(written));
        Ok(())
    }
}
