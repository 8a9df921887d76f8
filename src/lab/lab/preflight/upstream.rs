//! Finds upstream's controller manager: by its Deployment, or by the Lease of its leader.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::ListParams;
use kube::{Client, ResourceExt};
use kueue_lab_controller_runtime::Api;

use super::PreflightError;
use kueue_lab_install::is_managed_by_lab;

/// The default name of upstream's leader election Lease.
const LEADER_ELECTION_ID: &str = "c1f6bfd2.kueue.x-k8s.io";

/// Upstream's controller manager, as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpstreamKueue {
    /// A Deployment with at least one replica.
    Deployment {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// The image of the manager container.
        image: String,
    },
    /// A held Lease of upstream's leader election.
    Leader {
        /// Namespace of the Lease.
        namespace: String,
        /// The holder identity.
        holder: String,
    },
}

impl fmt::Display for UpstreamKueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deployment {
                namespace,
                name,
                image,
            } => write!(f, "Kueue (Deployment {namespace}/{name}, {image})"),
            Self::Leader { namespace, holder } => {
                write!(
                    f,
                    "Kueue ({holder}, holding the Lease {namespace}/{LEADER_ELECTION_ID})"
                )
            }
        }
    }
}

/// Finds upstream's controller manager, or another leader that does not take part in the election
/// in the namespace `own`. Deployment and Lease are looked up separately; without the permission to
/// read one of them it counts as absent.
///
/// # Errors
/// The cluster does not answer.
pub async fn find(client: &Client, own: &str) -> Result<Option<UpstreamKueue>, PreflightError> {
    let deployments: Api<Deployment> = Api::all(client.clone());
    let found = items_or_forbidden(deployments.list(&ListParams::default()).await)?;
    // A manager in this namespace takes part in the same election.
    let mut others = found
        .iter()
        .filter(|d| d.namespace().as_deref() != Some(own));
    if let Some(found) = others.find_map(manager) {
        return Ok(Some(found));
    }
    let leases: Api<Lease> = Api::all(client.clone());
    let named = ListParams::default().fields(&format!("metadata.name={LEADER_ELECTION_ID}"));
    let found = items_or_forbidden(leases.list(&named).await)?;
    Ok(found.iter().find_map(|l| leader(l, own, Timestamp::now())))
}

pub(super) fn items_or_forbidden<K: Clone>(
    list: kube::Result<kube::api::ObjectList<K>>,
) -> Result<Vec<K>, PreflightError> {
    match list {
        Ok(list) => Ok(list.items),
        // Missing permissions are reported with all others.
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(Vec::new()),
        Err(e) => Err(PreflightError::CannotVerify {
            what: "whether Kueue runs there already",
            reason: e.to_string(),
        }),
    }
}

/// Recognizes upstream's manager: by its labels, or by its image however it was installed.
fn manager(deployment: &Deployment) -> Option<UpstreamKueue> {
    let spec = deployment.spec.as_ref()?;
    if spec.replicas == Some(0) || is_managed_by_lab(deployment) {
        return None;
    }
    let pod = spec.template.spec.as_ref()?;
    let is_kueue = |image: &str| {
        let path = image.split(['@']).next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        let name = name.split(':').next().unwrap_or_default();
        name == "kueue" || name == "kueue-controller"
    };
    let images = || pod.containers.iter().filter_map(|c| c.image.as_deref());
    let label = |key: &str, value: &str| deployment.labels().get(key).is_some_and(|v| v == value);
    let labelled =
        label("app.kubernetes.io/name", "kueue") && label("control-plane", "controller-manager");
    let image = images().find(|i| is_kueue(i)).or_else(|| match labelled {
        true => images().next(),
        false => None,
    })?;
    Some(UpstreamKueue::Deployment {
        namespace: deployment.namespace().unwrap_or_default(),
        name: deployment.name_any(),
        image: image.to_owned(),
    })
}

/// The leader of this Lease, if it is still held.
fn leader(lease: &Lease, own: &str, now: Timestamp) -> Option<UpstreamKueue> {
    // Labs elect their leader with a Lease of the same name.
    if lease.namespace().as_deref() == Some(own) {
        return None;
    }
    let spec = lease.spec.as_ref()?;
    let holder = spec.holder_identity.as_deref().filter(|h| !h.is_empty())?;
    let lasts = SignedDuration::from_secs(spec.lease_duration_seconds.unwrap_or(0).into());
    let ends = spec.renew_time.as_ref()?.0.checked_add(lasts).ok()?;
    (ends > now).then(|| UpstreamKueue::Leader {
        namespace: lease.namespace().unwrap_or_default(),
        holder: holder.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use kueue_lab_install::MANAGED_BY;

    fn deployment(labels: Value, image: &str, replicas: i32) -> Deployment {
        serde_json::from_value(json!({
            "metadata": {"namespace": "ns", "name": "d", "labels": labels},
            "spec": {
                "replicas": replicas, "selector": {},
                "template": {"spec": {"containers": [{"name": "manager", "image": image}]}},
            },
        }))
        .unwrap()
    }

    #[test]
    fn manager_is_recognized_by_labels_or_image() {
        let upstream =
            json!({"app.kubernetes.io/name": "kueue", "control-plane": "controller-manager"});
        let found = |labels: &Value, image, replicas| {
            manager(&deployment(labels.clone(), image, replicas)).is_some()
        };
        assert!(found(&upstream, "registry.example.com/mirror:v1", 1));
        assert!(found(&json!({}), "registry.k8s.io/kueue/kueue:v0.14.1", 1));
        assert!(found(&json!({}), "quay.io/x/kueue@sha256:0123", 2));
        assert!(!found(&upstream, "registry.k8s.io/kueue/kueue:v0.14.1", 0));
        assert!(!found(
            &json!({}),
            "registry.k8s.io/kueue/kueue-viz-backend:v1",
            1
        ));
        assert!(!found(&json!({MANAGED_BY.0: MANAGED_BY.1}), "kueue:v1", 1));
    }

    #[test]
    fn a_lease_counts_as_long_as_it_is_held() {
        let lease = |holder: &str| -> Lease {
            serde_json::from_value(json!({
                "metadata": {"namespace": "ns", "name": LEADER_ELECTION_ID},
                "spec": {
                    "holderIdentity": holder, "leaseDurationSeconds": 15,
                    "renewTime": "2026-03-02T12:00:00.000000Z",
                },
            }))
            .unwrap()
        };
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        assert!(leader(&lease("pod_1"), "own", at("2026-03-02T12:00:14Z")).is_some());
        assert!(leader(&lease("pod_1"), "own", at("2026-03-02T12:00:16Z")).is_none());
        assert!(leader(&lease(""), "own", at("2026-03-02T12:00:01Z")).is_none());
        assert!(leader(&lease("pod_1"), "ns", at("2026-03-02T12:00:14Z")).is_none());
    }
}
