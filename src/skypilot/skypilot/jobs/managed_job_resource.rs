//! The kind `ManagedJob`, by which other processes launch, list and cancel the managed jobs of a lab.

use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::ManagedJob;

const GROUP: &str = "skypilot.kueue-lab.dev";
const VERSION: &str = "v1alpha1";
const KIND: &str = "ManagedJob";
const PLURAL: &str = "managedjobs";

/// The spec of a `ManagedJob`: the arguments of `sky jobs launch`, and whether it is cancelled.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedJobSpec {
    /// The name of the job; by default that of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The file of the task. Jobs that the lab launched itself have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The user's configuration, `~/.sky/config.yaml`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Whether the job is to be cancelled.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
}

/// The status of a `ManagedJob`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct ManagedJobObjectStatus {
    /// The job, once it is submitted.
    pub job: Option<ManagedJob>,
    /// Why the job was rejected.
    pub error: Option<String>,
}

impl ManagedJobSpec {
    /// The resource of the kind.
    pub fn api_resource() -> ApiResource {
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, VERSION, KIND), PLURAL)
    }

    /// A new object with this spec.
    pub fn object(&self) -> DynamicObject {
        let mut object = DynamicObject::new("", &Self::api_resource()).data(json!({"spec": self}));
        object.metadata.name = None;
        object.metadata.generate_name = Some("job-".into());
        object
    }

    /// The spec of an object.
    pub fn of(object: &DynamicObject) -> Self {
        Self::deserialize(&object.data["spec"]).unwrap_or_default()
    }
}

impl ManagedJobObjectStatus {
    /// The status of an object.
    pub fn of(object: &DynamicObject) -> Self {
        Self::deserialize(&object.data["status"]).unwrap_or_default()
    }

    /// Whether the job was rejected, or has ended, also in an earlier run of the lab.
    pub(super) fn has_ended(&self) -> bool {
        let job = self.job.as_ref();
        self.error.is_some() || job.is_some_and(|job| job.status.is_final())
    }
}
