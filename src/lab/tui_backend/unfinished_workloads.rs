//! [`UnfinishedWorkloads`]: the workloads that can use the quota of a demo.

use kube::api::ListParams;
use kube::{Client, ResourceExt};

use kueue_lab_api::constants::FINISHED;
use kueue_lab_api::v1beta2::{API_VERSION, Workload};
use kueue_lab_controller_runtime::{Api, ObjectKey};
use kueue_lab_lab::request_error_message;
use kueue_lab_tui::backend::OperationError;
use kueue_lab_tui::{ObjectRef, delete_object};

/// The workloads of a cluster that are not finished.
pub(crate) struct UnfinishedWorkloads(Vec<Workload>);

impl UnfinishedWorkloads {
    /// Lists them.
    ///
    /// # Errors
    /// The request failed.
    pub(crate) async fn list(client: &Client) -> Result<Self, OperationError> {
        let all: Api<Workload> = Api::all(client.clone());
        let listed = all.list(&ListParams::default()).await;
        let listed = listed.map_err(|error| OperationError(request_error_message(&error)))?;
        let unfinished = listed.items.into_iter();
        let unfinished = unfinished.filter(|wl| !wl.is_condition_true(FINISHED));
        Ok(Self(unfinished.collect()))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The namespace and name of each.
    pub(crate) fn names(&self) -> Vec<String> {
        let name =
            |wl: &Workload| format!("{}/{}", wl.namespace().unwrap_or_default(), wl.name_any());
        self.0.iter().map(name).collect()
    }

    /// Deletes the jobs of the workloads, and workloads without a job.
    ///
    /// # Errors
    /// A request failed.
    pub(crate) async fn delete(&self, client: &Client) -> Result<(), OperationError> {
        for workload in &self.0 {
            for object in objects_to_delete(workload) {
                delete_object(client, &object).await?;
            }
        }
        Ok(())
    }
}

fn objects_to_delete(workload: &Workload) -> Vec<ObjectRef> {
    let namespace = workload.namespace().unwrap_or_default();
    let owners = workload.owner_references().iter().map(|owner| ObjectRef {
        api_version: owner.api_version.clone(),
        kind: owner.kind.clone(),
        key: ObjectKey::new(&namespace, &owner.name),
    });
    let owners: Vec<ObjectRef> = owners.collect();
    match owners.is_empty() {
        false => owners,
        true => vec![ObjectRef {
            api_version: API_VERSION.to_owned(),
            kind: "Workload".to_owned(),
            key: ObjectKey::new(&namespace, workload.name_any()),
        }],
    }
}
