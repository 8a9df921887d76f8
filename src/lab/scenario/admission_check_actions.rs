//! Actions on admission checks: the state of a check, its Active condition, conditions of a ProvisioningRequest.

use kube::api::{Patch, PatchParams};
use kueue_lab_api::v1beta2::API_VERSION;
use serde_json::{Value, json};

use super::action_error::ActionError;
use super::expect::ExpectedCondition;
use super::observed_state::ApiVersionKind;
use super::run::ScenarioRun;
use super::scenario::{AdmissionCheckUpdate, ProvisioningRequestUpdate};

/// The kind of the requests that a step updates.
pub(super) const PROVISIONING_REQUEST_KIND: (&str, &str) =
    ("autoscaling.x-k8s.io/v1", "ProvisioningRequest");
/// The reason of conditions that a step sets.
const BY_HAND: &str = "ByHand";

impl ScenarioRun<'_> {
    /// Sets the state of an admission check in the Workloads of jobs.
    pub(super) async fn update_admission_check(
        &mut self,
        update: &AdmissionCheckUpdate,
    ) -> Result<(), ActionError> {
        self.observe_changes().await;
        let (check, jobs) = (&update.check, &update.jobs);
        let now = json!(self.environment.clock.time());
        let mut patches = Vec::new();
        for workload in self.observed.history.matching(jobs, false) {
            let states = workload.object["status"]["admissionChecks"].as_array();
            let mut states = states.cloned().unwrap_or_default();
            let found = states.iter_mut().find(|state| state["name"] == **check);
            let Some(found) = found.filter(|_| !workload.is_finished()) else {
                continue;
            };
            found["state"] = update.state.as_str().into();
            found["message"] = update.message.as_str().into();
            found["lastTransitionTime"] = now.clone();
            if let Some(time) = update.requeue_after {
                found["requeueAfterSeconds"] = time.as_secs().into();
            }
            if let Some(found) = found.as_object_mut() {
                found.remove("podSetUpdates");
            }
            if let Some(updates) = &update.pod_set_updates {
                found["podSetUpdates"] = pod_set_updates(&workload.object, updates);
            }
            let patch = json!({"status": {"admissionChecks": states}});
            patches.push((workload.namespace.clone(), workload.name.clone(), patch));
        }
        if patches.is_empty() {
            let jobs = jobs.join(", ");
            let message = format!("no Workload of {jobs} has the admission check {check:?}");
            return Err(message.into());
        }
        let kind = (API_VERSION.to_owned(), "Workload".to_owned());
        for (namespace, name, patch) in patches {
            self.patch_status(&kind, Some(&namespace), &name, &patch)
                .await?;
        }
        Ok(())
    }

    /// Sets whether an AdmissionCheck is active.
    pub(super) async fn activate_check(
        &mut self,
        check: &str,
        active: bool,
    ) -> Result<(), ActionError> {
        let condition = json!({
            "type": "Active", "status": if active { "True" } else { "False" }, "reason": BY_HAND,
            "message": "", "lastTransitionTime": self.environment.clock.time(),
        });
        let patch = json!({"status": {"conditions": [condition]}});
        let kind = (API_VERSION.to_owned(), "AdmissionCheck".to_owned());
        self.patch_status(&kind, None, check, &patch).await
    }

    /// Sets conditions of the newest ProvisioningRequest of each Workload of jobs.
    pub(super) async fn update_provisioning_request(
        &mut self,
        update: &ProvisioningRequestUpdate,
    ) -> Result<(), ActionError> {
        self.observe_changes().await;
        let mut patches = Vec::new();
        for workload in self.observed.history.matching(&update.jobs, false) {
            let requests = self.observed.objects_of(PROVISIONING_REQUEST_KIND);
            let requests = requests.filter(|request| {
                request["metadata"]["deletionTimestamp"].is_null()
                    && is_owned_by(request, &workload.uid)
                    && is_of_check(request, update.check.as_deref())
            });
            let text = |request: &Value, field: &str| {
                let text = request["metadata"][field].as_str();
                text.unwrap_or_default().to_owned()
            };
            let newest = requests.max_by_key(|r| (text(r, "creationTimestamp"), text(r, "name")));
            patches.extend(newest.map(|request| {
                let patch = self.status_patch(request, update);
                (workload.namespace.clone(), text(request, "name"), patch)
            }));
        }
        if patches.is_empty() {
            let jobs = update.jobs.join(", ");
            return Err(format!("there is no ProvisioningRequest for {jobs}").into());
        }
        let (api_version, kind) = PROVISIONING_REQUEST_KIND;
        let kind = (api_version.to_owned(), kind.to_owned());
        for (namespace, name, patch) in patches {
            self.patch_status(&kind, Some(&namespace), &name, &patch)
                .await?;
        }
        Ok(())
    }

    /// The patch of the status of a ProvisioningRequest.
    fn status_patch(&self, request: &Value, update: &ProvisioningRequestUpdate) -> Value {
        let before = request["status"]["conditions"].as_array();
        let kept = before.into_iter().flatten();
        let kept = kept.filter(|c| {
            let type_ = c["type"].as_str().unwrap_or_default();
            !update.conditions.contains_key(type_)
        });
        let now = self.environment.clock.time();
        let set = update.conditions.iter().map(|(type_, condition)| {
            let ExpectedCondition {
                status,
                reason,
                message,
            } = condition;
            json!({
                "type": type_, "status": status.as_deref().unwrap_or("True"),
                "reason": reason.as_deref().unwrap_or(BY_HAND),
                "message": message.as_deref().unwrap_or_default(), "lastTransitionTime": now,
            })
        });
        let conditions: Vec<Value> = kept.cloned().chain(set).collect();
        let mut status = json!({"conditions": conditions});
        if !update.details.is_empty() {
            status["provisioningClassDetails"] = json!(update.details);
        }
        json!({"status": status})
    }

    /// Applies a merge patch to the status of an object.
    pub(super) async fn patch_status(
        &mut self,
        kind: &ApiVersionKind,
        namespace: Option<&str>,
        name: &str,
        patch: &Value,
    ) -> Result<(), ActionError> {
        let (api, params) = (self.api(kind, namespace), PatchParams::default());
        let patch = Patch::Merge(patch);
        let patched = api.patch_subresource("status", name, &params, &patch).await;
        Ok(patched.map(|_| ())?)
    }
}

/// The updates of every pod set of a Workload.
fn pod_set_updates(workload: &Value, updates: &Value) -> Value {
    let pod_sets = workload["spec"]["podSets"].as_array();
    let of_pod_set = |pod_set: &Value| {
        let mut updates = updates.clone();
        updates["name"] = pod_set["name"].clone();
        updates
    };
    pod_sets.into_iter().flatten().map(of_pod_set).collect()
}

fn is_owned_by(request: &Value, uid: &str) -> bool {
    let owners = request["metadata"]["ownerReferences"].as_array();
    owners
        .into_iter()
        .flatten()
        .any(|owner| owner["uid"] == uid)
}

/// Whether a request is that of a check: its name is `WORKLOAD-CHECK-ATTEMPT`.
fn is_of_check(request: &Value, check: Option<&str>) -> bool {
    let name = request["metadata"]["name"].as_str().unwrap_or_default();
    check.is_none_or(|check| name.contains(&format!("-{check}-")))
}
