//! LeaderWorkerSet: a StatefulSet of leaders, and one of workers for each leader pod.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::child_objects::{self, count, has_containers, label};
use super::conditions::is_true;
use super::group_restart_policy::failed_pod;
use super::group_rolling_update::{LeaderStatefulSet, RollingUpdate};
use super::group_state::{GroupState, GroupStates};
use super::observed::Observed;
use super::reconcile_plan::{ChildReference, ReconcilePlan, controller_reference};
use kueue_lab_controller_utils::event_recorder::NewEvent;
use kueue_lab_controller_utils::pods::{is_deleting, is_ready};

/// Label: the LeaderWorkerSet of a pod or StatefulSet.
pub(super) const NAME_LABEL: &str = "leaderworkerset.sigs.k8s.io/name";
const GROUP_INDEX: &str = "leaderworkerset.sigs.k8s.io/group-index";
/// Label: the group of a pod.
pub(super) const GROUP_KEY: &str = "leaderworkerset.sigs.k8s.io/group-key";
const WORKER_INDEX: &str = "leaderworkerset.sigs.k8s.io/worker-index";
/// Label: the revision of the templates.
pub(super) const REVISION: &str = "leaderworkerset.sigs.k8s.io/template-revision-hash";
const SIZE: &str = "leaderworkerset.sigs.k8s.io/size";
const LEADER_NAME: &str = "leaderworkerset.sigs.k8s.io/leader-name";
const REPLICAS: &str = "leaderworkerset.sigs.k8s.io/replicas";

/// Reconciles a LeaderWorkerSet.
pub(super) fn reconcile(set: &Observed<'_>) -> ReconcilePlan {
    let template = &set.spec()["leaderWorkerTemplate"];
    let leader = leader_template(template);
    if !has_containers(leader) || !has_containers(&template["workerTemplate"]) {
        return ReconcilePlan::not_simulated("leaderTemplate and workerTemplate need a container");
    }
    let mut plan = ReconcilePlan::default();
    plan_leaders(set, &mut plan);
    let size = count(&template["size"], 1);
    let leaders: Vec<&Arc<Pod>> = leaders(set).collect();
    for leader in &leaders {
        plan_group(set, leader, size, &mut plan);
    }
    plan.status = Some(status(set, &leaders, &mut plan.events));
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
pub(super) fn leaders<'a>(set: &'a Observed<'_>) -> impl Iterator<Item = &'a Arc<Pod>> {
    set.pods
        .iter()
        .filter(|pod| label(pod, WORKER_INDEX) == Some("0"))
}

/// The ordinal at the end of a name.
pub(super) fn ordinal(name: &str) -> usize {
    name.rsplit('-')
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

fn plan_leaders(set: &Observed<'_>, plan: &mut ReconcilePlan) {
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
    let leaders = set.child("StatefulSet", &name);
    let target = {
        let existing = leaders.map(|leaders| existing_leaders(leaders, &revision));
        let count = existing.map_or(0, |existing| existing.replicas);
        let states = GroupStates::of(set, &revision).below(count);
        RollingUpdate::of(spec).target(existing, &states)
    };
    let update_strategy =
        json!({"type": "RollingUpdate", "rollingUpdate": {"partition": target.partition}});
    match leaders {
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
                    "replicas": target.replicas,
                    "serviceName": name,
                    "podManagementPolicy": "Parallel",
                    "updateStrategy": update_strategy,
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
            if own.data["spec"]["replicas"] != json!(target.replicas) {
                change["replicas"] = json!(target.replicas);
            }
            if partition_of(own) != target.partition {
                change["updateStrategy"] = update_strategy;
            }
            if own.labels().get(REVISION) != Some(&revision) {
                change["template"] = template;
            }
            let is_scaled = own.annotations().get(REPLICAS) != Some(&replicas_text);
            if is_scaled || change != json!({}) {
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

/// The partition of the StatefulSet of leaders.
fn partition_of(leaders: &DynamicObject) -> usize {
    let strategy = &leaders.data["spec"]["updateStrategy"];
    count(&strategy["rollingUpdate"]["partition"], 0)
}

fn existing_leaders(leaders: &DynamicObject, revision: &str) -> LeaderStatefulSet {
    let replicas = count(&leaders.data["spec"]["replicas"], 1);
    let annotation = leaders.annotations().get(REPLICAS);
    LeaderStatefulSet {
        replicas,
        partition: partition_of(leaders),
        desired_replicas: annotation
            .and_then(|text| text.parse().ok())
            .unwrap_or(replicas),
        updated: leaders
            .labels()
            .get(REVISION)
            .is_some_and(|own| own == revision),
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

/// Whether the StatefulSet of workers is that of this leader pod, not of an earlier one of its name.
pub(super) fn is_owned_by(workers: &DynamicObject, leader: &Pod) -> bool {
    let mut owners = workers.owner_references().iter();
    owners.any(|owner| Some(&owner.uid) == leader.metadata.uid.as_ref())
}

/// Labels the leader, creates the workers of its group and labels them.
fn plan_group(set: &Observed<'_>, leader: &Arc<Pod>, size: usize, plan: &mut ReconcilePlan) {
    let (name, leader_name) = (set.name(), leader.name_any());
    let index = ordinal(&leader_name).to_string();
    let reference = ChildReference::of(leader.as_ref());
    if is_deleting(leader) {
        return;
    }
    if let Some(failed) = failed_pod(set, leader, size) {
        plan.events.push(NewEvent::normal(
            "RecreateGroup",
            format!(
                "Worker pod {failed} failed, deleted leader pod {leader_name} to recreate group {index}"
            ),
        ));
        plan.delete_foreground.push(reference);
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
        if !is_owned_by(workers, leader) {
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

fn status(set: &Observed<'_>, leaders: &[&Arc<Pod>], events: &mut Vec<NewEvent>) -> Value {
    let mut status = set.status();
    let (revision, replicas) = (revision(set), count(&set.spec()["replicas"], 1));
    let size = count(&set.spec()["leaderWorkerTemplate"]["size"], 1);
    // A group counts from the creation of its workers.
    let has_workers =
        |leader: &Pod| size <= 1 || set.child("StatefulSet", &leader.name_any()).is_some();
    let states = GroupStates::of(set, &revision);
    let groups: Vec<(usize, GroupState)> = leaders
        .iter()
        .filter(|leader| has_workers(leader))
        .map(|leader| {
            let index = ordinal(&leader.name_any());
            (index, states.get(index))
        })
        .collect();
    let partition = RollingUpdate::of(set.spec()).partition;
    let count_of = |is: &dyn Fn(usize, &GroupState) -> bool| {
        let groups = groups.iter().filter(|(index, state)| is(*index, state));
        groups.count()
    };
    let ready = count_of(&|_, state| state.ready);
    let updated = count_of(&|_, state| state.updated);
    // Groups above the replicas do not count for the conditions.
    let is_current = |index: usize| index >= partition && index < replicas;
    let current = count_of(&|index, _| is_current(index));
    let is_updating = count_of(&|index, state| is_current(index) && state.updated) < current;
    let all_ready = count_of(&|index, state| index < replicas && state.ready) == replicas;
    let all_updated =
        count_of(&|index, state| is_current(index) && state.ready && state.updated) == current;
    status["replicas"] = json!(leaders.len());
    status["readyReplicas"] = json!(ready);
    status["updatedReplicas"] = json!(updated);
    status["observedGeneration"] = json!(set.object.metadata.generation);
    status["hpaPodSelector"] = json!(format!("{NAME_LABEL}={},{WORKER_INDEX}=0", set.name()));
    let available = !is_updating && all_ready && all_updated;
    let conditions = [
        (
            "UpdateInProgress",
            is_updating,
            "GroupsUpdating",
            "Rolling Upgrade is in progress",
        ),
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
    ];
    let mut is_changed = false;
    for (condition_type, is, reason, message) in conditions {
        let was = is_true(&status, condition_type);
        is_changed |= is != was;
        // Until the first update there is no such condition.
        if is || was || condition_type != "UpdateInProgress" {
            set.set_condition(&mut status, condition_type, is, reason, message);
        }
    }
    let first_true = conditions.iter().find(|(_, is, ..)| *is);
    if let Some((_, _, reason, message)) = first_true.filter(|_| is_changed) {
        let message = format!("{message}, with {ready} groups ready of total {replicas} groups");
        events.push(NewEvent::normal(*reason, message));
    }
    status
}
