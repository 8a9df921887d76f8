//! `batch/v1` Jobs.

use async_trait::async_trait;
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use kueue_lab_controller_runtime::Api;

use super::error::JobError;
use super::generic_job::{JobKind, JobResult, ManagedBy};
use super::integration_context::IntegrationContext;
use super::patching::{PatchTarget, patch_object};
use super::pod_set_info::{PodSetInfo, PodSetInfoError, merge_into, restore_pod_spec};
use super::pod_set_topology_request::{TopologyIndexLabels, pod_set_topology_request};
use super::pod_sets_error::PodSetsError;
use crate::job_annotations::parse_bool;
use crate::object_meta::annotation;
use kueue_lab_api::config::FeatureGates;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{PodSet, ReclaimablePod};

/// The completion index annotation of pods of an Indexed Job, also used as a label.
const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// Labels that the Job controller adds to the pod template.
const MANAGED_LABELS: [&str; 4] = [
    "job-name",
    "controller-uid",
    JOB_NAME_LABEL,
    "batch.kubernetes.io/controller-uid",
];
const JOB_NAME_LABEL: &str = "batch.kubernetes.io/job-name";

/// Whether a label of the pod template is not copied to Workloads and worker clusters. The job-name
/// label is: pod selectors may use it.
pub(super) fn is_generated_label(key: &str) -> bool {
    key != JOB_NAME_LABEL && MANAGED_LABELS.contains(&key)
}

/// `batch/v1` Jobs.
pub(crate) struct BatchJobKind;

fn spec(job: &Job) -> JobSpec {
    job.spec.clone().unwrap_or_default()
}

fn spec_suspend(job: &Job) -> bool {
    job.spec.as_ref().is_some_and(|s| s.suspend == Some(true))
}

/// The number of pods the Job runs in parallel.
pub(crate) fn pods_count(job: &Job) -> i32 {
    let spec = job.spec.as_ref();
    let parallelism = spec.and_then(|s| s.parallelism).unwrap_or(1);
    let completions = spec.and_then(|s| s.completions);
    completions.map_or(parallelism, |n| n.min(parallelism))
}

/// The minimum parallelism of partial admission, from the annotation.
pub(crate) fn min_pods_count(job: &Job) -> Option<i32> {
    annotation(&job.metadata, c::JOB_MIN_PARALLELISM_ANNOTATION)?
        .parse()
        .ok()
}

/// Whether completions are synced with parallelism.
pub(crate) fn sync_completions_with_parallelism(job: &Job) -> bool {
    let text = annotation(
        &job.metadata,
        c::JOB_COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION,
    );
    text.and_then(parse_bool).unwrap_or(false)
}

fn set_parallelism(job: &mut Job, count: i32) {
    let sync = sync_completions_with_parallelism(job);
    let spec = job.spec.get_or_insert_default();
    spec.parallelism = Some(count);
    if sync {
        spec.completions = Some(count);
    }
}

#[async_trait]
impl JobKind for BatchJobKind {
    type Object = Job;
    const FRAMEWORK: &'static str = "batch/job";

    fn managed_by(job: &mut Job) -> Option<(ManagedBy<'_>, &'static str)> {
        let field = &mut job.spec.get_or_insert_default().managed_by;
        Some((ManagedBy::Field(field), "kubernetes.io/job-controller"))
    }

    fn is_suspended(job: &Job) -> bool {
        spec_suspend(job) && annotation(&job.metadata, c::STOPPING_ANNOTATION) != Some("true")
    }

    fn suspend(job: &mut Job) {
        job.spec.get_or_insert_default().suspend = Some(true);
    }

    fn run_with_pod_sets_info(
        job: &mut Job,
        infos: &[PodSetInfo],
        gates: &FeatureGates,
    ) -> Result<(), PodSetInfoError> {
        let [info] = infos else {
            return Err(PodSetInfoError::Length {
                want: 1,
                got: infos.len(),
            });
        };
        if min_pods_count(job).is_some() {
            set_parallelism(job, info.count);
        }
        let spec = job.spec.get_or_insert_default();
        spec.suspend = Some(false);
        let meta = spec.template.metadata.get_or_insert_default();
        merge_into(
            meta,
            spec.template.spec.get_or_insert_default(),
            info,
            gates,
        )
    }

    fn restore_pod_sets_info(job: &mut Job, infos: &[PodSetInfo]) {
        let Some(info) = infos.first() else { return };
        let parallelism = job.spec.as_ref().and_then(|s| s.parallelism).unwrap_or(0);
        if min_pods_count(job).is_some() && parallelism != info.count {
            set_parallelism(job, info.count);
        }
        let mut info = info.clone();
        let template = &mut job.spec.get_or_insert_default().template;
        let meta = template.metadata.get_or_insert_default();
        for (key, value) in meta.labels.iter().flatten() {
            if MANAGED_LABELS.contains(&key.as_str()) {
                info.labels.insert(key.clone(), value.clone());
            }
        }
        restore_pod_spec(meta, template.spec.get_or_insert_default(), &info);
    }

    fn finished(job: &Job) -> Option<JobResult> {
        let conditions = job.status.as_ref()?.conditions.iter().flatten();
        let mut ends = conditions
            .filter(|c| matches!(c.type_.as_str(), "Complete" | "Failed") && c.status == "True");
        ends.next().map(|end| JobResult {
            success: end.type_ != "Failed",
            message: end.message.clone().unwrap_or_default(),
        })
    }

    fn pod_sets(job: &Job, gates: &FeatureGates) -> Result<Vec<PodSet>, PodSetsError> {
        let mut template = spec(job).template;
        let indexes = TopologyIndexLabels {
            pod_index_label: Some(COMPLETION_INDEX),
            ..Default::default()
        };
        let topology_request =
            pod_set_topology_request(template.metadata.as_ref(), indexes, gates)?;
        if let Some(labels) = template.metadata.as_mut().and_then(|m| m.labels.as_mut()) {
            labels.retain(|key, _| !is_generated_label(key));
        }
        Ok(vec![PodSet {
            name: c::DEFAULT_POD_SET_NAME.to_owned(),
            template: template.into(),
            count: pods_count(job),
            min_count: min_pods_count(job),
            topology_request,
        }])
    }

    fn is_active(job: &Job) -> bool {
        job.status.as_ref().and_then(|s| s.active).unwrap_or(0) != 0
    }

    fn pods_ready(job: &Job) -> bool {
        let Some(status) = &job.status else {
            return pods_count(job) <= 0;
        };
        let uncounted = status.uncounted_terminated_pods.as_ref();
        let uncounted = uncounted
            .and_then(|u| u.succeeded.as_ref())
            .map_or(0, Vec::len);
        let done = i64::from(status.succeeded.unwrap_or(0)) + i64::from(status.ready.unwrap_or(0));
        done + i64::try_from(uncounted).unwrap_or(i64::MAX) >= i64::from(pods_count(job))
    }

    fn reclaimable_pods(job: &Job) -> Option<Vec<ReclaimablePod>> {
        let count = reclaimable_pod_count(job);
        let name = c::DEFAULT_POD_SET_NAME.to_owned();
        Some(if count > 0 {
            vec![ReclaimablePod { name, count }]
        } else {
            Vec::new()
        })
    }

    /// Suspends the Job, resets its start time, and restores its template, in this order: the
    /// template is immutable while the Job has a start time. An annotation marks that the restore
    /// is pending.
    async fn stop(
        env: &IntegrationContext,
        api: &Api<Job>,
        job: &mut Job,
        infos: &[PodSetInfo],
    ) -> Option<Result<bool, JobError>> {
        let _ = env;
        Some(stop_in_steps(api, job, infos).await)
    }
}

/// `job` always equals the version on the server, also after a failed write.
async fn stop_in_steps(
    api: &Api<Job>,
    job: &mut Job,
    infos: &[PodSetInfo],
) -> Result<bool, JobError> {
    let mut stopped = false;
    if !BatchJobKind::is_suspended(job) {
        let mut wanted = job.clone();
        BatchJobKind::suspend(&mut wanted);
        let annotations = wanted.metadata.annotations.get_or_insert_default();
        annotations.insert(c::STOPPING_ANNOTATION.to_owned(), "true".to_owned());
        *job = patch_object(api, job, &wanted, PatchTarget::Object).await?;
        stopped = true;
    }
    if job.status.as_ref().is_some_and(|s| s.start_time.is_some()) {
        let mut wanted = job.clone();
        wanted.status.get_or_insert_default().start_time = None;
        *job = patch_object(api, job, &wanted, PatchTarget::Status).await?;
    }
    let mut wanted = job.clone();
    BatchJobKind::restore_pod_sets_info(&mut wanted, infos);
    if let Some(annotations) = &mut wanted.metadata.annotations {
        annotations.remove(c::STOPPING_ANNOTATION);
    }
    *job = patch_object(api, job, &wanted, PatchTarget::Object).await?;
    Ok(stopped)
}

/// The number of parallel pods for which no completions are left.
fn reclaimable_pod_count(job: &Job) -> i32 {
    let spec = spec(job);
    let parallelism = spec.parallelism.unwrap_or(1);
    let completions = spec.completions.unwrap_or(parallelism);
    let status = job.status.clone().unwrap_or_default();
    let ended = if spec.completion_mode.as_deref() == Some("Indexed") {
        let texts = [
            status.completed_indexes.as_deref(),
            status.failed_indexes.as_deref(),
        ];
        ended_indexes(texts.into_iter().flatten(), completions)
    } else {
        status.succeeded.unwrap_or(0)
    };
    let remaining = completions.saturating_sub(ended).max(0);
    match parallelism > 1 && ended > 0 && remaining < parallelism {
        true => parallelism - remaining,
        false => 0,
    }
}

/// The number of distinct indexes below `completions` in lists such as `1,3-5`.
fn ended_indexes<'a>(lists: impl Iterator<Item = &'a str>, completions: i32) -> i32 {
    let mut ranges: Vec<(i64, i64)> = lists
        .flat_map(|list| list.split(','))
        .filter_map(|text| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            let (first, last) = (first.parse::<i64>().ok()?, last.parse::<i64>().ok()?);
            (last >= first).then(|| (first, last.min(i64::from(completions) - 1)))
        })
        .filter(|(first, last)| first <= last)
        .collect();
    ranges.sort_unstable();
    let (mut count, mut counted) = (0, -1);
    for (first, last) in ranges {
        let first = first.max(counted + 1);
        if first <= last {
            count += last - first + 1;
            counted = last;
        }
    }
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kube::client::Body;
    use parking_lot::Mutex;
    use serde_json::{Value, json};
    use tower::BoxError;

    use super::*;

    fn job(annotations: Value, spec: Value, status: Value) -> Job {
        serde_json::from_value(json!({
            "metadata": {"name": "j", "namespace": "ns", "annotations": annotations},
            "spec": spec, "status": status,
        }))
        .unwrap()
    }

    fn template() -> Value {
        json!({"metadata": {"labels": {"app": "x", "job-name": "j", "batch.kubernetes.io/job-name": "j"}},
            "spec": {"containers": []}})
    }

    #[test]
    fn pod_set_count_is_the_parallelism() {
        let job = job(
            json!({}),
            json!({"parallelism": 5, "completions": 3, "template": template()}),
            json!({}),
        );
        let sets = BatchJobKind::pod_sets(&job, &FeatureGates::default()).unwrap();
        assert_eq!(
            (sets.len(), sets[0].count, sets[0].name.as_str()),
            (1, 3, "main")
        );
        let labels = sets[0]
            .template
            .metadata
            .as_ref()
            .unwrap()
            .labels
            .clone()
            .unwrap();
        assert_eq!(
            labels.keys().collect::<Vec<_>>(),
            ["app", "batch.kubernetes.io/job-name"]
        );
    }

    #[test]
    fn partially_admitted_job_is_restored() {
        let gates = FeatureGates::default();
        let annotations = json!({"kueue.x-k8s.io/job-min-parallelism": "2",
            "kueue.x-k8s.io/job-completions-equal-parallelism": "true"});
        let spec =
            json!({"suspend": true, "parallelism": 5, "completions": 5, "template": template()});
        let mut job = job(annotations, spec, json!({}));
        let before = job.clone();
        let sets = BatchJobKind::pod_sets(&job, &gates).unwrap();
        let given = PodSetInfo {
            count: 3,
            node_selector: [("gpu".to_owned(), "a100".to_owned())].into(),
            ..Default::default()
        };
        BatchJobKind::run_with_pod_sets_info(&mut job, &[given], &gates).unwrap();
        let spec = job.spec.clone().unwrap();
        assert_eq!(
            (spec.suspend, spec.parallelism, spec.completions),
            (Some(false), Some(3), Some(3))
        );
        BatchJobKind::suspend(&mut job);
        BatchJobKind::restore_pod_sets_info(&mut job, &[PodSetInfo::from_pod_set(&sets[0])]);
        assert_eq!(job, before);
    }

    #[test]
    fn succeeded_pods_are_reclaimable() {
        let of = |mode: &str, status: Value| {
            let spec = json!({"parallelism": 3, "completions": 5, "completionMode": mode, "template": template()});
            reclaimable_pod_count(&job(json!({}), spec, status))
        };
        assert_eq!(of("NonIndexed", json!({"succeeded": 2})), 0);
        assert_eq!(of("NonIndexed", json!({"succeeded": 3})), 1);
        assert_eq!(of("NonIndexed", json!({"succeeded": 5})), 3);
        assert_eq!(
            of(
                "Indexed",
                json!({"succeeded": 9, "completedIndexes": "0-2", "failedIndexes": "2,4"})
            ),
            2
        );
        assert_eq!(of("Indexed", json!({"completedIndexes": "3-1,x,7-9"})), 0);
    }

    #[test]
    fn finished_follows_the_conditions() {
        let of = |type_: &str| {
            let status = json!({"conditions": [{"type": type_, "status": "True", "message": "m"}]});
            BatchJobKind::finished(&job(json!({}), json!({"template": template()}), status))
        };
        assert_eq!(
            of("Complete"),
            Some(JobResult {
                success: true,
                message: "m".into()
            })
        );
        assert!(!of("Failed").unwrap().success);
        assert_eq!(of("SuccessCriteriaMet"), None);
    }

    /// An API server with one Job that accepts the first `writes` patches and rejects the others.
    fn server(mut job: Value, mut writes: u32) -> Api<Job> {
        let respond = move |patch: &[u8]| {
            if writes == 0 {
                let rejection = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                    "reason": "Invalid", "code": 422, "message": "spec.template: field is immutable"});
                return (422, rejection);
            }
            writes -= 1;
            json_patch::merge(&mut job, &serde_json::from_slice(patch).unwrap());
            job["metadata"]["resourceVersion"] = json!(format!("after-{writes}"));
            (200, job.clone())
        };
        let respond = Arc::new(Mutex::new(respond));
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let respond = respond.clone();
            async move {
                let patch = request.into_body().collect_bytes().await.unwrap();
                let (code, body) = (respond.lock())(&patch);
                let response = http::Response::builder().status(code);
                Ok::<_, BoxError>(
                    response
                        .body(Body::from(body.to_string().into_bytes()))
                        .unwrap(),
                )
            }
        });
        Api::namespaced(kube::Client::new(service, "ns"), "ns")
    }

    #[tokio::test]
    async fn failed_stop_leaves_the_job_as_stored() {
        let annotations = json!({"kueue.x-k8s.io/job-min-parallelism": "1"});
        let spec = json!({"suspend": false, "parallelism": 2, "template": template()});
        let running = job(
            annotations,
            spec,
            json!({"active": 2, "startTime": "2026-01-01T00:00:00Z"}),
        );
        let whole = PodSetInfo {
            count: 4,
            ..Default::default()
        };
        let parallelism = |job: &Job| job.spec.as_ref().unwrap().parallelism;
        for (writes, suspended, started) in [(0, false, true), (1, true, true), (2, true, false)] {
            let api = server(serde_json::to_value(&running).unwrap(), writes);
            let mut job = running.clone();
            stop_in_steps(&api, &mut job, std::slice::from_ref(&whole))
                .await
                .unwrap_err();
            assert_eq!(spec_suspend(&job), suspended, "after {writes} writes");
            let start = job.status.as_ref().unwrap().start_time.is_some();
            assert_eq!(start, started, "after {writes} writes");
            assert_eq!(parallelism(&job), Some(2), "after {writes} writes");
            assert!(!BatchJobKind::is_suspended(&job), "it is not stopped yet");
        }
        let api = server(serde_json::to_value(&running).unwrap(), 3);
        let mut job = running.clone();
        assert!(stop_in_steps(&api, &mut job, &[whole]).await.unwrap());
        assert_eq!(parallelism(&job), Some(4));
        assert!(BatchJobKind::is_suspended(&job));
    }
}
