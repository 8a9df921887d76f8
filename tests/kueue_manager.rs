//! Kueue's controller manager on the embedded cluster, as clients of an installation see it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use kueue_lab_clock::Entropy;
use kueue_lab_clock::{Clock, virtual_runtime};
use kueue_lab_controller::ControllerConfig;
use kueue_lab_install::FailurePolicy;
use kueue_lab_lab::{Lab, LabConfig};
use kueue_lab_manager::{Operator, OperatorConfig};
use kueue_lab_nodes::NodePools;
use kueue_lab_webhooks::certificates::CertificateLifetimes;
use serde_json::{Value, json};

const NAMESPACE: &str = "kueue-system";
const LEASE: &str = "c1f6bfd2.kueue.x-k8s.io";
const NODES: &str = "pools:\n- name: cpu\n  count: 1\n  resources: {cpu: 4, memory: 8Gi}\n";

/// A lab without queues, in virtual time.
struct ManagerLab {
    lab: Lab,
    client: Client,
    clock: Clock,
}

fn with_lab<F: Future<Output = ()>>(test: impl FnOnce(ManagerLab) -> F) {
    virtual_runtime().unwrap().block_on(async {
        let presets = tempfile::tempdir().unwrap();
        let clock = Clock::starting_at("2026-03-02T12:00:00Z".parse().unwrap());
        let mut config = LabConfig::embedded(clock.clone(), Entropy::seeded(1), presets.path());
        config.components.nodes = NodePools::parse(NODES).unwrap();
        config.components.operators = false;
        let lab = Lab::start(config);
        let lab = lab.await.unwrap();
        test(ManagerLab {
            client: lab.client(),
            lab,
            clock,
        })
        .await;
    });
}

impl ManagerLab {
    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    async fn until<T>(&self, what: &str, reached: impl AsyncFn() -> Option<T>) -> T {
        for _ in 0..600 {
            if let Some(value) = reached().await {
                return value;
            }
            self.clock.sleep(Duration::from_millis(500)).await;
        }
        panic!("timed out waiting until {what}");
    }

    /// The Pod that holds the Lease, as its holder identity names it.
    async fn leader(&self) -> Option<String> {
        let lease = self.api::<Lease>().get_opt(LEASE).await.unwrap()?;
        let holder = lease.spec?.holder_identity?;
        let (pod, id) = holder.split_once('_')?;
        (!id.is_empty()).then(|| pod.to_owned())
    }

    /// Waits until the Deployment is rolled out; returns its Pod.
    async fn rolled_out(&self) -> Pod {
        let name = "kueue-controller-manager";
        self.until("the Deployment is available", async || {
            let deployment = self.api::<Deployment>().get_opt(name).await.unwrap()?;
            let status = deployment.status?;
            let conditions = status.conditions.unwrap_or_default();
            let available = conditions
                .iter()
                .any(|c| c.type_ == "Available" && c.status == "True");
            let complete = status.observed_generation == deployment.metadata.generation
                && [
                    status.replicas,
                    status.updated_replicas,
                    status.available_replicas,
                ] == [Some(1); 3];
            (available && complete).then_some(())
        })
        .await;
        let params = ListParams::default().labels("control-plane=controller-manager");
        let mut pods = self.api::<Pod>().list(&params).await.unwrap().items;
        pods.retain(|pod| pod.metadata.deletion_timestamp.is_none());
        assert_eq!(pods.len(), 1);
        pods.remove(0)
    }

    async fn get(&self, path: &str) -> Result<String, kube::Error> {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        self.client.request_text(request).await
    }
}

const METRICS: &str = "/api/v1/namespaces/kueue-system/services/https:kueue-controller-manager-metrics-service:8443/proxy/metrics";

#[test]
fn the_objects_of_an_installation_are_there() {
    with_lab(|lab| async move {
        let pod = lab.rolled_out().await;
        assert_eq!(pod.labels()["app.kubernetes.io/name"], "kueue");
        let spec = pod.spec.as_ref().unwrap();
        let image = spec.containers[0].image.as_deref().unwrap();
        assert!(
            image.starts_with("registry.k8s.io/kueue/kueue:v"),
            "{image}"
        );
        // The webhook Service has the address of the ready Pod.
        let address = pod.status.unwrap().pod_ip.unwrap();
        let params =
            ListParams::default().labels("kubernetes.io/service-name=kueue-webhook-service");
        lab.until("the webhook Service has the Pod's address", async || {
            let slices = lab.api::<EndpointSlice>().list(&params).await.unwrap();
            let endpoints = slices.iter().flat_map(|s| s.endpoints.iter().flatten());
            let addresses: Vec<_> = endpoints.flat_map(|e| e.addresses.clone()).collect();
            (addresses == [address.clone()]).then_some(())
        })
        .await;
        let config = lab.api::<ConfigMap>().get("kueue-manager-config").await;
        let config = config.unwrap().data.unwrap();
        assert!(config["controller_manager_config.yaml"].contains("kind: Configuration"));
        lab.until("the other objects exist", async || {
            let metrics = "kueue-controller-manager-metrics-service";
            lab.api::<Service>().get_opt(metrics).await.unwrap()?;
            lab.api::<Service>()
                .get_opt("kueue-visibility-server")
                .await
                .unwrap()?;
            lab.api::<Secret>()
                .get_opt("kueue-webhook-server-cert")
                .await
                .unwrap()?;
            let roles: Api<ClusterRole> = Api::all(lab.client.clone());
            let role = roles.get_opt("kueue-batch-admin-role").await.unwrap()?;
            // Aggregated from the roles of the kinds.
            (!role.rules?.is_empty()).then_some(())
        })
        .await;
        lab.lab.stop().await;
    });
}

/// The caBundles of Kueue's webhook configurations and of a CustomResourceDefinition.
async fn ca_bundles(client: &Client) -> Vec<Value> {
    let mut found = Vec::new();
    for path in [MUTATING, VALIDATING] {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let Ok(configuration) = client.request::<Value>(request).await else {
            return Vec::new();
        };
        let hooks = configuration["webhooks"].as_array().unwrap().iter();
        found.extend(hooks.map(|hook| hook["clientConfig"]["caBundle"].clone()));
    }
    let request = http::Request::get(DEFINITION).body(Vec::new()).unwrap();
    let definition: Value = client.request(request).await.unwrap();
    let conversion = &definition["spec"]["conversion"]["webhook"];
    found.push(conversion["clientConfig"]["caBundle"].clone());
    found
}

const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/kueue-mutating-webhook-configuration";
const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/kueue-validating-webhook-configuration";
const DEFINITION: &str =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/localqueues.kueue.x-k8s.io";

/// Waits until all caBundles are the authority in the Secret; returns it.
async fn rotated(lab: &ManagerLab) -> Value {
    let what = "all caBundles are the authority of the Secret";
    let secrets = lab.api::<Secret>();
    lab.until(what, async || {
        let secret = secrets.get_opt("kueue-webhook-server-cert").await;
        let data = secret.unwrap()?.data?;
        let authority = json!(data.get("ca.crt")?);
        let bundles = ca_bundles(&lab.client).await;
        (!bundles.is_empty() && bundles.iter().all(|bundle| *bundle == authority))
            .then_some(authority)
    })
    .await
}

#[test]
fn the_certificate_of_the_webhooks_is_rotated() {
    with_lab(|lab| async move {
        let first = rotated(&lab).await;
        let merge = async |path: &str, patch: Value| {
            let request = http::Request::patch(path)
                .header("content-type", "application/merge-patch+json")
                .body(patch.to_string().into_bytes())
                .unwrap();
            lab.client.request::<Value>(request).await.unwrap()
        };
        let request = http::Request::get(MUTATING).body(Vec::new()).unwrap();
        let mut configuration: Value = lab.client.request(request).await.unwrap();
        for hook in configuration["webhooks"].as_array_mut().unwrap() {
            hook["clientConfig"]["caBundle"].take();
        }
        let cleared = json!({"webhooks": configuration["webhooks"]});
        let written = merge(MUTATING, cleared).await;
        assert!(written["webhooks"][0]["clientConfig"]["caBundle"].is_null());
        let client = json!({"clientConfig": {"caBundle": null}});
        merge(
            DEFINITION,
            json!({"spec": {"conversion": {"webhook": client}}}),
        )
        .await;
        assert_eq!(rotated(&lab).await, first);

        // A Secret without a valid certificate: the same one is stored again.
        let secret = "/api/v1/namespaces/kueue-system/secrets/kueue-webhook-server-cert";
        merge(secret, json!({"data": {"tls.crt": null, "ca.crt": null}})).await;
        assert_eq!(rotated(&lab).await, first);

        // An authority that cannot be read is replaced.
        merge(secret, json!({"data": {"ca.crt": "AAAA"}})).await;
        let second = rotated(&lab).await;
        assert!(second != first && second != "AAAA", "{second}");
        lab.lab.stop().await;
    });
}

#[test]
fn metrics_are_served_through_the_service_proxy() {
    with_lab(|lab| async move {
        let text = lab
            .until("the metrics are served", async || {
                lab.get(METRICS).await.ok()
            })
            .await;
        assert!(text.contains("kueue_build_info{"), "{text}");
        let other = METRICS.replace("/proxy/metrics", "/proxy/other");
        assert!(lab.get(&other).await.is_err());
        let wrong = METRICS.replace(":8443", ":1");
        let Err(kube::Error::Api(status)) = lab.get(&wrong).await else {
            panic!("a port that the Service does not have");
        };
        assert_eq!(status.code, 503);
        lab.lab.stop().await;
    });
}

#[test]
fn the_pod_holds_the_lease_and_its_successor_takes_it_over() {
    with_lab(|lab| async move {
        assert!(
            lab.leader().await.is_some(),
            "the Lease is held from the start"
        );
        let pod = lab.rolled_out().await.name_any();
        lab.until("the Pod leads", async || {
            (lab.leader().await? == pod).then_some(())
        })
        .await;
        let renewed = async || {
            let lease = lab.api::<Lease>().get(LEASE).await.unwrap();
            lease.spec.unwrap().renew_time.unwrap().0
        };
        let before = renewed().await;
        lab.clock.sleep(Duration::from_secs(10)).await;
        assert!(renewed().await > before, "the Lease is renewed");
        lab.api::<Pod>()
            .delete(&pod, &DeleteParams::default())
            .await
            .unwrap();
        let next = lab
            .until("another Pod leads", async || {
                lab.leader().await.filter(|leader| *leader != pod)
            })
            .await;
        assert_eq!(lab.rolled_out().await.name_any(), next);
        lab.lab.stop().await;
    });
}

/// Whether the ClusterQueue `cq` is active.
async fn is_active(client: &Client) -> bool {
    let path = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq";
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    let queue: Value = client.request(request).await.unwrap();
    let conditions = queue["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|c| c["type"] == "Active" && c["status"] == "True")
}

#[test]
fn the_controllers_stop_while_another_holder_has_the_lease() {
    with_lab(|lab| async move {
        let pod = lab.rolled_out().await.name_any();
        lab.until("the Pod leads", async || lab.leader().await)
            .await;
        let spec = json!({
            "holderIdentity": "other_1",
            "leaseDurationSeconds": 60,
            "renewTime": "2026-03-02T12:00:30.000000Z",
        });
        let params = PatchParams::default();
        lab.api::<Lease>()
            .patch(LEASE, &params, &Patch::Merge(&json!({"spec": spec})))
            .await
            .unwrap();
        lab.clock.sleep(Duration::from_secs(10)).await;
        let queue = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ClusterQueue",
            "metadata": {"name": "cq"},
            "spec": {"namespaceSelector": {}},
        });
        let path = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues";
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .body(queue.to_string().into_bytes())
            .unwrap();
        lab.client.request::<Value>(request).await.unwrap();
        lab.clock.sleep(Duration::from_secs(10)).await;
        assert!(!is_active(&lab.client).await, "a controller runs");
        assert_eq!(lab.leader().await.unwrap(), "other");

        // The other holder does not renew the Lease.
        lab.until("the controllers run again", async || {
            is_active(&lab.client).await.then_some(())
        })
        .await;
        assert_eq!(lab.leader().await.unwrap(), pod);
        lab.lab.stop().await;
    });
}

/// Another instance of the controller, in the election of the lab's.
async fn second_instance(lab: &ManagerLab) -> Operator {
    Operator::start(OperatorConfig {
        client: lab.client.clone(),
        clock: lab.clock.clone(),
        entropy: Entropy::seeded(2),
        kueue: ControllerConfig::default(),
        namespace: NAMESPACE.into(),
        route: None,
        port: 0,
        explanations: None,
        failure_policy: FailurePolicy::Ignore,
        certificate_lifetimes: CertificateLifetimes::default(),
        identity: Some("second_1".into()),
        metrics: None,
    })
    .await
    .unwrap()
}

#[test]
fn a_second_controller_waits() {
    with_lab(|lab| async move {
        let pod = lab.rolled_out().await.name_any();
        lab.until("the Pod leads", async || lab.leader().await)
            .await;
        let second = second_instance(&lab).await;
        let waited = std::sync::Mutex::new(None);
        let leads = second.wait_until_leader(|leader| {
            *waited.lock().unwrap() = Some(leader.to_owned());
        });
        let leads = tokio::time::timeout(Duration::from_secs(120), leads).await;
        assert!(leads.is_err(), "two controllers lead");
        let leader = waited.lock().unwrap().clone().unwrap();
        assert!(leader.starts_with(&format!("{pod}_")), "{leader}");
        second.stop().await;
        lab.lab.stop().await;
    });
}

#[test]
fn without_leader_election_there_is_no_lease() {
    with_lab(|lab| async move {
        lab.rolled_out().await;
        lab.until("the Pod leads", async || lab.leader().await)
            .await;
        let text = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nleaderElection: {leaderElect: false}\n";
        let data: Value = json!({"data": {"controller_manager_config.yaml": text}});
        let params = PatchParams::default();
        lab.api::<ConfigMap>()
            .patch("kueue-manager-config", &params, &Patch::Merge(&data))
            .await
            .unwrap();
        let restart = json!({"spec": {"template": {"metadata": {"annotations": {
            "kubectl.kubernetes.io/restartedAt": "2026-03-02T12:00:30Z",
        }}}}});
        lab.api::<Deployment>()
            .patch(
                "kueue-controller-manager",
                &params,
                &Patch::Strategic(&restart),
            )
            .await
            .unwrap();
        lab.until("the Lease is released", async || {
            lab.leader().await.is_none().then_some(())
        })
        .await;
        lab.rolled_out().await;
        assert_eq!(lab.leader().await, None);
        lab.lab.stop().await;
    });
}
