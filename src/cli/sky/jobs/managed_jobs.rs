//! [`ManagedJobObjects`]: the managed jobs of a running lab.

use jiff::Timestamp;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use kueue_lab_controller_runtime::Api;
use kueue_lab_skypilot::jobs::{ManagedJob, ManagedJobObjectStatus, ManagedJobSpec};
use serde_json::json;

use crate::cli::CommandError;
use crate::cli::kubeconfig_args::KubeconfigArgs;
use crate::cli::lab_request_error::lab_request_error;
use crate::cli::lab_time::lab_time;

/// The managed jobs of a running lab.
pub(in crate::cli::sky) struct ManagedJobObjects {
    client: Client,
    api: Api<DynamicObject>,
    context: String,
}

impl ManagedJobObjects {
    pub(super) async fn connect(target: &KubeconfigArgs) -> Result<Self, CommandError> {
        let (client, context) = target.connect().await?;
        Ok(Self::new(client, context))
    }

    /// The managed jobs of the cluster of a client.
    pub(in crate::cli::sky) fn new(client: Client, context: String) -> Self {
        Self {
            api: Api::all_with(client.clone(), &ManagedJobSpec::api_resource()),
            client,
            context,
        }
    }

    fn failed(&self, error: &kube::Error) -> CommandError {
        lab_request_error(error, &self.context, ", or use SkyPilot itself")
    }

    /// Creates an object.
    pub(super) async fn create(
        &self,
        spec: &ManagedJobSpec,
    ) -> Result<DynamicObject, CommandError> {
        let object = spec.object();
        let created = self.api.create(&PostParams::default(), &object).await;
        created.map_err(|error| self.failed(&error))
    }

    /// The status of an object.
    pub(super) async fn status(&self, name: &str) -> Result<ManagedJobObjectStatus, CommandError> {
        let object = self.api.get(name).await;
        let object = object.map_err(|error| self.failed(&error))?;
        Ok(ManagedJobObjectStatus::of(&object))
    }

    /// All jobs, newest first, with the names of their objects.
    pub(in crate::cli::sky) async fn list(
        &self,
    ) -> Result<Vec<(String, ManagedJob)>, CommandError> {
        let list = self.api.list(&ListParams::default()).await;
        let list = list.map_err(|error| self.failed(&error))?;
        let job = |object: &DynamicObject| {
            let job = ManagedJobObjectStatus::of(object).job?;
            Some((object.name_any(), job))
        };
        let mut jobs: Vec<_> = list.items.iter().filter_map(job).collect();
        jobs.sort_by_key(|(_, job)| std::cmp::Reverse(job.id));
        Ok(jobs)
    }

    /// Requests the cancellation of a job.
    pub(super) async fn cancel(&self, name: &str) -> Result<(), CommandError> {
        let patch = Patch::Merge(json!({"spec": {"cancelled": true}}));
        let params = PatchParams::default();
        let patched = self.api.patch(name, &params, &patch).await;
        patched.map_err(|error| self.failed(&error))?;
        Ok(())
    }

    /// The lab time.
    pub(super) async fn now(&self) -> Result<Timestamp, CommandError> {
        let now = lab_time(&self.client).await;
        now.map_err(|error| self.failed(&error))
    }
}
