//! Installation and removal.

use kueue_lab_clock::Clock;
use kueue_lab_install::Installer;
use serde_json::json;

use crate::cluster_fixture::{InstalledController, TestCluster, error_message, job, wait_for};

const KUEUE: &str = "kueue.x-k8s.io/v1beta2";
const ADMISSION: &str = "admissionregistration.k8s.io/v1";
const CRD: &str = "apiextensions.k8s.io/v1";

async fn suspended(cluster: &TestCluster, name: &str) -> bool {
    let job = cluster.jobs().get(name).await.unwrap();
    job.spec.unwrap().suspend == Some(true)
}

#[tokio::test]
async fn jobs_are_suspended_admitted_and_released_on_uninstall() {
    let cluster = TestCluster::start().await;
    let visitor = InstalledController::install(&cluster).await;
    cluster.create_queues(8).await;
    let made = cluster.job("first", 8).await;
    assert_eq!(
        made["spec"]["suspend"], true,
        "the webhook suspends it at once"
    );
    wait_for("the first runs", || async {
        (!suspended(&cluster, "first").await).then_some(())
    })
    .await;
    cluster.job("second", 8).await;
    let mut pod = job("gated", 1)["spec"]["template"].take();
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"] = json!({
        "name": "gated", "namespace": "team", "labels": {"kueue.x-k8s.io/queue-name": "lq"},
    });
    let pod = cluster.create(pod).await.unwrap();
    assert_eq!(
        pod["spec"]["schedulingGates"][0]["name"],
        "kueue.x-k8s.io/admission"
    );
    wait_for("the second is pending", || async {
        let wl = cluster
            .get(
                KUEUE,
                "Workload",
                "team",
                &workload(&cluster, "second").await?,
            )
            .await?;
        wl["status"]["conditions"][0]["reason"]
            .as_str()
            .map(str::to_owned)
    })
    .await;
    assert!(suspended(&cluster, "second").await);

    let installer = visitor.kill().await;
    let report = installer.uninstall().await.unwrap();
    assert_eq!(report.jobs, ["Job team/second"]);
    assert_eq!(report.pods, ["team/gated"]);
    assert_eq!(report.webhooks, 2);
    assert_eq!(report.kept, Vec::<String>::new());
    assert!(!suspended(&cluster, "second").await);
    let pod = cluster.get("v1", "Pod", "team", "gated").await.unwrap();
    assert!(
        pod["spec"]
            .get("schedulingGates")
            .is_none_or(|g| g == &json!([]))
    );
    assert!(
        pod["metadata"]
            .get("finalizers")
            .is_none_or(|f| f == &json!([]))
    );
    let name = "clusterqueues.kueue.x-k8s.io";
    assert_eq!(
        cluster.get(CRD, "CustomResourceDefinition", "", name).await,
        None
    );
    let name = "kueue-lab-validating";
    let kind = "ValidatingWebhookConfiguration";
    assert_eq!(cluster.get(ADMISSION, kind, "", name).await, None);
    // A repetition: only a terminating namespace remains.
    let report = installer.uninstall().await.unwrap();
    assert_eq!(
        (report.webhooks, report.jobs.len(), report.definitions.len()),
        (0, 0, 0)
    );
}

/// The name of a job's Workload.
async fn workload(cluster: &TestCluster, job: &str) -> Option<String> {
    use kueue_lab_api::v1beta2::Workload;
    let api: kube::Api<Workload> = kube::Api::namespaced(cluster.client.clone(), "team");
    let all = api.list(&Default::default()).await.unwrap();
    all.items.into_iter().find_map(|wl| {
        let owner = wl.metadata.owner_references.as_ref()?.first()?;
        (owner.name == job).then(|| wl.metadata.name.clone())?
    })
}

#[tokio::test]
async fn deactivated_workloads_stay_suspended_after_uninstall() {
    let cluster = TestCluster::start().await;
    let visitor = InstalledController::install(&cluster).await;
    cluster.create_queues(8).await;
    cluster.job("stopped", 8).await;
    let name = wait_for("its Workload", || workload(&cluster, "stopped")).await;
    let api: kube::Api<kueue_lab_api::v1beta2::Workload> =
        kube::Api::namespaced(cluster.client.clone(), "team");
    let off = kube::api::Patch::Merge(json!({"spec": {"active": false}}));
    api.patch(&name, &Default::default(), &off).await.unwrap();
    wait_for("it is suspended", || async {
        suspended(&cluster, "stopped").await.then_some(())
    })
    .await;
    let installer = visitor.kill().await;
    let report = installer.uninstall().await.unwrap();
    assert_eq!(report.jobs, Vec::<String>::new());
    let [left] = report.kept.as_slice() else {
        panic!("{:?}", report.kept);
    };
    assert!(
        left.starts_with("Job team/stopped is suspended: its Workload job-stopped-"),
        "{left}"
    );
    assert!(suspended(&cluster, "stopped").await);
}

#[tokio::test]
async fn pod_templates_are_ungated_on_uninstall() {
    let cluster = TestCluster::start().await;
    let visitor = InstalledController::install(&cluster).await;
    let installer = visitor.kill().await;
    // As the webhook of elastic jobs leaves them.
    let gate = json!({"name": "kueue.x-k8s.io/elastic-job"});
    for (name, suspend) in [("pending", true), ("running", false)] {
        let mut elastic = job(name, 1);
        elastic["spec"]["suspend"] = suspend.into();
        elastic["spec"]["template"]["spec"]["schedulingGates"] = json!([gate]);
        cluster.create(elastic).await.unwrap();
    }
    let gates = async |name: &str| {
        let job = cluster.jobs().get(name).await.unwrap();
        job.spec.unwrap().template.spec.unwrap().scheduling_gates
    };
    let report = installer.uninstall().await.unwrap();
    assert_eq!(report.templates, ["Job team/pending"]);
    assert_eq!(report.jobs, ["Job team/pending"]);
    assert!(gates("pending").await.is_none_or(|gates| gates.is_empty()));
    assert!(!suspended(&cluster, "pending").await);
    // The template of a running Job is immutable.
    let [left] = report.kept.as_slice() else {
        panic!("{:?}", report.kept);
    };
    assert!(left.starts_with("Job team/running has scheduling gates of Kueue in its pod template"));
    assert_eq!(gates("running").await.unwrap().len(), 1);
}

#[tokio::test]
async fn webhooks_validate_over_the_network() {
    let cluster = TestCluster::start().await;
    let visitor = InstalledController::install(&cluster).await;
    cluster.create_queues(8).await;
    let queue = cluster.get(KUEUE, "ClusterQueue", "", "cq").await.unwrap();
    assert_eq!(
        queue["metadata"]["finalizers"],
        json!(["kueue.x-k8s.io/resource-in-use"])
    );
    let bad = json!({
        "apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "bad"},
        "spec": {"nodeLabels": {"a": "not a label value"}},
    });
    let message = error_message(cluster.create(bad).await);
    let expected = "admission webhook \"vresourceflavor.kb.io\" denied the request: \
                  spec.nodeLabels: Invalid value: ";
    assert!(message.starts_with(expected), "{message}");
    let mut bad = job("bad", 1);
    bad["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "Not_A_Name".into();
    let message = error_message(cluster.create(bad).await);
    assert!(
        message.starts_with("admission webhook \"vjob.kb.io\" denied"),
        "{message}"
    );

    // A new certificate is used without further configuration.
    let bundle = visitor.ca_bundle_keeper.certificates().bundle();
    let day = jiff::SignedDuration::from_hours(24);
    let (now, hosts) = (Clock::real().now(), visitor.endpoint.route.server_names());
    let other = kueue_lab_webhooks::Validity {
        not_before: now - day,
        not_after: now + day,
    };
    let other = bundle.reissue(&hosts, other).unwrap();
    visitor
        .ca_bundle_keeper
        .certificates()
        .replace(other)
        .unwrap();
    assert_eq!(cluster.job("after", 1).await["spec"]["suspend"], true);
    assert!(
        !visitor.ca_bundle_keeper.renew().await.unwrap(),
        "the authority stays"
    );
    let renewed = visitor
        .ca_bundle_keeper
        .certificates()
        .bundle()
        .certificate
        .clone();
    let until = kueue_lab_webhooks::certificates::validity(&renewed)
        .unwrap()
        .not_after;
    assert!(until > now + day * 300);
}

#[tokio::test]
async fn webhooks_fail_open_when_the_lab_dies() {
    let cluster = TestCluster::start().await;
    let visitor = InstalledController::install(&cluster).await;
    cluster.create_queues(8).await;
    visitor.kill().await;
    let free = cluster.job("free", 1).await;
    assert_ne!(free["spec"]["suspend"], true, "no webhook suspends it");
    // Without validation, queues are rejected.
    let queue = json!({
        "apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": "unchecked"}, "spec": {},
    });
    let message = error_message(cluster.create(queue).await);
    assert!(
        message.contains("failed calling webhook \"mclusterqueue.kb.io\""),
        "{message}"
    );
    // For the deletion the test removes the finalizer.
    use kueue_lab_api::v1beta2::ClusterQueue;
    let api: kube::Api<ClusterQueue> = kube::Api::all(cluster.client.clone());
    api.delete("cq", &Default::default()).await.unwrap();
    let off = kube::api::Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("cq", &Default::default(), &off).await.unwrap();
    assert!(api.get_opt("cq").await.unwrap().is_none());
    // The next controller suspends Jobs created meanwhile.
    let next = InstalledController::install(&cluster).await;
    wait_for("it is suspended", || async {
        suspended(&cluster, "free").await.then_some(())
    })
    .await;
    next.kill().await;
}

#[tokio::test]
async fn crds_of_others_are_kept() {
    use kueue_lab_api::crds::{CRDS, Conversion};
    let cluster = TestCluster::start().await;
    for crd in CRDS {
        cluster
            .create(crd.object(&Conversion::upstream()))
            .await
            .unwrap();
    }
    let visitor = InstalledController::install(&cluster).await;
    cluster.create_queues(8).await;
    let installer = visitor.kill().await;
    let report = installer.uninstall().await.unwrap();
    assert_eq!(report.definitions, Vec::<String>::new());
    let name = "workloads.kueue.x-k8s.io";
    let crd = cluster
        .get(CRD, "CustomResourceDefinition", "", name)
        .await
        .unwrap();
    let client = &crd["spec"]["conversion"]["webhook"]["clientConfig"];
    assert_eq!(client["service"]["name"], "kueue-webhook-service");
    assert!(client.get("url").is_none(), "{client}");
    assert!(
        crd["metadata"]["labels"]
            .get("app.kubernetes.io/managed-by")
            .is_none()
    );
    assert!(cluster.get(KUEUE, "ClusterQueue", "", "cq").await.is_some());
}

#[tokio::test]
async fn a_namespace_of_others_is_not_removed() {
    let cluster = TestCluster::start().await;
    let installer = Installer::new(cluster.client.clone(), Clock::real(), "team");
    installer.install_crds(None).await.unwrap();
    let crd = cluster
        .get(
            CRD,
            "CustomResourceDefinition",
            "",
            "cohorts.kueue.x-k8s.io",
        )
        .await;
    let served = crd.unwrap()["spec"]["versions"].take();
    assert_eq!(
        (&served[0]["served"], &served[1]["served"]),
        (&json!(false), &json!(true))
    );
    installer.uninstall().await.unwrap();
    let team = cluster.get("v1", "Namespace", "", "team").await.unwrap();
    assert!(team["metadata"].get("deletionTimestamp").is_none());
}
