//! Workers that ClusterProfiles name.

use std::path::Path;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::config::Kubeconfig;
use kueue_lab_api::config::{ClusterProfile, ClusterProfileAccessProvider, ExecConfig, Feature};
use kueue_lab_clock::Clock;
use kueue_lab_controller_runtime::Api;
use kueue_lab_lab::{KueueConfig, Lab};
use serde_json::json;

use crate::fixture::{
    Fixture, On, configuration, enable, kueue_config, lab_config, with_config, with_workers,
};
use crate::network::until;
use crate::objects::{CLUSTER_PROFILE, condition, definition};

fn cluster(name: &str, profile: &str) -> String {
    format!(
        "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueCluster, metadata: {{name: {name}}}, spec: {{clusterSource: {{clusterProfileRef: {{name: {profile}}}}}}}}}"
    )
}

fn profile(name: &str) -> String {
    format!(
        "{{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ClusterProfile, metadata: {{name: {name}, namespace: kueue-system}}, spec: {{}}}}"
    )
}

async fn until_active(f: &Fixture, cluster: &str, active: &str) {
    f.until(On::Manager, "MultiKueueCluster", cluster, |c| {
        condition(c, "Active").as_deref() == Some(active)
    })
    .await;
}

const MISSING: &str = "False/BadClusterProfile: load client config failed: ClusterProfile.multicluster.x-k8s.io \"p\" not found";
const NO_PROVIDER: &str =
    "False/BadClusterProfile: load client config failed: no access provider configured";

#[test]
fn without_the_gate_a_profile_is_not_used() {
    with_workers(1, |f| async move {
        f.apply(On::Manager, &cluster("a", "p")).await;
        until_active(&f, "a", "False/MultiKueueClusterProfileFeatureDisabled: load client config failed: MultiKueueClusterProfile feature gate is disabled").await;
        f
    });
}

#[test]
fn clusters_follow_their_profile() {
    let gate = |config: &mut _| enable(config, Feature::MultiKueueClusterProfile);
    with_config(1, gate, |f| async move {
        f.define(On::Manager, &CLUSTER_PROFILE).await;
        for name in ["a", "b"] {
            f.apply(On::Manager, &cluster(name, "p")).await;
            until_active(&f, name, MISSING).await;
        }
        f.apply(On::Manager, &profile("p")).await;
        for name in ["a", "b"] {
            until_active(&f, name, NO_PROVIDER).await;
        }
        let other = json!({"spec": {"clusterSource": {"clusterProfileRef": {"name": "q"}}}});
        f.patch(On::Manager, "MultiKueueCluster", "b", other).await;
        until_active(&f, "b", &MISSING.replace("\"p\"", "\"q\"")).await;
        f.delete(On::Manager, "ClusterProfile", "p").await;
        until_active(&f, "a", MISSING).await;
        f
    });
}

/// A provider that reads credentials from a file.
fn with_provider(config: &mut KueueConfig, credential: &Path) {
    enable(config, Feature::MultiKueueClusterProfile);
    let multi_kueue = configuration(config).multi_kueue.as_mut().unwrap();
    let provider = ClusterProfileAccessProvider {
        name: "file".to_owned(),
        exec_config: ExecConfig {
            command: "cat".to_owned(),
            args: vec![credential.display().to_string()],
            api_version: "client.authentication.k8s.io/v1".to_owned(),
            interactive_mode: "Never".to_owned(),
            ..ExecConfig::default()
        },
    };
    multi_kueue.cluster_profile = Some(ClusterProfile {
        access_providers: vec![provider],
        ..ClusterProfile::default()
    });
}

#[tokio::test]
async fn an_exec_plugin_has_the_credentials_of_a_profile() {
    let dir = tempfile::tempdir().unwrap();
    let presets = dir.path().join("presets");
    std::fs::create_dir_all(presets.join("one")).unwrap();
    let flavor = "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: f}}";
    std::fs::write(presets.join("one/a.yaml"), flavor).unwrap();
    let credential = dir.path().join("credential.json");
    let mut kueue = kueue_config();
    with_provider(&mut kueue, &credential);
    let mut config = lab_config(Clock::real(), &presets, "one", 1);
    config.cluster.port = Some(0);
    config.components.kueue = Some(kueue);

    let lab = Lab::start(config).await.unwrap();
    let secrets: Api<Secret> = Api::namespaced(lab.client(), "kueue-system");
    let secret = secrets.get("worker1-kubeconfig").await.unwrap();
    let text = String::from_utf8(secret.data.unwrap()["kubeconfig"].0.clone()).unwrap();
    let kubeconfig = json!(Kubeconfig::from_yaml(&text).unwrap());
    let user = &kubeconfig["users"][0]["user"];
    let decoded = |field: &str| {
        use base64::Engine;
        let text = user[field].as_str()?;
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(text)
            .ok()?;
        String::from_utf8(bytes).ok()
    };
    let granted = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": {
            "token": user["token"],
            "clientCertificateData": decoded("client-certificate-data"),
            "clientKeyData": decoded("client-key-data"),
        },
    });
    std::fs::write(&credential, granted.to_string()).unwrap();

    let api = |group: &str, version: &str, kind: &str, plural: &str, namespace: Option<&str>| {
        let gvk = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&gvk, plural);
        match namespace {
            Some(namespace) => {
                Api::<DynamicObject>::namespaced_with(lab.client(), namespace, &resource)
            }
            None => Api::<DynamicObject>::all_with(lab.client(), &resource),
        }
    };
    let parse = |yaml: &str| serde_yaml::from_str::<DynamicObject>(yaml).unwrap();
    let params = PostParams::default();
    let definitions = api(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        None,
    );
    definitions
        .create(&params, &parse(&definition(&CLUSTER_PROFILE)))
        .await
        .unwrap();
    let profiles = api(
        "multicluster.x-k8s.io",
        "v1alpha1",
        "ClusterProfile",
        "clusterprofiles",
        Some("kueue-system"),
    );
    until(async || profiles.create(&params, &parse(&profile("p"))).await.ok()).await;
    let provider = json!({"name": "file", "cluster": kubeconfig["clusters"][0]["cluster"]});
    let status = Patch::Merge(json!({"status": {"accessProviders": [provider]}}));
    profiles
        .patch_status("p", &PatchParams::default(), &status)
        .await
        .unwrap();
    let clusters = api(
        "kueue.x-k8s.io",
        "v1beta2",
        "MultiKueueCluster",
        "multikueueclusters",
        None,
    );
    clusters
        .create(&params, &parse(&cluster("by-profile", "p")))
        .await
        .unwrap();
    until(async || {
        let found = json!(clusters.get("by-profile").await.ok()?);
        let active = condition(&found, "Active")?;
        assert!(!active.starts_with("False"), "{active}");
        (active == "True/Active: Connected").then_some(())
    })
    .await;
    lab.stop().await;
}
