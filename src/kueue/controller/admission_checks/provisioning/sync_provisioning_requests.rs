//! Creates ProvisioningRequests and the PodTemplates they reference.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{PodTemplate, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use kueue_lab_controller_runtime::{Api, controller_reference};
use serde_json::json;

use super::controller::{
    ActiveRequests, CheckConfigs, ProvisioningController, ProvisioningError, REPORTING_CONTROLLER,
};
use super::provisioning_request;
use crate::event_recorder::EventSpec;
use crate::jobs::pod_set_info::{PodSetInfo, merge_into};
use crate::update::post_params;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_api::constants as c;
use kueue_lab_api::provisioning_request::{
    self as p, ProvisioningPodSet, ProvisioningRequest, ProvisioningRequestSpec, TemplateReference,
};
use kueue_lab_api::v1beta2::{
    AdmissionCheckState, CheckState, ProvisioningRequestConfigSpec, ResourceFlavor, Workload,
};
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_engine::kube::limit_range::use_limits_as_missing_requests;
use kueue_lab_engine::messages::{EventType, truncate_condition};
use kueue_lab_engine::workload::predicates;

fn metadata(namespace: &str, name: String, owner: OwnerReference) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        namespace: Some(namespace.to_owned()),
        labels: Some([(c::MANAGED_LABEL.to_owned(), "true".to_owned())].into()),
        owner_references: Some(vec![owner]),
        ..Default::default()
    }
}

impl ProvisioningController {
    /// Creates missing requests, and the next attempt of failed ones.
    pub(super) async fn sync_owned_provisioning_requests(
        &self,
        wl: &Arc<Workload>,
        checks: &[AdmissionCheckState],
        configs: &CheckConfigs,
        current: &mut ActiveRequests,
    ) -> Result<(), ProvisioningError> {
        for (name, config) in configs {
            let Some(config) = config else { continue };
            let check = checks.iter().find(|check| check.name == *name);
            let ready = check.is_some_and(|check| check.state == CheckState::Ready);
            if ready || !provisioning_request::request_is_needed(wl, &config.spec)? {
                continue;
            }
            let pr = match current.get(name) {
                Some(pr) => match next_attempt(wl, name, check, pr) {
                    Some(attempt) => {
                        self.create_provisioning_request(wl, check, name, &config.spec, attempt)
                            .await?
                    }
                    None => pr.clone(),
                },
                None => {
                    let retries = check.and_then(|check| check.retry_count).unwrap_or(0);
                    self.create_provisioning_request(
                        wl,
                        check,
                        name,
                        &config.spec,
                        retries.saturating_add(1),
                    )
                    .await?
                }
            };
            self.sync_pod_template_owners(wl, &pr).await?;
            current.insert(name.clone(), pr);
        }
        Ok(())
    }

    async fn create_provisioning_request(
        &self,
        wl: &Arc<Workload>,
        check: Option<&AdmissionCheckState>,
        name: &str,
        spec: &ProvisioningRequestConfigSpec,
        attempt: i32,
    ) -> Result<Arc<ProvisioningRequest>, ProvisioningError> {
        let request =
            provisioning_request::provisioning_request_name(predicates::name(wl), name, attempt);
        let mut pod_sets = Vec::new();
        for merged in provisioning_request::merge_pod_sets(wl, spec)? {
            let template = provisioning_request::pod_template_name(&request, &merged.pod_set.name);
            let created = self.create_pod_template(wl, &template, &merged).await;
            if let Err(error) = created {
                let message = format!("Error creating PodTemplate {template:?}: {error}");
                return Err(self.handle_error(wl, check, message, error).await);
            }
            pod_sets.push(ProvisioningPodSet {
                pod_template_ref: TemplateReference { name: template },
                count: merged.count,
            });
        }
        let namespace = predicates::namespace(wl);
        let pr = ProvisioningRequest {
            metadata: metadata(
                namespace,
                request.clone(),
                controller_reference(wl.as_ref()),
            ),
            spec: ProvisioningRequestSpec {
                pod_sets,
                provisioning_class_name: spec.provisioning_class_name.clone(),
                parameters: provisioning_request::request_parameters(wl, spec),
            },
            ..Default::default()
        };
        let api = Api::<ProvisioningRequest>::namespaced(self.shared.ctx.client.clone(), namespace);
        match api.create(&post_params(), &pr).await {
            Ok(created) => {
                let created = Arc::new(created);
                self.requests.observe_write(created.clone());
                let event = EventSpec {
                    action: "Created",
                    ..EventSpec::new(
                        REPORTING_CONTROLLER,
                        EventType::Normal,
                        c::event::PROVISIONING_REQUEST_CREATED,
                        format!("Created ProvisioningRequest: {request:?}"),
                    )
                };
                self.shared.recorder.record(wl.as_ref(), event);
                Ok(created)
            }
            Err(error) => {
                let message = format!("Error creating ProvisioningRequest {request:?}: {error}");
                Err(self.handle_error(wl, check, message, error.into()).await)
            }
        }
    }

    /// Creates the PodTemplate of a pod set, unless it exists.
    async fn create_pod_template(
        &self,
        wl: &Arc<Workload>,
        name: &str,
        merged: &provisioning_request::MergedPodSet<'_>,
    ) -> Result<(), ProvisioningError> {
        let namespace = predicates::namespace(wl);
        if self
            .templates
            .get(&ObjectKey::new(namespace, name))
            .is_some()
        {
            return Ok(());
        }
        let flavors = merged.assignment.flavors.values();
        let flavors: Vec<Arc<ResourceFlavor>> = flavors
            .filter_map(|name| {
                self.shared
                    .informers
                    .resource_flavors
                    .get(&ObjectKey::cluster(name))
            })
            .collect();
        let flavor = |name: &str| {
            let mut known = flavors.iter();
            known
                .find(|f| f.metadata.name.as_deref() == Some(name))
                .map(Arc::as_ref)
        };
        let tas = self
            .shared
            .settings
            .enabled(kueue_lab_api::config::Feature::TopologyAwareScheduling);
        let info = PodSetInfo::from_assignment(merged.assignment, merged.pod_set, tas, flavor)?;
        let mut template = PodTemplateSpec::clone(&merged.pod_set.template);
        let mut meta = template.metadata.take().unwrap_or_default();
        let mut spec = template.spec.take().unwrap_or_default();
        merge_into(&mut meta, &mut spec, &info, &self.shared.settings.gates)?;
        use_limits_as_missing_requests(&mut spec);
        template.metadata = Some(meta);
        template.spec = Some(spec);
        let object = PodTemplate {
            metadata: metadata(
                namespace,
                name.to_owned(),
                controller_reference(wl.as_ref()),
            ),
            template: Some(template),
        };
        let api = Api::<PodTemplate>::namespaced(self.shared.ctx.client.clone(), namespace);
        let created = api.create(&post_params(), &object).await?;
        self.templates.observe_write(Arc::new(created));
        Ok(())
    }

    /// Records a failed creation as an Event and in the message of the check; returns the error.
    async fn handle_error(
        &self,
        wl: &Arc<Workload>,
        check: Option<&AdmissionCheckState>,
        message: String,
        error: ProvisioningError,
    ) -> ProvisioningError {
        if matches!(&error, ProvisioningError::Kube(kube::Error::Api(status)) if status.code == 409)
        {
            // The object exists, but the informer has not received it yet.
            return error;
        }
        self.record_event(
            wl,
            EventType::Warning,
            c::event::FAILED_CREATE,
            message.clone(),
        );
        let Some(check) = check else { return error };
        let mut checks = wl.status.admission_checks.clone();
        for known in checks.iter_mut().filter(|known| known.name == check.name) {
            known.message = truncate_condition(message.clone());
            known.last_transition_time = Some(Time(self.shared.now()));
        }
        let status = json!({ "admissionChecks": checks });
        let manager = c::PROVISIONING_REQUEST_CONTROLLER;
        match workload_patching::apply_workload_status(
            &self.shared,
            wl,
            manager,
            status,
            StatusApplyMode::Strict,
        )
        .await
        {
            Ok(_) => error,
            Err(second) => {
                tracing::debug!(%second, "cannot write the message of the check");
                error
            }
        }
    }

    /// Sets the request as the controller of its PodTemplates, so that they are garbage collected
    /// with it.
    async fn sync_pod_template_owners(
        &self,
        wl: &Workload,
        pr: &ProvisioningRequest,
    ) -> Result<(), ProvisioningError> {
        let namespace = predicates::namespace(wl);
        let owner = controller_reference(pr);
        for set in &pr.spec.pod_sets {
            let key = ObjectKey::new(namespace, &set.pod_template_ref.name);
            let Some(template) = self.templates.get(&key) else {
                continue;
            };
            let owners = template.metadata.owner_references.iter().flatten();
            if owners
                .clone()
                .any(|o| o.controller == Some(true) && o.uid == owner.uid)
            {
                continue;
            }
            let mut after = PodTemplate::clone(&template);
            let others = owners.filter(|o| o.uid != predicates::uid(wl)).cloned();
            after.metadata.owner_references = Some(others.chain([owner.clone()]).collect());
            let api = Api::<PodTemplate>::namespaced(self.shared.ctx.client.clone(), namespace);
            let written = api.replace(&key.name, &post_params(), &after).await?;
            self.templates.observe_write(Arc::new(written));
        }
        Ok(())
    }
}

/// The number of the next attempt, if the last one failed or its booking expired and the check is
/// Pending.
fn next_attempt(
    wl: &Workload,
    name: &str,
    check: Option<&AdmissionCheckState>,
    pr: &ProvisioningRequest,
) -> Option<i32> {
    let expired = pr.is_condition_true(p::BOOKING_EXPIRED) && !predicates::is_admitted(wl);
    let failed = pr.is_condition_true(p::FAILED) || expired;
    let pending = check.is_some_and(|check| check.state == CheckState::Pending);
    let last = provisioning_request::request_attempt(pr, predicates::name(wl), name).unwrap_or(1);
    (failed && pending).then(|| last.saturating_add(1))
}
