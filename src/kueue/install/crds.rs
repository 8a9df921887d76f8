//! Applies the CustomResourceDefinitions, upgrades them in place and waits until they are
//! established.
//!
//! A compatible CRD of another owner is adopted: it is upgraded, its previous conversion is
//! recorded in an annotation, and uninstall keeps it.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::{InstallError, WebhookEndpoint, dynamic_objects, is_managed_by_lab};
use kueue_lab_api::crds::{CRDS, Conversion, Crd};
use kueue_lab_api::v1beta2::GROUP;
use kueue_lab_clock::Clock;
use kueue_lab_webhooks::CONVERT;

/// Annotation of adopted CRDs: the previous `spec.conversion` as JSON.
pub(super) const CONVERSION_BEFORE_ANNOTATION: &str = "kueue-lab.dev/conversion-before";

/// Timeout until a CRD is established.
const ESTABLISHED_TIMEOUT: Duration = Duration::from_secs(60);
/// Poll interval until then.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The plan for a CRD.
#[derive(Debug, PartialEq)]
enum CrdPlan {
    /// A CRD managed by the lab is applied.
    Own,
    /// A compatible CRD of another owner is applied, and its conversion is recorded.
    Adopt(Value),
    /// An existing CRD of another API group is unchanged.
    Leave,
}

pub(super) fn crd_api_resource() -> ApiResource {
    dynamic_objects::api_resource::<CustomResourceDefinition>()
}

pub(super) async fn install(
    client: &Client,
    clock: &Clock,
    endpoint: Option<&WebhookEndpoint>,
) -> Result<(), InstallError> {
    // All CRDs are checked before any is written, so that no install is partial.
    let mut plans = Vec::new();
    for crd in CRDS {
        let existing = dynamic_objects::get(client, &crd_api_resource(), None, &crd.name()).await?;
        plans.push((crd, plan(crd, existing.as_ref())?, existing));
    }
    let mut waiting = Vec::new();
    for (crd, plan, existing) in plans {
        let mut object = desired_crd(crd, endpoint);
        match plan {
            CrdPlan::Leave => continue,
            CrdPlan::Own => {}
            CrdPlan::Adopt(conversion) => {
                object["metadata"]["annotations"][CONVERSION_BEFORE_ANNOTATION] =
                    conversion.to_string().into();
                if let Some(existing) = &existing {
                    let change =
                        json!({"spec": {"conversion": conversion_patch(&object, existing)}});
                    dynamic_objects::merge_patch(client, &crd_api_resource(), existing, &change)
                        .await?;
                }
            }
        }
        dynamic_objects::apply(client, &crd_api_resource(), None, object).await?;
        waiting.push(crd.name());
    }
    for name in waiting {
        wait_until_established(client, clock, &name).await?;
    }
    Ok(())
}

fn plan(crd: &Crd, existing: Option<&DynamicObject>) -> Result<CrdPlan, InstallError> {
    let Some(existing) = existing else {
        return Ok(CrdPlan::Own);
    };
    if crd.group != GROUP && !is_managed_by_lab(existing) {
        return Ok(CrdPlan::Leave);
    }
    let stored = existing.data["status"]["storedVersions"].as_array();
    let stored = stored.into_iter().flatten().filter_map(Value::as_str);
    let unknown: Vec<_> = stored.filter(|v| crd.version(v).is_none()).collect();
    if !unknown.is_empty() {
        return Err(InstallError::UnknownStoredVersions {
            name: crd.name(),
            versions: unknown.join(", "),
        });
    }
    let annotations = existing.metadata.annotations.as_ref();
    let recorded = annotations
        .and_then(|a| a.get(CONVERSION_BEFORE_ANNOTATION))
        .and_then(|n| serde_json::from_str(n).ok());
    Ok(match (recorded, is_managed_by_lab(existing)) {
        (Some(recorded), _) => CrdPlan::Adopt(recorded),
        (None, true) => CrdPlan::Own,
        (None, false) => CrdPlan::Adopt(existing.data["spec"]["conversion"].clone()),
    })
}

/// The desired CRD.
fn desired_crd(crd: &Crd, endpoint: Option<&WebhookEndpoint>) -> Value {
    let Some(endpoint) = endpoint else {
        let mut object = crd.object(&Conversion::None);
        let versions = object["spec"]["versions"].as_array_mut();
        for version in versions
            .into_iter()
            .flatten()
            .filter(|_| crd.needs_conversion)
        {
            // Without a conversion webhook old versions would return wrong objects.
            version["served"] = version["storage"].clone();
        }
        return object;
    };
    let mut client = endpoint.route.client_config(endpoint.address, CONVERT);
    client["caBundle"] = STANDARD.encode(&endpoint.authority).into();
    crd.object(&Conversion::Webhook(client))
}

/// A merge patch from the existing `spec.conversion` to the desired one. Apply alone would keep
/// fields of other managers, and `url` and `service` are mutually exclusive.
fn conversion_patch(object: &Value, existing: &DynamicObject) -> Value {
    let mut conversion = object["spec"]["conversion"].clone();
    if conversion["webhook"].is_null() {
        conversion["webhook"] = Value::Null;
        return conversion;
    }
    let before = &existing.data["spec"]["conversion"]["webhook"]["clientConfig"];
    let client = &mut conversion["webhook"]["clientConfig"];
    for field in ["url", "service"] {
        if client.get(field).is_none() && before.get(field).is_some() {
            client[field] = Value::Null;
        }
    }
    conversion
}

/// Waits until a CRD is established.
async fn wait_until_established(
    client: &Client,
    clock: &Clock,
    name: &str,
) -> Result<(), InstallError> {
    let not_served = |reason: String| InstallError::NotServed {
        name: name.to_owned(),
        reason,
    };
    let attempts = ESTABLISHED_TIMEOUT.as_millis() / POLL_INTERVAL.as_millis();
    for _ in 0..attempts {
        let object = dynamic_objects::get(client, &crd_api_resource(), None, name).await?;
        let object = object.ok_or_else(|| not_served("it was deleted".into()))?;
        let condition = |wanted: &str| {
            let conditions = object.data["status"]["conditions"].as_array();
            let mut conditions = conditions.into_iter().flatten();
            conditions.find(|c| c["type"] == wanted).cloned()
        };
        if condition("Established").is_some_and(|c| c["status"] == "True") {
            return Ok(());
        }
        if let Some(names) = condition("NamesAccepted").filter(|c| c["status"] == "False") {
            let reason = names["message"].as_str().unwrap_or("its names are taken");
            return Err(not_served(reason.to_owned()));
        }
        clock.sleep(POLL_INTERVAL).await;
    }
    Err(not_served(format!(
        "not within {} s",
        ESTABLISHED_TIMEOUT.as_secs()
    )))
}

/// Restores the conversion of an adopted CRD and removes the lab's label.
pub(super) async fn restore_adopted_crd(
    client: &Client,
    existing: &DynamicObject,
) -> Result<(), InstallError> {
    let annotations = existing.metadata.annotations.as_ref();
    let before = annotations.and_then(|a| a.get(CONVERSION_BEFORE_ANNOTATION));
    let before: Value = before
        .and_then(|b| serde_json::from_str(b).ok())
        .unwrap_or_default();
    let conversion = match before {
        Value::Null => json!({"strategy": "None", "webhook": null}),
        mut before => {
            if before["webhook"].is_null() {
                before["webhook"] = Value::Null;
            } else {
                // The patch is merged into the lab's conversion: absent fields have to be removed.
                let client = &mut before["webhook"]["clientConfig"];
                for field in ["url", "service", "caBundle"] {
                    if client.get(field).is_none() {
                        client[field] = Value::Null;
                    }
                }
            }
            before
        }
    };
    let change = json!({
        "metadata": {"labels": {super::MANAGED_BY.0: null}, "annotations": {CONVERSION_BEFORE_ANNOTATION: null}},
        "spec": {"conversion": conversion},
    });
    dynamic_objects::merge_patch(client, &crd_api_resource(), existing, &change)
        .await
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FailurePolicy, WebhookRoute};

    fn queues() -> &'static Crd {
        CRDS.iter().find(|c| c.kind == "ClusterQueue").unwrap()
    }

    fn existing(more: &Value) -> DynamicObject {
        let mut object = json!({"metadata": {"name": "x"}, "spec": {}, "status": {}});
        json_patch::merge(&mut object, more);
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn compatible_foreign_crds_are_adopted() {
        assert_eq!(plan(queues(), None).unwrap(), CrdPlan::Own);
        let conversion = json!({"strategy": "None"});
        let fits = existing(&json!({
            "spec": {"conversion": conversion},
            "status": {"storedVersions": ["v1beta1", "v1beta2"]},
        }));
        assert_eq!(
            plan(queues(), Some(&fits)).unwrap(),
            CrdPlan::Adopt(conversion.clone())
        );
        let again = existing(&json!({
            "metadata": {
                "labels": {"app.kubernetes.io/managed-by": "kueue-lab"},
                "annotations": {CONVERSION_BEFORE_ANNOTATION: conversion.to_string()},
            },
            "spec": {"conversion": {"strategy": "Webhook"}},
        }));
        assert_eq!(
            plan(queues(), Some(&again)).unwrap(),
            CrdPlan::Adopt(conversion)
        );
        let old = existing(&json!({"status": {"storedVersions": ["v1alpha2", "v1beta1"]}}));
        let error = plan(queues(), Some(&old)).unwrap_err().to_string();
        assert!(
            error.contains("v1alpha2,") && !error.contains("v1beta1,"),
            "{error}"
        );
        let autoscaler = CRDS.iter().find(|c| c.group != GROUP).unwrap();
        assert_eq!(plan(autoscaler, Some(&fits)).unwrap(), CrdPlan::Leave);
    }

    #[test]
    fn old_versions_are_served_only_with_a_conversion_webhook() {
        let alone = desired_crd(queues(), None);
        let served = |object: &Value| -> Vec<(String, bool)> {
            let versions = object["spec"]["versions"].as_array().unwrap().iter();
            versions
                .map(|v| (v["name"].as_str().unwrap().into(), v["served"] == true))
                .collect()
        };
        assert_eq!(
            served(&alone),
            [("v1beta1".into(), false), ("v1beta2".into(), true)]
        );
        let endpoint = WebhookEndpoint {
            route: WebhookRoute::Loopback,
            address: "127.0.0.1:9443".parse().unwrap(),
            authority: "PEM".into(),
            failure_policy: FailurePolicy::Ignore,
        };
        let with = desired_crd(queues(), Some(&endpoint));
        assert!(served(&with).iter().all(|(_, served)| *served));
        let client = &with["spec"]["conversion"]["webhook"]["clientConfig"];
        assert_eq!(client["url"], "https://127.0.0.1:9443/convert");
        assert_eq!(client["caBundle"], STANDARD.encode("PEM"));
    }
}
