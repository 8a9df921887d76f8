//! Kueue's kinds on a cluster that somebody else runs: applied, and waited for until they are served.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Client, ResourceExt};

use crate::api::crds::{CRDS, Conversion};

/// Who owns what is applied.
const FIELD_MANAGER: &str = "kueue-lab";
/// The label of everything the lab puts into a cluster.
const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "kueue-lab");
/// How long a kind may take until it is served.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(60);

/// Why what the controller needs is not in the cluster.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// A CustomResourceDefinition is there that somebody else made and that the lab cannot use.
    #[error(
        "the CustomResourceDefinition {name} is there already and {fault}; remove it, or use another cluster"
    )]
    Foreign {
        /// Its name.
        name: String,
        /// What is wrong with it.
        fault: String,
    },
    /// The cluster refused or did not answer.
    #[error("cannot install the CustomResourceDefinition {name}: {reason}")]
    Failed {
        /// Its name.
        name: String,
        /// What the cluster said.
        reason: String,
    },
}

impl InstallError {
    /// Whether what was asked for is wrong, rather than what happened.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Foreign { .. })
    }
}

/// Puts Kueue's kinds into the cluster and waits until they are served. Definitions that somebody
/// else made stay as they are; nothing is written when one of them cannot be used.
pub(super) async fn kinds(client: &Client) -> Result<(), InstallError> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut missing = Vec::new();
    for crd in CRDS {
        let name = crd.name();
        let failed = |e: &dyn std::fmt::Display| InstallError::Failed {
            name: name.clone(),
            reason: e.to_string(),
        };
        let standing = api.get_opt(&name).await.map_err(|e| failed(&e))?;
        match standing.filter(|d| !is_ours(d)) {
            None => missing.push(crd),
            Some(foreign) => {
                let wanted = crd.storage().map_or("", |v| v.name);
                if let Some(fault) = fault(&foreign, wanted) {
                    return Err(InstallError::Foreign { name, fault });
                }
            }
        }
    }
    let params = PatchParams::apply(FIELD_MANAGER).force();
    for crd in &missing {
        let name = crd.name();
        let failed = |e: &dyn std::fmt::Display| InstallError::Failed {
            name: name.clone(),
            reason: e.to_string(),
        };
        let mut object = crd.object(&Conversion::None);
        object["metadata"]["labels"] = serde_json::json!({ MANAGED_BY.0: MANAGED_BY.1 });
        let applied = api.patch(&name, &params, &Patch::Apply(&object)).await;
        applied.map_err(|e| failed(&e))?;
        let served = await_condition(api.clone(), &name, conditions::is_crd_established());
        match tokio::time::timeout(ESTABLISHED_WITHIN, served).await {
            Ok(Ok(_)) => {}
            Ok(Err(e)) => return Err(failed(&e)),
            Err(_) => {
                let waited = ESTABLISHED_WITHIN.as_secs();
                let reason = format!("it is not served {waited} s after it was applied");
                return Err(failed(&reason));
            }
        }
    }
    Ok(())
}

fn is_ours(definition: &CustomResourceDefinition) -> bool {
    let label = definition.labels().get(MANAGED_BY.0);
    label.is_some_and(|v| v == MANAGED_BY.1)
}

/// Why a definition that is not the lab's cannot be used; it must store `wanted`, so that nothing
/// has to be converted.
fn fault(definition: &CustomResourceDefinition, wanted: &str) -> Option<String> {
    let versions = &definition.spec.versions;
    let storage = versions.iter().find(|v| v.storage).map(|v| v.name.as_str());
    match storage {
        Some(storage) if storage == wanted => None,
        Some(storage) => Some(format!("stores {storage} where this lab stores {wanted}")),
        None => Some("stores no version".to_owned()),
    }
}
