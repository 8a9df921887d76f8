//! Imports a cluster.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use kube::Client;
use kueue_lab_api::config::DEFAULT_NAMESPACE;
use kueue_lab_api::v1beta2::GROUP;
use kueue_lab_json::ValueExt;
use serde_json::{Value, json};

use super::apply_order::apply_order;
use super::bundle::Bundle;
use super::capacity_objects::{is_wanted_claim, read_devices, read_provisioning};
use super::change_scope::{ChangeScope, all_job_resources, read_objects_of_change};
use super::cluster_reader::{Access, ClusterReader};
use super::error::ImportError;
use super::imported_object::{
    is_lab_node, is_terminal, keep_running, prepare_node, service_accounts, strip_metadata,
    strip_owners,
};
use super::job_kinds::{job_resource, note_on_kind, resource};
use super::named_objects::ObjectName;
use super::owners::{OwnerKind, owner_kinds, related_jobs};

/// Kinds without which there is no Kueue.
const REQUIRED: [&str; 5] = [
    "ClusterQueue",
    "LocalQueue",
    "ResourceFlavor",
    "Workload",
    "WorkloadPriorityClass",
];
/// Kinds that older versions of Kueue do not serve.
const OPTIONAL: [&str; 6] = [
    "AdmissionCheck",
    "Cohort",
    "Topology",
    "ProvisioningRequestConfig",
    "MultiKueueConfig",
    "MultiKueueCluster",
];
/// Built-in resources.
const BUILT_IN: [(&str, &str, &str, &str); 6] = [
    ("", "v1", "Namespace", "namespaces"),
    ("", "v1", "LimitRange", "limitranges"),
    ("", "v1", "Node", "nodes"),
    ("", "v1", "Pod", "pods"),
    ("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses"),
    (
        "scheduling.k8s.io",
        "v1",
        "PriorityClass",
        "priorityclasses",
    ),
];
/// ConfigMaps: the configuration of Kueue, and the objects that a lab has applied.
const CONFIG_MAPS: [&str; 2] = ["kueue-manager-config", "kueue-lab-presets"];

/// Reads the objects of a cluster that decide about admission, with read-only rights: Kueue's objects and
/// configuration, jobs that own Workloads, Pods, nodes, namespaces, LimitRanges, RuntimeClasses, PriorityClasses,
/// ProvisioningRequests and the kinds of dynamic resource allocation. Secrets are not requested. `now` is the
/// time of the cluster if its API server does not say it; `cluster` is its name in the bundle.
///
/// # Errors
/// [`ImportError`]; all missing rights are named at once.
pub async fn import_cluster(
    client: &Client,
    cluster: &str,
    now: Timestamp,
) -> Result<Bundle, ImportError> {
    import(client, cluster, now, None).await
}

/// Imports a cluster as [`import_cluster`] does, with what the effects of a change also depend on: the objects of
/// other kinds that the change applies or that a lab has applied, and jobs that Kueue does not manage before the
/// change. Missing rights for them are notes.
///
/// # Errors
/// As [`import_cluster`].
pub async fn import_for_change(
    client: &Client,
    cluster: &str,
    now: Timestamp,
    scope: &ChangeScope,
) -> Result<Bundle, ImportError> {
    import(client, cluster, now, Some(scope)).await
}

async fn import(
    client: &Client,
    cluster: &str,
    now: Timestamp,
    scope: Option<&ChangeScope>,
) -> Result<Bundle, ImportError> {
    let mut reader = ClusterReader::new(client.clone());
    let mut notes = Vec::new();
    let kinds = reader
        .kueue_resources(&REQUIRED, &OPTIONAL, &mut notes)
        .await?;
    let mut by_kind: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for kind in kinds {
        let listed = reader.list(&kind).await?;
        by_kind.insert(kind.kind.clone(), listed);
    }
    for (group, version, kind, plural) in BUILT_IN {
        let listed = reader.list(&resource(group, version, kind, plural)).await?;
        by_kind.insert(kind.to_owned(), listed);
    }
    let mut config_maps = Vec::new();
    for name in CONFIG_MAPS {
        let path = format!("/api/v1/namespaces/{DEFAULT_NAMESPACE}/configmaps/{name}");
        let right = format!("get configmaps/{name} in namespace {DEFAULT_NAMESPACE}");
        if let Some(mut map) = reader.get(&path, &right).await? {
            map["apiVersion"] = "v1".into();
            map["kind"] = "ConfigMap".into();
            config_maps.push(map);
        }
    }
    if config_maps
        .first()
        .is_none_or(|map| map.name() != CONFIG_MAPS[0])
    {
        notes.push(format!(
            "there is no ConfigMap {DEFAULT_NAMESPACE}/{}; the lab runs with Kueue's defaults",
            CONFIG_MAPS[0]
        ));
    }
    let mut take = |kind: &str| by_kind.remove(kind).unwrap_or_default();
    let (workloads, mut pods, mut nodes) = (take("Workload"), take("Pod"), take("Node"));
    let jobs = match scope.filter(|scope| scope.needs_all_jobs(&config_maps)) {
        None => read_jobs(&mut reader, &workloads, &pods, &mut notes).await?,
        Some(_) => read_all_jobs(&mut reader, &workloads, &mut notes).await?,
    };
    let checks = by_kind.get("AdmissionCheck").map_or(&[][..], Vec::as_slice);
    let requests = read_provisioning(&mut reader, checks).await?;
    let mut devices = read_devices(&mut reader, &workloads, &pods, &mut notes).await?;
    reader.check_rights()?;

    if by_kind
        .get("MultiKueueCluster")
        .is_some_and(|c| !c.is_empty())
    {
        notes.push(
            "the kubeconfigs of MultiKueueClusters are in Secrets, which are not read: ClusterQueues with a MultiKueue check are inactive in the lab".to_owned(),
        );
    }
    let lab_nodes: BTreeSet<String> = nodes
        .iter()
        .filter(|node| is_lab_node(node))
        .map(|node| node.name().to_owned())
        .collect();
    nodes.iter_mut().for_each(prepare_node);
    let job_uids: BTreeSet<&str> = jobs.iter().map(|job| job.text("/metadata/uid")).collect();
    pods.retain(|pod| is_wanted_pod(pod, &job_uids));
    for pod in &mut pods {
        if !lab_nodes.contains(pod.text("/spec/nodeName")) {
            keep_running(pod);
        }
    }
    let pod_uids: BTreeSet<&str> = pods.iter().map(|pod| pod.text("/metadata/uid")).collect();
    devices.retain(|object| is_wanted_claim(object, &pod_uids));
    let mut objects: Vec<Value> = by_kind.into_values().flatten().collect();
    objects.extend(config_maps);
    objects.extend(jobs);
    objects.extend(requests);
    objects.extend(devices);
    objects.extend(workloads);
    objects.extend(pods);
    objects.extend(nodes);
    if let Some(scope) = scope {
        let has_all_jobs = scope.needs_all_jobs(&objects);
        let is_listed = |name: &ObjectName| is_listed(name, has_all_jobs);
        let of_change =
            read_objects_of_change(&mut reader, scope, &objects, is_listed, &mut notes).await?;
        objects.extend(of_change);
    }
    let time = reader.lists.time().unwrap_or(now);
    Ok(Bundle {
        cluster: cluster.to_owned(),
        time,
        notes,
        objects: prepared(objects),
    })
}

/// Reads the jobs that own Workloads, and those between them and their Pods.
async fn read_jobs(
    reader: &mut ClusterReader,
    workloads: &[Value],
    pods: &[Value],
    notes: &mut Vec<String>,
) -> Result<Vec<Value>, ImportError> {
    let namespaces: BTreeSet<&str> = workloads
        .iter()
        .map(|wl| wl.text("/metadata/namespace"))
        .collect();
    let near = pods
        .iter()
        .filter(|pod| namespaces.contains(pod.text("/metadata/namespace")));
    let of_workloads = owner_kinds(workloads.iter());
    let mut left: BTreeSet<OwnerKind> = owner_kinds(near);
    left.extend(of_workloads.iter().cloned());
    let mut done = BTreeSet::new();
    let mut jobs = Vec::new();
    while let Some(owner) = left.pop_first() {
        if !done.insert(owner.clone()) || !is_job(&owner) {
            continue;
        }
        let is_required = of_workloads.contains(&owner);
        let Some(resource) = job_resource(&owner.0, &owner.1) else {
            if is_required {
                let (group, kind) = &owner;
                notes.push(note_on_kind(group, kind));
            }
            continue;
        };
        let listed = match is_required {
            true => reader.list(&resource).await?,
            false => match reader.try_list(&resource).await? {
                Access::Granted(listed) => listed,
                Access::MissingRight(right) => {
                    notes.push(format!(
                        "without the right to {right}, Pods are imported without their {}",
                        resource.kind
                    ));
                    continue;
                }
            },
        };
        left.extend(owner_kinds(listed.iter()));
        jobs.extend(listed);
    }
    let related = related_jobs(workloads, &jobs);
    jobs.retain(|job| related.contains(job.text("/metadata/uid")));
    Ok(jobs)
}

/// Whether all objects of a kind are read.
fn is_listed(name: &ObjectName, has_all_jobs: bool) -> bool {
    let mut built_in = BUILT_IN.iter();
    match name.group() {
        GROUP | "resource.k8s.io" => true,
        group => {
            built_in.any(|(g, _, kind, _)| (*g, *kind) == (group, name.kind.as_str()))
                || (has_all_jobs && job_resource(group, &name.kind).is_some())
        }
    }
}

/// Whether owners of a kind are jobs to import: Pods are imported anyway, and so are the parents of the variants
/// of concurrent admission.
fn is_job(owner: &OwnerKind) -> bool {
    let (group, kind) = owner;
    !matches!(
        (group.as_str(), kind.as_str()),
        ("", "Pod") | (GROUP, "Workload")
    )
}

/// Reads all jobs, also without Workloads, and the owners between them and their Pods. Missing rights for kinds
/// without Workloads are notes.
async fn read_all_jobs(
    reader: &mut ClusterReader,
    workloads: &[Value],
    notes: &mut Vec<String>,
) -> Result<Vec<Value>, ImportError> {
    let of_workloads = owner_kinds(workloads.iter());
    for (group, kind) in of_workloads.iter().filter(|owner| is_job(owner)) {
        if job_resource(group, kind).is_none() {
            notes.push(note_on_kind(group, kind));
        }
    }
    let mut jobs = Vec::new();
    let mut denied = Vec::new();
    for resource in all_job_resources() {
        let owner = (resource.group.clone(), resource.kind.clone());
        if of_workloads.contains(&owner) {
            jobs.extend(reader.list(&resource).await?);
            continue;
        }
        match reader.try_list(&resource).await? {
            Access::Granted(listed) => jobs.extend(listed),
            Access::MissingRight(right) => denied.push(right),
        }
    }
    if !denied.is_empty() {
        notes.push(format!(
            "without the right to {} the effects on these jobs are not known",
            denied.join(", ")
        ));
    }
    Ok(jobs)
}

/// Whether a Pod is imported: Pods that use nodes, and all of imported jobs; not those of Kueue's own
/// Deployment, which the lab creates itself.
pub(super) fn is_wanted_pod(pod: &Value, jobs: &BTreeSet<&str>) -> bool {
    let is_manager = pod.text("/metadata/namespace") == DEFAULT_NAMESPACE
        && pod.label("control-plane") == Some("controller-manager");
    let owners = pod.list("/metadata/ownerReferences").iter();
    let mut owners = owners.map(|owner| owner.text("/uid"));
    !is_manager && (!is_terminal(pod) || owners.any(|uid| jobs.contains(uid)))
}

/// The objects as a lab loads them, with the ServiceAccounts that they name, in the order of the file.
pub(super) fn prepared(mut objects: Vec<Value>) -> Vec<Value> {
    let uids: BTreeSet<String> = objects
        .iter()
        .map(|o| o.text("/metadata/uid").to_owned())
        .collect();
    let mut accounts: BTreeSet<(String, String)> = BTreeSet::new();
    for object in &mut objects {
        strip_metadata(object);
        strip_owners(object, &uids);
        let mut names = BTreeSet::new();
        if object.text("/kind") != "Workload" {
            service_accounts(object, &mut names);
        }
        let namespace = object.text("/metadata/namespace");
        accounts.extend(names.into_iter().map(|name| (namespace.to_owned(), name)));
    }
    // Those that are imported themselves.
    for object in objects
        .iter()
        .filter(|o| o.text("/kind") == "ServiceAccount")
    {
        let namespace = object.text("/metadata/namespace").to_owned();
        accounts.remove(&(namespace, object.name().to_owned()));
    }
    let accounts = accounts.into_iter().map(|(namespace, name)| {
        json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": namespace},
        })
    });
    objects.extend(accounts);
    objects.sort_by_cached_key(apply_order);
    objects
}
