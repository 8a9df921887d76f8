//! Pod groups: pod sets by role, the Workload of a group, and excess pods.

use std::sync::Arc;

use futures::future::join_all;
use futures::{FutureExt, TryFutureExt};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DeleteParams;
use kueue_lab_controller_runtime::{Api, controller_of, object_reference};

use super::pod_job::{GVK, PodJob, construct_pod_set};
use super::pod_state::{
    compare_active_pods, compare_inactive_pods, is_runnable_or_succeeded, is_terminating,
    pod_role_hash,
};
use super::start_stop;
use crate::informers::BY_POD_GROUP;
use crate::job_annotations;
use crate::jobs::construct_workload;
use crate::jobs::error::{JobError, ignore_not_found};
use crate::jobs::generic_job::{GenericJob, MatchingWorkloads};
use crate::jobs::integration_context::IntegrationContext;
use crate::jobs::metadata_to_copy::MetadataToCopy;
use crate::jobs::patching::update_workload;
use crate::object_meta;
use crate::pod_util::phase;
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::constants::{self as c, event};
use kueue_lab_api::v1beta2::{PodSet, Workload};
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_engine::messages::EventType;

/// A label or annotation of a pod group that is missing or not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PodGroupError {
    /// The pod has neither the annotation nor the label of the group.
    #[error(
        "pod doesn't have a '{}' annotation/label",
        c::POD_GROUP_NAME_ANNOTATION
    )]
    NoGroupName,
    /// The pod does not have the label of the group.
    #[error("pod doesn't have a '{}' label", c::POD_GROUP_NAME_LABEL)]
    NoGroupNameLabel,
    /// The pod does not have the total count.
    #[error(
        "failed to extract '{}' annotation",
        c::POD_GROUP_TOTAL_COUNT_ANNOTATION
    )]
    NoTotalCount,
    /// The total count is not a positive number; its text.
    #[error(
        "incorrect annotation value '{key}={0}': group total count should be greater than zero",
        key = c::POD_GROUP_TOTAL_COUNT_ANNOTATION
    )]
    TotalCount(String),
    /// The index of the pod is not a number.
    #[error("incorrect label value {index:?} for Pod {pod:?}: invalid unsigned integer")]
    PodIndex {
        /// The text of the index.
        index: String,
        /// The pod.
        pod: String,
    },
    /// The index of the pod is not below the total count.
    #[error(
        "incorrect label value {index:?} for Pod {pod:?}: validation error: value should be less than {total}"
    )]
    PodIndexTooLarge {
        /// The text of the index.
        index: String,
        /// The pod.
        pod: String,
        /// The total count.
        total: usize,
    },
}

/// The total count of a group from the annotation of one of its pods.
///
/// # Errors
/// The pod is not of a group, or the annotation is missing or not valid.
pub(super) fn group_total_count(
    meta: &ObjectMeta,
    gates: &FeatureGates,
) -> Result<usize, PodGroupError> {
    if job_annotations::pod_group_name(meta, gates).is_none() {
        return Err(
            match gates.enabled(Feature::WorkloadIdentifierAnnotations) {
                true => PodGroupError::NoGroupName,
                false => PodGroupError::NoGroupNameLabel,
            },
        );
    }
    let key = c::POD_GROUP_TOTAL_COUNT_ANNOTATION;
    let text = meta.annotations.as_ref().and_then(|m| m.get(key));
    let text = text.ok_or(PodGroupError::NoTotalCount)?;
    let count = text.parse::<usize>().ok().filter(|n| *n > 0);
    count.ok_or_else(|| PodGroupError::TotalCount(text.clone()))
}

/// Validates that the pod index label, if set, is below the total count.
fn validate_pod_index(meta: &ObjectMeta, total: usize) -> Result<(), PodGroupError> {
    let labels = meta.labels.as_ref();
    let Some(text) = labels.and_then(|m| m.get(c::POD_GROUP_POD_INDEX_LABEL)) else {
        return Ok(());
    };
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (index, pod) = (text.clone(), object_meta::name(meta).to_owned());
    match text.parse::<u64>() {
        Ok(number) if digits && number < total as u64 => Ok(()),
        Ok(_) if digits => Err(PodGroupError::PodIndexTooLarge { index, pod, total }),
        _ => Err(PodGroupError::PodIndex { index, pod }),
    }
}

/// One pod set per role hash, ordered by name.
pub(super) fn construct_group_pod_sets(
    pods: &[Pod],
    gates: &FeatureGates,
) -> Result<Vec<PodSet>, JobError> {
    let mut sets: Vec<PodSet> = Vec::new();
    for pod in pods.iter().filter(|pod| is_runnable_or_succeeded(pod)) {
        let role = pod_role_hash(pod);
        match sets.iter_mut().find(|set| set.name == role) {
            Some(set) => set.count += 1,
            None => sets.push(PodSet {
                name: role,
                ..construct_pod_set(pod, gates)?
            }),
        }
    }
    sets.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(sets)
}

/// The pod set of a group with fast admission: all pods are assumed to equal the first.
pub(super) fn construct_group_pod_sets_fast(
    pods: &[Pod],
    total: usize,
    gates: &FeatureGates,
) -> Result<Vec<PodSet>, JobError> {
    let mut runnable = pods.iter().filter(|pod| is_runnable_or_succeeded(pod));
    let none = || JobError::Retryable("failed to find a runnable pod in the group".to_owned());
    let first = runnable.next().ok_or_else(none)?;
    let count = i32::try_from(total).unwrap_or(i32::MAX);
    Ok(vec![PodSet {
        name: pod_role_hash(first),
        count,
        ..construct_pod_set(first, gates)?
    }])
}

fn is_group_workload(wl: &Workload) -> bool {
    object_meta::annotation(&wl.metadata, c::IS_GROUP_WORKLOAD_ANNOTATION)
        == Some(c::IS_GROUP_WORKLOAD_VALUE)
}

/// The Workload of a group, unless another object controls it.
pub(super) fn list_group_workloads(
    env: &IntegrationContext,
    group: &ObjectKey,
) -> Vec<Arc<Workload>> {
    let found = env.workload(&group.namespace, &group.name);
    let is_controlled_by_other = |wl: &Workload| {
        env.enabled(Feature::PodIntegrationValidateGroupOwner)
            && !is_group_workload(wl)
            && controller_of(&wl.metadata).is_some()
    };
    found
        .into_iter()
        .filter(|wl| !is_controlled_by_other(wl))
        .collect()
}

/// Whether the counts of a Workload cover all roles of a group.
pub(super) fn equivalent_to_workload(wl: &Workload, name: &str, pod_sets: &[PodSet]) -> bool {
    let finished = wl.is_condition_true(c::FINISHED);
    let workload_pod_sets = &wl.spec.pod_sets;
    if wl.metadata.name.as_deref() != Some(name)
        || (!finished && workload_pod_sets.len() < pod_sets.len())
    {
        return false;
    }
    // Both lists are sorted.
    let mut workload_pod_sets = workload_pod_sets.iter();
    pod_sets.iter().all(|set| {
        let found = workload_pod_sets.find(|workload_pod_set| workload_pod_set.name == set.name);
        found.is_some_and(|workload_pod_set| finished || workload_pod_set.count >= set.count)
    })
}

impl PodJob {
    /// The name of the group's Workload.
    pub(super) fn workload_name(&self, env: &IntegrationContext) -> String {
        let prebuilt = job_annotations::prebuilt_workload_name(self.meta(), &env.gates);
        let group = || self.group.as_ref().map(|g| g.key.name.clone());
        prebuilt
            .map(str::to_owned)
            .or_else(group)
            .unwrap_or_default()
    }

    /// Adds all pods of the group as owners of its Workload.
    pub(super) async fn ensure_workload_owned_by_all_members(
        &self,
        env: &IntegrationContext,
        wl: Arc<Workload>,
    ) -> Result<Arc<Workload>, JobError> {
        let mut owned = wl.as_ref().clone();
        let owners = owned.metadata.owner_references.get_or_insert_default();
        let before = owners.len();
        for pod in self.pods() {
            let name = object_meta::name(&pod.metadata);
            // A recreated pod with the name of an owner is not added alone: the garbage collector
            // removes the stale reference.
            match owners
                .iter_mut()
                .find(|o| GVK.matches_owner(o) && o.name == name)
            {
                Some(known) => object_meta::uid(&pod.metadata).clone_into(&mut known.uid),
                None => owners.push(construct_workload::owner_reference(
                    &GVK,
                    &pod.metadata,
                    false,
                )),
            }
        }
        let added = owners.len() - before;
        if added == 0 {
            return Ok(wl);
        }
        let written = update_workload(env, &owned).await?;
        let message = format!("Added {added} owner reference(s)");
        env.record_normal_event(
            object_reference(written.as_ref()),
            event::OWNER_REFERENCES_ADDED,
            message,
        );
        Ok(written)
    }

    /// The Workload of the group, if it matches. Removes excess pods.
    pub(super) async fn find_matching_group_workload(
        &mut self,
        env: &IntegrationContext,
    ) -> Result<MatchingWorkloads, JobError> {
        let Some(group) = &self.group else {
            return Ok(MatchingWorkloads::default());
        };
        let Some(wl) = env.workload(&group.key.namespace, &group.key.name) else {
            return Ok(MatchingWorkloads::default());
        };
        let (active, inactive): (Vec<Pod>, Vec<Pod>) = group
            .pods
            .iter()
            .cloned()
            .partition(is_runnable_or_succeeded);
        if env.enabled(Feature::PodIntegrationValidateGroupOwner) && !is_group_workload(&wl) {
            self.report_workload_name_conflict(env, &inactive).await?;
        }
        let other = |wl| MatchingWorkloads {
            matched: None,
            to_delete: vec![wl],
        };
        if wl.spec.maximum_execution_time_seconds
            != job_annotations::maximum_execution_time_seconds(self.meta())
        {
            return Ok(other(wl));
        }
        let sorted = self.select_pods(env, &wl, active, inactive);
        let sets = construct_group_pod_sets(&sorted.kept, &env.gates)?;
        if sorted.kept.is_empty() || !equivalent_to_workload(&wl, &self.workload_name(env), &sets) {
            return Ok(other(wl));
        }
        if let Some(group) = &mut self.group {
            if !group.satisfied_excess_pods {
                let message = "waiting to observe previous operations on pods";
                return Err(JobError::Unretryable(message.to_owned()));
            }
            group.absent = sorted.absent;
            group.pods = sorted.kept;
        }
        let wl = self.ensure_workload_owned_by_all_members(env, wl).await?;
        self.remove_excess_pods(env, &sorted.excess).await?;
        self.finalize_pods(env, &sorted.replaced).await?;
        Ok(MatchingWorkloads {
            matched: Some(wl),
            to_delete: Vec::new(),
        })
    }

    /// Records that another object owns the Workload of the group's name; the group waits until it
    /// is deleted.
    async fn report_workload_name_conflict(
        &self,
        env: &IntegrationContext,
        inactive: &[Pod],
    ) -> Result<(), JobError> {
        let name = self.workload_name(env);
        let message = format!(
            "A Workload named {name:?} already exists but is not a pod group workload; this pod group cannot be admitted"
        );
        let reason = event::WORKLOAD_NAME_CONFLICT;
        env.record_event(
            self.reference(),
            EventType::Warning,
            reason,
            "Admission",
            message,
        );
        self.finalize_pods(env, inactive).await?;
        let message = "a workload with the pod group name already exists but was not created by the pod group framework";
        Err(JobError::Unretryable(message.to_owned()))
    }

    fn select_pods(
        &self,
        env: &IntegrationContext,
        wl: &Workload,
        active: Vec<Pod>,
        inactive: Vec<Pod>,
    ) -> SelectedPods {
        let now = env.shared.now();
        let mut out = SelectedPods::default();
        for set in &wl.spec.pod_sets {
            let of_role = |pods: &[Pod]| -> Vec<Pod> {
                pods.iter()
                    .filter(|pod| pod_role_hash(pod) == set.name)
                    .cloned()
                    .collect()
            };
            let (mut active, mut inactive) = (of_role(&active), of_role(&inactive));
            let wanted = usize::try_from(set.count).unwrap_or(0);
            let missing = wanted.saturating_sub(active.len());
            out.absent += match self.uses_fast_admission() {
                true => i64::from(wanted > 0 && active.is_empty()),
                false => i64::try_from(missing).unwrap_or(i64::MAX),
            };
            let replaced = (active.len() + inactive.len())
                .saturating_sub(wanted)
                .min(inactive.len());
            if active.len() > wanted {
                active.sort_by(compare_active_pods);
                out.excess.extend(active.split_off(wanted));
            }
            if replaced > 0 {
                inactive.sort_by(|a, b| compare_inactive_pods(a, b, now));
                out.replaced
                    .extend(inactive.split_off(inactive.len() - replaced));
            }
            out.kept.extend(active);
            out.kept.extend(inactive);
        }
        out
    }

    /// Finalizes and deletes excess pods.
    async fn remove_excess_pods(
        &self,
        env: &IntegrationContext,
        pods: &[Pod],
    ) -> Result<(), JobError> {
        self.write_expected(pods, |pod| delete_excess_pod(env, pod).map_ok(|()| true))
            .await
    }

    /// Removes the finalizer of pods.
    async fn finalize_pods(&self, env: &IntegrationContext, pods: &[Pod]) -> Result<(), JobError> {
        self.write_expected(pods, |pod| start_stop::remove_pod_finalizer(env, pod))
            .await
    }

    /// Writes pods concurrently and expects to observe the pods that `write` has changed.
    async fn write_expected<'a, F>(
        &self,
        pods: &'a [Pod],
        write: impl Fn(&'a Pod) -> F,
    ) -> Result<(), JobError>
    where
        F: Future<Output = Result<bool, JobError>>,
    {
        let Some(group) = &self.group else {
            return Ok(());
        };
        group.expect_uids(pods);
        let writes = pods.iter().map(|pod| {
            write(pod).map(|changed| {
                if !matches!(changed, Ok(true)) {
                    group.observed_uid(pod);
                }
                changed.map(drop)
            })
        });
        join_all(writes).await.into_iter().collect()
    }

    /// Constructs the Workload of a complete group.
    pub(super) async fn construct_group_workload(
        &mut self,
        env: &IntegrationContext,
    ) -> Result<Workload, JobError> {
        let (mut active, inactive): (Vec<Pod>, Vec<Pod>) = self
            .pods()
            .iter()
            .cloned()
            .partition(is_runnable_or_succeeded);
        self.finalize_pods(env, &inactive).await?;
        let total = self.validate_pod_group_metadata(env, active.len())?;
        if active.len() > total {
            active.sort_by(compare_active_pods);
            let excess = active.split_off(total);
            self.remove_excess_pods(env, &excess).await?;
            if let Some(group) = &mut self.group {
                group.pods = active;
            }
        }
        let sets = construct_workload::job_pod_sets(env, self)?;
        if sets.len() > c::MAX_POD_SETS {
            let message = format!(
                "pod group can't include more than {} roles",
                c::MAX_POD_SETS
            );
            return Err(JobError::Unretryable(message));
        }
        let mut wl = construct_workload::new_workload(
            env,
            self.workload_name(env),
            self.meta(),
            sets,
            &MetadataToCopy::default(),
        );
        let annotations = wl.metadata.annotations.get_or_insert_default();
        let (key, value) = (c::IS_GROUP_WORKLOAD_ANNOTATION, c::IS_GROUP_WORKLOAD_VALUE);
        annotations.insert(key.to_owned(), value.to_owned());
        let owners = self
            .pods()
            .iter()
            .map(|pod| construct_workload::owner_reference(&GVK, &pod.metadata, false));
        wl.metadata.owner_references = Some(owners.collect());
        env.metadata_to_copy
            .copy_from_pods(self.pods(), &mut wl.metadata)?;
        Ok(wl)
    }

    /// Validates that queue name and total count are equal in all pods; returns the total count.
    fn validate_pod_group_metadata(
        &self,
        env: &IntegrationContext,
        active: usize,
    ) -> Result<usize, JobError> {
        let total = self.group_total_count(env)?;
        validate_pod_index(self.meta(), total)?;
        let name = object_meta::name(self.meta());
        let queue = job_annotations::queue_name(self.meta());
        if !self.uses_fast_admission() && active < total {
            let group =
                job_annotations::pod_group_name(self.meta(), &env.gates).unwrap_or_default();
            let message = format!("'{group}' group has fewer runnable pods than expected");
            env.record_warning_event(
                self.reference(),
                event::ERR_WORKLOAD_COMPOSE,
                message.clone(),
            );
            return Err(JobError::Unretryable(message));
        }
        let key = c::POD_GROUP_TOTAL_COUNT_ANNOTATION;
        for pod in self.pods().iter().filter(|pod| phase(pod) != "Failed") {
            let other = object_meta::name(&pod.metadata);
            let their_queue = job_annotations::queue_name(&pod.metadata);
            if their_queue != queue {
                return Err(JobError::Unretryable(format!(
                    "pods '{name}' and '{other}' has different queue names: {queue}!={their_queue}"
                )));
            }
            let count = object_meta::annotation(&pod.metadata, key)
                .and_then(|text| text.parse::<usize>().ok());
            let none = || {
                JobError::Retryable(format!(
                    "failed to extract '{key}' annotation from the pod '{other}'"
                ))
            };
            let count = count.ok_or_else(none)?;
            if count != total {
                return Err(JobError::Unretryable(format!(
                    "pods '{name}' and '{other}' has different '{key}' values: {total}!={count}"
                )));
            }
        }
        Ok(total)
    }
}

/// The pods of a group compared with the counts of its Workload.
#[derive(Default)]
struct SelectedPods {
    kept: Vec<Pod>,
    /// Active pods beyond the count.
    excess: Vec<Pod>,
    /// Inactive pods that were replaced.
    replaced: Vec<Pod>,
    /// The number of missing active pods.
    absent: i64,
}

async fn delete_excess_pod(env: &IntegrationContext, pod: &Pod) -> Result<(), JobError> {
    start_stop::remove_pod_finalizer(env, pod).await?;
    if is_terminating(pod) {
        return Ok(());
    }
    let namespace = object_meta::namespace(&pod.metadata);
    let api = Api::<Pod>::namespaced(env.shared.ctx.client.clone(), namespace);
    let deleted = api
        .delete(object_meta::name(&pod.metadata), &DeleteParams::default())
        .await;
    ignore_not_found(deleted.map(drop).map_err(JobError::from))?;
    env.record_normal_event(
        object_reference(pod),
        event::EXCESS_POD_DELETED,
        "Excess pod deleted",
    );
    Ok(())
}

/// The pods of a group, by name.
pub(super) fn pods_of_group(env: &IntegrationContext, group: &ObjectKey) -> Vec<Pod> {
    let key = format!("{}/{}", group.namespace, group.name);
    let found = env.shared.informers.pods.by_index(BY_POD_GROUP, &key);
    found.iter().map(|pod| pod.as_ref().clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pod_index_must_be_below_the_total_count() {
        let labelled = |text: &str| {
            let labels = [(c::POD_GROUP_POD_INDEX_LABEL.to_owned(), text.to_owned())];
            ObjectMeta {
                labels: Some(labels.into()),
                ..Default::default()
            }
        };
        assert!(validate_pod_index(&ObjectMeta::default(), 1).is_ok());
        for (text, ok) in [
            ("0", true),
            ("2", true),
            ("3", false),
            ("", false),
            ("+1", false),
        ] {
            assert_eq!(validate_pod_index(&labelled(text), 3).is_ok(), ok, "{text}");
        }
    }
}
