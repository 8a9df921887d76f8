//! Properties of rollouts: sizes stay within surge and unavailability, and rollouts complete.

use k8s_openapi::api::apps::v1::{
    Deployment, DeploymentSpec, DeploymentStrategy, ReplicaSet, ReplicaSetStatus,
    RollingUpdateDeployment,
};
use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt;
use kube::api::ObjectMeta;
use proptest::prelude::*;

use super::deployment_util::{self, size};
use super::status::status;
use super::sync_deployment::sync_deployment;

fn deployment(replicas: i32, surge: &str, missing: &str, image: &str) -> Deployment {
    let percent = |text: &str| Some(IntOrString::String(text.to_string()));
    let labels = [("app".to_string(), "web".to_string())];
    Deployment {
        metadata: ObjectMeta {
            name: Some("web".into()),
            namespace: Some("n".into()),
            uid: Some("1".into()),
            generation: Some(1),
            ..ObjectMeta::default()
        },
        spec: Some(DeploymentSpec {
            replicas: Some(replicas),
            progress_deadline_seconds: Some(600),
            selector: LabelSelector {
                match_labels: Some(labels.clone().into()),
                match_expressions: None,
            },
            strategy: Some(DeploymentStrategy {
                type_: Some("RollingUpdate".into()),
                rolling_update: Some(RollingUpdateDeployment {
                    max_surge: percent(surge),
                    max_unavailable: percent(missing),
                }),
            }),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels.into()),
                    ..ObjectMeta::default()
                }),
                spec: Some(PodSpec {
                    containers: vec![Container {
                        name: "c".into(),
                        image: Some(image.into()),
                        ..Container::default()
                    }],
                    ..PodSpec::default()
                }),
            },
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

/// Applies one plan to ReplicaSets whose pods are created at once, with up to `ready` more
/// available per step. Returns whether anything changed.
fn step(deployment: &mut Deployment, all: &mut Vec<ReplicaSet>, ready: i32) -> bool {
    let planned = sync_deployment(deployment, all, false);
    let mut changed = planned.create.is_some() || !planned.update.is_empty();
    for (next, _) in planned.update {
        let known = all
            .iter_mut()
            .find(|s| s.name_any() == next.name_any())
            .unwrap();
        known.metadata.annotations = next.metadata.annotations.clone();
        known.spec = next.spec.clone();
    }
    all.extend(planned.create);
    let mut left = ready;
    for set in all.iter_mut() {
        let before = set.status.clone().unwrap_or_default();
        let wanted = deployment_util::int32(size(set));
        let available = before.available_replicas.unwrap_or(0).min(wanted);
        let more = (wanted - available).min(left);
        left -= more;
        let now = ReplicaSetStatus {
            replicas: wanted,
            ready_replicas: Some(available + more),
            available_replicas: Some(available + more),
            ..ReplicaSetStatus::default()
        };
        changed |= Some(&now) != set.status.as_ref();
        set.status = Some(now);
    }
    let now = jiff::Timestamp::UNIX_EPOCH;
    let new_status = status(deployment, all, planned.rollout, None, now);
    changed |= Some(&new_status) != deployment.status.as_ref();
    deployment.status = Some(new_status);
    changed
}

fn sync_until_stable(deployment: &mut Deployment, all: &mut Vec<ReplicaSet>, ready: i32) {
    for _ in 0..2_000 {
        if !step(deployment, all, ready) {
            return;
        }
    }
    panic!("the rollout does not finish");
}

proptest! {
    #[test]
    fn rollouts_complete_within_surge_and_unavailability(
        replicas in 0..30i32,
        surge in prop::sample::select(vec!["0%", "10%", "25%", "100%"]),
        missing in prop::sample::select(vec!["0%", "10%", "25%", "100%"]),
        ready in 1..5i32,
        rescale in prop::option::of((0..20usize, 0..30i32)),
    ) {
        let mut web = deployment(replicas, surge, missing, "a:1");
        let mut all = Vec::new();
        sync_until_stable(&mut web, &mut all, ready);
        let (most, least) = {
            let (surge, missing) = deployment_util::resolve_fenceposts(&web);
            let replicas = i64::from(replicas);
            (replicas + surge, replicas - missing)
        };
        web.spec = deployment(replicas, surge, missing, "a:2").spec;
        for round in 0..2_000 {
            if let Some((_, wanted)) = rescale.filter(|(at, _)| *at == round) {
                web.spec.as_mut().unwrap().replicas = Some(wanted);
            }
            if !step(&mut web, &mut all, ready) && rescale.is_none_or(|(at, _)| round > at) {
                break;
            }
            if rescale.is_none_or(|(at, _)| round < at) {
                let total: i64 = all.iter().map(size).sum();
                let running: i64 = all.iter().map(deployment_util::available).sum();
                prop_assert!(total <= most, "{total} pods, at most {most}");
                prop_assert!(running >= least, "{running} available, at least {least}");
            }
        }
        let wanted = deployment_util::replicas(&web);
        let new = deployment_util::find_new_replica_set(&web, &all).unwrap();
        for (at, set) in all.iter().enumerate() {
            prop_assert_eq!(size(set), if at == new { wanted } else { 0 });
        }
        prop_assert_eq!(deployment_util::revision_of(&all[new]), 2);
    }
}
