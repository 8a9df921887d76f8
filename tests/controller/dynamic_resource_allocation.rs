//! Devices of dynamic resource allocation in quota.

use kueue_lab_api::config;
use kueue_lab_controller::ControllerConfig;
use serde_json::json;

use super::cluster_fixture::*;

/// A configuration that maps device class `gpu.example.com` to the resource `gpus`.
fn config_with_device_class_mapping() -> ControllerConfig {
    let mut config = ControllerConfig::default();
    config.configuration.resources = Some(config::Resources {
        device_class_mappings: vec![config::DeviceClassMapping {
            name: "gpus".into(),
            device_class_names: vec!["gpu.example.com".into()],
            sources: Vec::new(),
        }],
        ..Default::default()
    });
    config
}

/// Queues with quota for 4 `gpus` and 4 `example.com/nic`.
fn queues() -> String {
    QUEUES
        .replace(
            "coveredResources: [cpu]",
            "coveredResources: [cpu, gpus, example.com/nic]",
        )
        .replace(
            "{name: cpu, nominalQuota: 9}",
            "{name: cpu, nominalQuota: 9}, {name: gpus, nominalQuota: 4}, {name: example.com/nic, nominalQuota: 4}",
        )
}

fn template(name: &str, count: u32) -> String {
    format!(
        "apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {{name: {name}, namespace: ns}}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly: {{deviceClassName: gpu.example.com, count: {count}}}"
    )
}

/// A Workload whose pod claims devices from a template.
fn workload_with_claim(name: &str, template: &str) -> String {
    workload(name, 1, 0).replace(
        "        restartPolicy: Never",
        &format!(
            "        restartPolicy: Never
        resourceClaims: [{{name: gpu, resourceClaimTemplateName: {template}}}]"
        ),
    )
}

const CLASS: &str = "apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {extendedResourceName: example.com/gpu}";

#[test]
fn claims_count_towards_quota() {
    with_config(config_with_device_class_mapping(), |w| async move {
        w.apply(&queues()).await;
        w.apply(&template("three", 3)).await;
        w.sleep(2).await;
        w.apply(&workload_with_claim("a", "three")).await;
        w.until("a", "Admitted", "True/Admitted").await;
        let wl = w.get("Workload", "a").await;
        assert_eq!(
            wl["status"]["admission"]["podSetAssignments"][0]["resourceUsage"],
            json!({"cpu": "1", "gpus": "3"})
        );
        w.apply(&workload_with_claim("b", "three")).await;
        w.until("b", "QuotaReserved", "False/WaitingForQuota").await;
        assert_eq!(
            w.condition("b", "QuotaReserved").await.unwrap(),
            "False/WaitingForQuota: couldn't assign flavors to pod set main: insufficient unused quota for gpus in flavor default-flavor, 2 more needed"
        );
        // The workload keeps its devices when it is requeued.
        w.workloads()
            .delete("a", &Default::default())
            .await
            .unwrap();
        w.until("b", "Admitted", "True/Admitted").await;
        let wl = w.get("Workload", "b").await;
        assert_eq!(
            wl["status"]["admission"]["podSetAssignments"][0]["resourceUsage"],
            json!({"cpu": "1", "gpus": "3"})
        );
    });
}

#[test]
fn a_workload_is_pending_without_its_template() {
    with_config(config_with_device_class_mapping(), |w| async move {
        w.apply(&queues()).await;
        w.sleep(2).await;
        w.apply(&workload_with_claim("a", "late")).await;
        w.until("a", "QuotaReserved", "False/Misconfigured").await;
        let message = "spec.podSets[0].template.spec.resourceClaims[0]: Internal error: failed to get claim spec for ResourceClaimTemplate late in podset main: ResourceClaimTemplate.resource.k8s.io \"late\" not found";
        assert_eq!(
            w.condition("a", "QuotaReserved").await.unwrap(),
            format!("False/Misconfigured: {message}")
        );
        assert_eq!(
            w.condition("a", "Requeued").await.unwrap(),
            format!("False/Inadmissible: {message}")
        );
        w.apply(&template("late", 1)).await;
        w.until("a", "Admitted", "True/Admitted").await;
        assert_eq!(w.condition("a", "Requeued").await, None);
    });
}

#[test]
fn unsupported_claims_are_reported() {
    with_config(config_with_device_class_mapping(), |w| async move {
        w.apply(&queues()).await;
        w.apply(&template("all", 1).replace("count: 1", "allocationMode: All"))
            .await;
        w.apply(&template("unmapped", 1).replace("gpu.example.com", "other"))
            .await;
        w.sleep(2).await;
        w.apply(&workload_with_claim("all", "all")).await;
        w.apply(&workload_with_claim("unmapped", "unmapped")).await;
        let named = workload_with_claim("named", "x")
            .replace("resourceClaimTemplateName", "resourceClaimName");
        w.apply(&named).await;
        let claim = "spec.podSets[0].template.spec.resourceClaims[0]";
        let expected = [
            (
                "all",
                format!(
                    "{claim}.devices.requests[0].exactly.allocationMode: Invalid value: \"All\": ResourceClaimTemplate all: AllocationMode 'All' is not supported"
                ),
            ),
            (
                "unmapped",
                format!(
                    "{claim}.resourceClaimTemplateName: Not found: \"DeviceClass other is not mapped in DRA configuration for podset main\""
                ),
            ),
            (
                "named",
                "KueueDRAIntegration feature does not support use of resource claims".to_owned(),
            ),
        ];
        for (name, message) in expected {
            w.until(name, "QuotaReserved", "False/Misconfigured").await;
            assert_eq!(
                w.condition(name, "QuotaReserved").await.unwrap(),
                format!("False/Misconfigured: {message}")
            );
        }
        assert_eq!(
            w.condition("named", "Requeued").await.unwrap(),
            "False/Inadmissible: DRA resource claims not supported"
        );
    });
}

#[test]
fn an_extended_resource_is_mapped_to_its_device_class() {
    with_config(config_with_device_class_mapping(), |w| async move {
        w.apply(&queues()).await;
        w.sleep(2).await;
        let yaml = workload("a", 1, 0).replace("{cpu: 1}", "{cpu: 1, example.com/gpu: 2}");
        w.apply(&yaml).await;
        // No ClusterQueue has quota for the name of the extended resource.
        w.until("a", "QuotaReserved", "False/NoMatchingFlavor")
            .await;
        w.apply(CLASS).await;
        w.until("a", "Admitted", "True/Admitted").await;
        let wl = w.get("Workload", "a").await;
        assert_eq!(
            wl["status"]["admission"]["podSetAssignments"][0]["resourceUsage"],
            json!({"cpu": "1", "gpus": "2"})
        );
    });
}

#[test]
fn claims_are_rejected_without_the_feature_gate() {
    use kueue_lab_api::config::Feature;
    let config = ControllerConfig {
        gates: ControllerConfig::default()
            .gates
            .with(Feature::KueueDRAIntegration, false),
        ..config_with_device_class_mapping()
    };
    with_config(config, |w| async move {
        w.apply(&queues()).await;
        w.apply(&workload_with_claim("a", "three")).await;
        w.until("a", "Requeued", "False/Inadmissible").await;
        let message =
            "Workload uses DRA resources but the KueueDRAIntegration feature gate is not enabled";
        assert_eq!(
            w.condition("a", "QuotaReserved").await.unwrap(),
            format!("False/Misconfigured: {message}")
        );
    });
}
