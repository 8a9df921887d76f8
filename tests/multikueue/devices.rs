//! Dynamic resource allocation: the worker with the ResourceClaimTemplate and the devices admits.

use std::future::Future;

use kueue_lab_api::config::{DeviceClassMapping, Resources};
use serde_json::{Value, json};

use crate::fixture::{Fixture, On, QUEUES, configuration, with_queues, with_workers};
use crate::objects::{assignment, finished, job};

const NODES: &str = "pools:
- name: cpu
  count: 2
  resources: {cpu: 8, memory: 32Gi, pods: 110}
  devices:
  - {driver: gpu.example.com, count: 2}
";

const CLASS: &str = "apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: device.driver == 'gpu.example.com'}}]}";

/// Two workers with quota for devices; all clusters have the DeviceClass.
fn with_devices<F: Future<Output = Fixture>>(test: impl FnOnce(Fixture) -> F) {
    let queues = QUEUES
        .replace("coveredResources: [cpu]", "coveredResources: [cpu, gpus]")
        .replace(
            "{name: cpu, nominalQuota: 4}",
            "{name: cpu, nominalQuota: 4}, {name: gpus, nominalQuota: 3}",
        );
    let mapped = |config: &mut _| {
        configuration(config).resources = Some(Resources {
            device_class_mappings: vec![DeviceClassMapping {
                name: "gpus".into(),
                device_class_names: vec!["gpu.example.com".into()],
                sources: Vec::new(),
            }],
            ..Default::default()
        });
    };
    with_queues(2, (&queues, NODES), mapped, |f| async move {
        for on in [On::Manager, On::Worker(1), On::Worker(2)] {
            f.apply(on, CLASS).await;
        }
        test(f).await
    });
}

fn template(name: &str, count: u32) -> String {
    format!(
        "apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {{name: {name}, namespace: default}}
spec: {{spec: {{devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: gpu.example.com, count: {count}}}}}]}}}}}}"
    )
}

/// A Job whose pods have a claim of each template.
fn job_with_claims(templates: &[&str]) -> String {
    let entries = |field: &str| {
        let entries = templates.iter().map(|name| {
            json!({"name": name, "resourceClaimTemplateName": name})
                .as_object()
                .unwrap()
                .iter()
                .filter(|(key, _)| field == "resourceClaims" || *key == "name")
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect::<serde_json::Map<_, _>>()
        });
        json!(entries.collect::<Vec<_>>()).to_string()
    };
    job("a", 1, 30)
        .replace(
            "      restartPolicy: Never",
            &format!(
                "      restartPolicy: Never\n      resourceClaims: {}",
                entries("resourceClaims")
            ),
        )
        .replace(
            "resources: {requests: {cpu: 1}}",
            &format!(
                "resources: {{requests: {{cpu: 1}}, claims: {}}}",
                entries("claims")
            ),
        )
}

#[test]
fn a_job_with_devices_runs_in_the_worker_that_has_its_template() {
    with_devices(|f| async move {
        for on in [On::Manager, On::Worker(2)] {
            f.apply(on, &template("gpu", 2)).await;
        }
        f.apply(On::Manager, &job_with_claims(&["gpu"])).await;
        let name = f.workload(On::Manager, "job-a-").await;
        assert_eq!(f.until_dispatched(&name).await, 2);
        let workload = f.find(On::Worker(2), "Workload", &name).await.unwrap();
        let usage = json!({"cpu": "1", "gpus": "2"});
        assert_eq!(assignment(&workload)["resourceUsage"], usage);
        f.until(On::Manager, "Workload", &name, finished).await;
        f
    });
}

#[test]
fn a_job_whose_template_no_worker_has_is_not_dispatched() {
    with_devices(|f| async move {
        f.apply(On::Manager, &template("gpu", 1)).await;
        f.apply(On::Manager, &job_with_claims(&["gpu"])).await;
        let name = f.workload(On::Manager, "job-a-").await;
        for worker in [1, 2] {
            f.until(On::Worker(worker), "Workload", &name, |_| true)
                .await;
        }
        f.sleep(120).await;
        let workload = f.find(On::Manager, "Workload", &name).await.unwrap();
        assert_eq!(workload["status"]["clusterName"], Value::Null);
        // The template is created later.
        f.apply(On::Worker(1), &template("gpu", 1)).await;
        assert_eq!(f.until_dispatched(&name).await, 1);
        f
    });
}

#[test]
fn devices_of_all_templates_and_pods_count() {
    with_devices(|f| async move {
        for on in [On::Manager, On::Worker(1), On::Worker(2)] {
            f.apply(on, &template("one", 1)).await;
        }
        // Two devices in worker 2: each pod gets one of each template.
        for on in [On::Manager, On::Worker(2)] {
            f.apply(on, &template("other", 1)).await;
        }
        let quota = json!({"spec": {"resourceGroups": [{
            "coveredResources": ["cpu", "gpus"],
            "flavors": [{"name": "default-flavor", "resources": [
                {"name": "cpu", "nominalQuota": "4"}, {"name": "gpus", "nominalQuota": "4"},
            ]}],
        }]}});
        for on in [On::Manager, On::Worker(2)] {
            f.patch(on, "ClusterQueue", "cq", quota.clone()).await;
        }
        let yaml = job_with_claims(&["one", "other"]).replace(
            "  template:\n",
            "  parallelism: 2\n  completions: 2\n  template:\n",
        );
        f.apply(On::Manager, &yaml).await;
        let name = f.workload(On::Manager, "job-a-").await;
        assert_eq!(f.until_dispatched(&name).await, 2);
        let workload = f.find(On::Worker(2), "Workload", &name).await.unwrap();
        let usage = json!({"cpu": "2", "gpus": "4"});
        assert_eq!(assignment(&workload)["resourceUsage"], usage);
        f.until(On::Worker(2), "Job", "a", |job| {
            job["status"]["active"] == 2
        })
        .await;
        f.until(On::Manager, "Workload", &name, finished).await;
        f
    });
}

/// Gives a worker a counter whose amounts are written with binary suffixes.
async fn map_counter(f: &Fixture, worker: usize, resource: &str) {
    let on = On::Worker(worker);
    let map = f
        .find(on, "ConfigMap", "kueue-manager-config")
        .await
        .unwrap();
    let key = "controller_manager_config.yaml";
    let text = map["data"][key].as_str().unwrap();
    let mut configuration: Value = serde_yaml::from_str(text).unwrap();
    let counter = json!({"name": "memory", "driver": "gpu.example.com", "deviceSelector": {"cel": {"expression": "true"}}});
    configuration["resources"] = json!({"deviceClassMappings": [{
        "name": resource, "deviceClassNames": ["gpu.example.com"],
        "sources": [{"counter": counter}],
    }]});
    configuration["featureGates"] =
        json!({"KueueDRAIntegration": true, "KueueDRAIntegrationPartitionableDevices": true});
    let data = json!({"data": {key: configuration.to_string()}});
    f.patch(on, "ConfigMap", "kueue-manager-config", data).await;
    f.restart_controller(on).await;
}

#[test]
fn each_worker_formats_the_counters_of_its_own_configuration() {
    with_workers(2, |f| async move {
        let resources = ["example.com/first", "example.com/second"];
        for worker in [1, 2] {
            map_counter(&f, worker, resources[worker - 1]).await;
            let quotas = resources.map(|name| json!({"name": name, "nominalQuota": "20Gi"}));
            let group = json!({"coveredResources": resources, "flavors": [{"name": "default-flavor", "resources": quotas}]});
            let spec = json!({"spec": {"resourceGroups": [group]}});
            f.patch(On::Worker(worker), "ClusterQueue", "cq", spec)
                .await;
            let requests = "{example.com/first: 9984Mi, example.com/second: 9984Mi}";
            let limits = format!("resources: {{limits: {requests}, requests: {requests}}}");
            let yaml = job("a", 1, 3600).replace("resources: {requests: {cpu: 1}}", &limits);
            f.apply(On::Worker(worker), &yaml).await;
            let queue = f
                .until(On::Worker(worker), "ClusterQueue", "cq", |queue| {
                    let usage = &queue["status"]["flavorsReservation"][0]["resources"];
                    usage.as_array().is_some_and(|usage| {
                        usage.len() == 2 && usage.iter().all(|resource| resource["total"] != "0")
                    })
                })
                .await;
            let usage = queue["status"]["flavorsReservation"][0]["resources"].clone();
            let total = |name: &str| {
                let mut usage = usage.as_array().unwrap().iter();
                usage.find(|r| r["name"] == name).unwrap()["total"].clone()
            };
            assert_eq!(total(resources[worker - 1]), "9984Mi");
            assert_eq!(total(resources[2 - worker]), "10468982784");
        }
        f
    });
}
