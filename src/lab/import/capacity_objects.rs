//! Objects that provide capacity for Workloads: ProvisioningRequests, and devices with their claims.

use std::collections::BTreeSet;

use kueue_lab_api::constants as c;
use kueue_lab_api::provisioning_request;
use kueue_lab_json::ValueExt;
use serde_json::Value;

use super::cluster_reader::{Access, ClusterReader};
use super::error::ImportError;
use super::job_kinds::resource;

/// The kinds of dynamic resource allocation and their resources.
const DEVICES: [(&str, &str); 4] = [
    ("DeviceClass", "deviceclasses"),
    ("ResourceSlice", "resourceslices"),
    ("ResourceClaimTemplate", "resourceclaimtemplates"),
    ("ResourceClaim", "resourceclaims"),
];

/// Reads the requests of Kueue's provisioning checks, if there are such checks, with the PodTemplates that they
/// name. Without them a check would make new ones.
pub(super) async fn read_provisioning(
    reader: &mut ClusterReader,
    checks: &[Value],
) -> Result<Vec<Value>, ImportError> {
    let mut controllers = checks
        .iter()
        .map(|check| check.text("/spec/controllerName"));
    if !controllers.any(|name| name == c::PROVISIONING_REQUEST_CONTROLLER) {
        return Ok(Vec::new());
    }
    let (group, kind) = (provisioning_request::GROUP, "ProvisioningRequest");
    let requests = resource(group, "v1", kind, "provisioningrequests");
    let mut requests = reader.list(&requests).await?;
    let templates = resource("", "v1", "PodTemplate", "podtemplates");
    let mut templates = reader.list(&templates).await?;
    let wanted: BTreeSet<(String, String)> = requests
        .iter()
        .flat_map(|request| {
            let namespace = request.text("/metadata/namespace");
            let sets = request.list("/spec/podSets").iter();
            sets.map(|set| {
                (
                    namespace.to_owned(),
                    set.text("/podTemplateRef/name").to_owned(),
                )
            })
        })
        .collect();
    templates.retain(|template| {
        let namespace = template.text("/metadata/namespace");
        wanted.contains(&(namespace.to_owned(), template.name().to_owned()))
    });
    requests.append(&mut templates);
    Ok(requests)
}

/// Reads devices, their classes and claims. The rights are required if Workloads or Pods have claims.
pub(super) async fn read_devices(
    reader: &mut ClusterReader,
    workloads: &[Value],
    pods: &[Value],
    notes: &mut Vec<String>,
) -> Result<Vec<Value>, ImportError> {
    let has_claims = |pod: &Value| !pod.list("/spec/resourceClaims").is_empty();
    let has_templates = |workload: &Value| {
        let mut sets = workload.list("/spec/podSets").iter();
        sets.any(|set| has_claims(set.at("/template")))
    };
    let is_used = pods.iter().any(has_claims) || workloads.iter().any(has_templates);
    let mut objects = Vec::new();
    let mut denied = Vec::new();
    for (kind, plural) in DEVICES {
        let resource = resource("resource.k8s.io", "v1", kind, plural);
        match is_used {
            true => objects.extend(reader.list(&resource).await?),
            false => match reader.try_list(&resource).await? {
                Access::Granted(listed) => objects.extend(listed),
                Access::MissingRight(right) => denied.push(right),
            },
        }
    }
    if !denied.is_empty() {
        notes.push(format!(
            "without the right to {} the lab has no devices: jobs with ResourceClaims are not admitted",
            denied.join(", ")
        ));
    }
    Ok(objects)
}

/// Whether an object is imported that may be a ResourceClaim: not one of a Pod that is left out.
pub(super) fn is_wanted_claim(object: &Value, pods: &BTreeSet<&str>) -> bool {
    let owners = object.list("/metadata/ownerReferences").iter();
    let mut of_pods = owners
        .filter(|owner| owner.text("/kind") == "Pod")
        .peekable();
    of_pods.peek().is_none() || of_pods.any(|owner| pods.contains(owner.text("/uid")))
}
