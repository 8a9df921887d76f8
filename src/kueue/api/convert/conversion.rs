//! Converts an object between the versions of its kind.

use std::fmt;

use serde_json::Value;

use super::{json_edit, queues, v1alpha, workload};
use crate::v1beta2::{GROUP, MalformedAssignment};
use crate::{crds, provisioning_request};

/// The old version of [`LEGACY_KIND`] that older documentation uses.
pub const LEGACY_VERSION: &str = "v1alpha2";

/// The kind that the embedded cluster also serves in [`LEGACY_VERSION`].
pub const LEGACY_KIND: &str = "ClusterQueue";

/// A warning about a conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The field, such as `spec.cohort`; empty for the document as a whole.
    pub path: String,
    /// The message.
    pub text: String,
}

impl Warning {
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.text)
    }
}

/// The error of an object that cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// Not an object with `apiVersion` and `kind`.
    #[error("not an object with apiVersion and kind")]
    NotAnObject,
    /// An unknown kind or version.
    #[error("no matches for kind \"{kind}\" in version \"{api_version}\"")]
    NoMatch {
        /// Kind of the object.
        kind: String,
        /// The current or requested version.
        api_version: String,
    },
    /// A malformed topology assignment.
    #[error("{path}: {source}")]
    InvalidTopologyAssignment {
        /// The field path.
        path: String,
        /// The reason.
        source: MalformedAssignment,
    },
    /// A value of the wrong type.
    #[error("{path}: {detail}")]
    InvalidType {
        /// The field path.
        path: String,
        /// The reason.
        detail: String,
    },
}

/// Converts an object in place to a version of the same group; `to` is the bare version, such as
/// `v1beta1`. An object that is in that version already is left as it is.
///
/// # Errors
/// The kind or version cannot be converted to `to`, or a value is invalid. The object may then be
/// partly converted.
pub fn convert(object: &mut Value, to: &str) -> Result<Vec<Warning>, ConvertError> {
    let text = |field: &str| object[field].as_str().map(str::to_owned);
    let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else {
        return Err(ConvertError::NotAnObject);
    };
    let (group, from) = api_version.split_once('/').unwrap_or(("", &api_version));
    if from == to {
        return Ok(Vec::new());
    }
    let no_match = |version: &str| ConvertError::NoMatch {
        kind: kind.clone(),
        api_version: version.into(),
    };
    let crd = crds::by_kind(group, &kind);
    let legacy = group == GROUP && kind == LEGACY_KIND && to == LEGACY_VERSION;
    if !legacy && crd.is_none_or(|c| c.version(to).is_none()) {
        return Err(no_match(&format!("{group}/{to}")));
    }
    let mut warnings = Vec::new();
    match (group, from) {
        (GROUP, "v1beta1") if legacy => {}
        (GROUP, "v1beta1") => to_hub(object, &kind)?,
        (GROUP, "v1beta2") => from_hub(object, &kind)?,
        (GROUP, "v1alpha1" | "v1alpha2") => {
            warnings = v1alpha::to_v1beta1(object, &kind, from)?;
            if to != "v1beta1" {
                to_hub(object, &kind)?;
            }
        }
        // The versions of ProvisioningRequest differ in name only.
        (provisioning_request::GROUP, "v1" | "v1beta1") => {}
        _ => return Err(no_match(&api_version)),
    }
    object["apiVersion"] = Value::from(format!("{group}/{to}"));
    Ok(warnings)
}

fn to_hub(object: &mut Value, kind: &str) -> Result<(), ConvertError> {
    match kind {
        "ClusterQueue" => queues::cluster_queue_to_hub(object),
        "Cohort" => queues::cohort_to_hub(object),
        "LocalQueue" => queues::local_queue_to_hub(object),
        "MultiKueueCluster" => queues::multi_kueue_cluster_to_hub(object),
        "AdmissionCheck" => json_edit::remove(object, &["spec", "retryDelayMinutes"]),
        "Workload" => workload::to_hub(object)?,
        _ => {}
    }
    Ok(())
}

fn from_hub(object: &mut Value, kind: &str) -> Result<(), ConvertError> {
    match kind {
        "ClusterQueue" => queues::cluster_queue_from_hub(object),
        "LocalQueue" => queues::local_queue_from_hub(object),
        "MultiKueueCluster" => queues::multi_kueue_cluster_from_hub(object),
        "MultiKueueConfig" => json_edit::remove(object, &["spec", "quotaManagement"]),
        "Workload" => workload::from_hub(object)?,
        _ => {}
    }
    Ok(())
}
