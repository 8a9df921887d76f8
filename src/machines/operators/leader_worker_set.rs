//! LeaderWorkerSet: a StatefulSet of leaders, and one of workers for each leader pod.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::child_objects::{self, count, has_containers, label};
use super::conditions::is_true;
use super::observed::Observed;
use super::plan::{ChildReference, Plan, controller_reference};
use crate::event_recorder::NewEvent;
use crate::workload_controllers::pods::{is_deleting, is_ready};

/// Label: the LeaderWorkerSet of a pod or StatefulSet.
pub(super) const NAME_LABEL: &str = "leaderworkerset.sigs.k8s.io/name";
const GROUP_INDEX: &str = "leaderworkerset.sigs.k8s.io/group-index";
const GROUP_KEY: &str = "leaderworkerset.sigs.k8s.io/group-key";
const WORKER_INDEX: &str = "leaderworkerset.sigs.k8s.io/worker-index";
const REVISION: &str = "leaderworkerset.sigs.k8s.io/template-revision-hash";
const SIZE: &str = "leaderworkerset.sigs.k8s.io/size";
const LEADER_NAME: &str = "leaderworkerset.sigs.k8s.io/leader-name";
const REPLICAS: &str = "leaderworkerset.sigs.k8s.io/replicas";

/// Reconciles a LeaderWorkerSet.
pub(super) fn reconcile(set: &Observed<'_>) -> Plan {
    let template = &set.spec()["leaderWorkerTemplate"];
    let leader = leader_template(template);
    if !has_containers(leader) || !has_containers(&template["workerTemplate"]) {
        return Plan::not_simulated("leaderTemplate and workerTemplate need a container");
    }
    let mut plan = Plan::default();
    plan_leaders(set, &mut plan);
    let size = count(&template["size"], 1);
    let leaders: Vec<&Arc<Pod>> = leaders(set).collect();
    for leader in &leaders {
        plan_group(set, leader, size, &mut plan);
    }
    plan.status = Some(status(set, &leaders, size, &mut plan.events));
    plan
}

fn leader_template(template: &Value) -> &Value {
    match template["leaderTemplate"].is_object() {
        true => &template["leaderTemplate"],
        false => &template["workerTemplate"],
    }
}

/// Hash of the templates.
fn revision(set: &Observed<'_>) -> String {
    hash(&set.spec()["leaderWorkerTemplate"].to_string())
}

fn hash(text: &str) -> String {
    Sha256::digest(text)
        .iter()
        .take(5)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The leader pods.
fn leaders<'a>(set: &'a Observed<'_>) -> impl Iterator<Item = &'a Arc<Pod>> {
    set.pods
        .iter()
        .filter(|pod| label(pod, WORKER_INDEX) == Some("0"))
}

/// The ordinal at the end of a name.
fn ordinal(name: &str) -> usize {
    name.rsplit('-')
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

fn plan_leaders(set: &Observed<'_>, plan: &mut Plan) {
    let (spec, name, revision) = (set.spec(), set.name(), revision(set));
    let replicas = count(&spec["replicas"], 1);
    let size = count(&spec["leaderWorkerTemplate"]["size"], 1).to_string();
    let identity = [(NAME_LABEL, name.as_str()), (REVISION, revision.as_str())];
    let mut template = leader_template(&spec["leaderWorkerTemplate"]).clone();
    child_objects::set_labels(&mut template, &identity);
    child_objects::set_labels(&mut template, &[(WORKER_INDEX, "0")]);
    child_objects::set_annotations(&mut template, &[(SIZE, &size)]);
    let environment = [
        ("LWS_GROUP_SIZE", size.clone()),
        ("LWS_WORKER_INDEX", "0".to_owned()),
    ];
    child_objects::add_env(&mut template["spec"], &environment);
    let replicas_text = replicas.to_string();
    match set.child("StatefulSet", &name) {
        None => {
            let mut own = json!({
                "apiVersion": "apps/v1",
                "kind": "StatefulSet",
                "metadata": {
                    "name": name,
                    "labels": strings(set.object.labels()),
                    "annotations": strings(set.object.annotations()),
                },
                "spec": {
                    "replicas": replicas,
                    "serviceName": name,
                    "podManagementPolicy": "Parallel",
                    "selector": {"matchLabels": {NAME_LABEL: name, WORKER_INDEX: "0"}},
                    "template": template,
                },
            });
            child_objects::set_labels(&mut own, &identity);
            child_objects::set_annotations(&mut own, &[(REPLICAS, &replicas_text)]);
            let claims = &spec["leaderWorkerTemplate"]["volumeClaimTemplates"];
            if claims.is_array() {
                own["spec"]["volumeClaimTemplates"] = claims.clone();
            }
            plan.create.push(service(set));
            plan.create.push(own);
        }
        Some(own) => {
            let mut change = json!({});
            if own.data["spec"]["replicas"] != json!(replicas) {
                change["replicas"] = json!(replicas);
            }
            if own.labels().get(REVISION) != Some(&revision) {
                change["template"] = template;
            }
            if change != json!({}) {
                let patch = json!({
                    "metadata": {
                        "labels": {REVISION: revision},
                        "annotations": {REPLICAS: replicas_text},
                    },
                    "spec": change,
                });
                plan.patch.push((ChildReference::dynamic(own), patch));
            }
        }
    }
}

fn strings(own: &std::collections::BTreeMap<String, String>) -> Value {
    let mut own = own.clone();
    own.remove("kubectl.kubernetes.io/last-applied-configuration");
    json!(own)
}

/// The headless service of all pods.
fn service(set: &Observed<'_>) -> Value {
    let name = set.name();
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": true,
            "selector": {NAME_LABEL: name},
        },
    })
}

/// Whether the group restarts as a whole.
fn must_recreate(set: &Observed<'_>, leader: &Pod) -> bool {
    let policy = &set.spec()["leaderWorkerTemplate"]["restartPolicy"];
    let key = label(leader, GROUP_KEY);
    let restarted = |pod: &Pod| {
        let statuses = pod
            .status
            .as_ref()
            .and_then(|s| s.container_statuses.as_ref());
        statuses
            .into_iter()
            .flatten()
            .any(|status| status.restart_count > 0)
    };
    let mut group = set
        .pods
        .iter()
        .filter(|pod| key.is_some() && label(pod, GROUP_KEY) == key);
    policy == "RecreateGroupOnPodRestart" && group.any(|pod| restarted(pod))
}

/// Labels the leader, creates the workers of its group and labels them.
fn plan_group(set: &Observed<'_>, leader: &Arc<Pod>, size: usize, plan: &mut Plan) {
    let (name, leader_name) = (set.name(), leader.name_any());
    let index = ordinal(&leader_name).to_string();
    let reference = ChildReference::of(leader.as_ref());
    if is_deleting(leader) {
        return;
    }
    if must_recreate(set, leader) {
        plan.events.push(NewEvent::normal(
            "RecreateGroupOnPodRestart",
            format!("Recreating group {index}"),
        ));
        plan.delete.push(reference);
        return;
    }
    let key = hash(&format!("{}/{leader_name}", set.namespace()));
    if label(leader, GROUP_INDEX).is_none() || label(leader, GROUP_KEY).is_none() {
        let labels = json!({GROUP_INDEX: index, GROUP_KEY: key});
        plan.patch
            .push((reference, json!({"metadata": {"labels": labels}})));
    }
    for worker in set
        .pods
        .iter()
        .filter(|pod| label(pod, GROUP_KEY) == Some(&key))
    {
        if label(worker, WORKER_INDEX).is_none() && !is_deleting(worker) {
            let labels = json!({WORKER_INDEX: ordinal(&worker.name_any()).to_string()});
            let reference = ChildReference::of(worker.as_ref());
            plan.patch
                .push((reference, json!({"metadata": {"labels": labels}})));
        }
    }
    let waits = set.spec()["startupPolicy"] == "LeaderReady" && !is_ready(leader);
    if size <= 1 || waits {
        return;
    }
    if let Some(workers) = set.child("StatefulSet", &leader_name) {
        let owned_by_leader = workers
            .owner_references()
            .iter()
            .any(|o| Some(&o.uid) == leader.metadata.uid.as_ref());
        if !owned_by_leader {
            // The workers of an earlier leader of that name.
            plan.delete.push(ChildReference::dynamic(workers));
        }
        return;
    }
    let revision = label(leader, REVISION).unwrap_or_default();
    let identity = [
        (NAME_LABEL, name.as_str()),
        (GROUP_INDEX, index.as_str()),
        (GROUP_KEY, key.as_str()),
        (REVISION, revision),
    ];
    let size_text = size.to_string();
    let mut template = set.spec()["leaderWorkerTemplate"]["workerTemplate"].clone();
    child_objects::set_labels(&mut template, &identity);
    child_objects::set_annotations(
        &mut template,
        &[(SIZE, &size_text), (LEADER_NAME, &leader_name)],
    );
    let environment = [
        ("LWS_GROUP_SIZE", size_text.clone()),
        (
            "LWS_LEADER_ADDRESS",
            format!("{leader_name}.{name}.{}", set.namespace()),
        ),
    ];
    child_objects::add_env(&mut template["spec"], &environment);
    let uid = leader.uid().unwrap_or_default();
    let mut workers = json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": leader_name,
            "labels": strings(set.object.labels()),
            "annotations": strings(set.object.annotations()),
            "ownerReferences": [controller_reference("v1", "Pod", &leader_name, &uid)],
        },
        "spec": {
            "replicas": size - 1,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "ordinals": {"start": 1},
            "selector": {"matchLabels": {NAME_LABEL: name, GROUP_INDEX: index, GROUP_KEY: key}},
            "template": template,
        },
    });
    child_objects::set_labels(&mut workers, &identity);
    plan.create.push(workers);
}

fn status(
    set: &Observed<'_>,
    leaders: &[&Arc<Pod>],
    size: usize,
    events: &mut Vec<NewEvent>,
) -> Value {
    let mut status = set.status();
    let (revision, replicas) = (revision(set), count(&set.spec()["replicas"], 1));
    let is_group_ready = |leader: &Pod| {
        let key = label(leader, GROUP_KEY);
        let group = set
            .pods
            .iter()
            .filter(|pod| label(pod, GROUP_KEY) == key && !is_deleting(pod));
        is_ready(leader)
            && (size <= 1 || key.is_some() && group.filter(|pod| is_ready(pod)).count() >= size)
    };
    let ready = leaders
        .iter()
        .filter(|leader| is_group_ready(leader))
        .count();
    let updated = leaders
        .iter()
        .filter(|leader| label(leader, REVISION) == Some(&revision))
        .count();
    status["replicas"] = json!(leaders.len());
    status["readyReplicas"] = json!(ready);
    status["updatedReplicas"] = json!(updated);
    status["observedGeneration"] = json!(set.object.metadata.generation);
    status["hpaPodSelector"] = json!(format!("{NAME_LABEL}={},{WORKER_INDEX}=0", set.name()));
    let available = ready >= replicas && updated >= replicas.min(leaders.len());
    let was = is_true(&status, "Available");
    for (condition_type, is, reason, message) in [
        (
            "Available",
            available,
            "AllGroupsReady",
            "All replicas are ready",
        ),
        (
            "Progressing",
            !available,
            "GroupsProgressing",
            "Replicas are progressing",
        ),
    ] {
        set.set_condition(&mut status, condition_type, is, reason, message);
    }
    if available != was {
        let (reason, message) = match available {
            true => ("AllGroupsReady", "All replicas are ready"),
            false => ("GroupsProgressing", "Replicas are progressing"),
        };
        let message = format!("{message}, with {ready} groups ready of total {replicas} groups");
        events.push(NewEvent::normal(reason, message));
    }
    status
}
