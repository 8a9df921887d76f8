//! Plans of folders that kubectl, Argo CD, Flux and Helm have applied to a cluster.

use std::path::Path;

use http::Request;
use kueue_lab_import::import_for_change;
use kueue_lab_lab::{Lab, LabConfig, VirtualLab};
use kueue_lab_plan::{ClusterPlan, PlannedChange, change_scope, plan_preset, plan_text};
use serde_json::{Value, json};

use crate::random_cluster::{idle, with_lab};

/// One object of every kind that a folder of queues has, with quantities in another spelling than that of the API.
const OBJECTS: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: team-OWNER, labels: {team: OWNER}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: limits, namespace: team-OWNER}
spec: {limits: [{type: Container, max: {cpu: 4000m, memory: 1024Mi}}]}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high-OWNER}
value: 100
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: urgent-OWNER}
value: 1000
description: first
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: racks-OWNER}
spec: {levels: [{nodeLabel: example.com/block}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain-OWNER}
spec:
  nodeLabels: {pool: OWNER}
  nodeTaints: [{key: a, value: b, effect: NoSchedule}]
  tolerations: [{key: spot, operator: Exists}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ProvisioningRequestConfig
metadata: {name: provisioning-OWNER}
spec: {provisioningClassName: check-capacity.autoscaling.x-k8s.io}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueCluster
metadata: {name: worker-OWNER}
spec: {clusterSource: {kubeConfig: {location: worker, locationType: Secret}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueConfig
metadata: {name: workers-OWNER}
spec: {clusters: [worker-OWNER]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: check-OWNER}
spec:
  controllerName: kueue.x-k8s.io/provisioning-request
  parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: provisioning-OWNER}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: all-OWNER}
spec: {fairSharing: {weight: 2}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team-OWNER}
spec:
  cohortName: all-OWNER
  namespaceSelector: {}
  queueingStrategy: StrictFIFO
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: plain-OWNER
      resources:
      - {name: cpu, nominalQuota: 8, borrowingLimit: 1000m}
      - {name: memory, nominalQuota: 1024Mi}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main, namespace: team-OWNER}
spec: {clusterQueue: team-OWNER}
";

/// How a client applies objects.
struct Owner {
    name: &'static str,
    manager: &'static str,
    /// Whether it uses server-side apply.
    server_side: bool,
    /// Whether it keeps the object in an annotation, as client-side apply does.
    last_applied: bool,
    labels: &'static [(&'static str, &'static str)],
    annotations: &'static [(&'static str, &'static str)],
}

const fn owner(name: &'static str, manager: &'static str) -> Owner {
    Owner {
        name,
        manager,
        server_side: true,
        last_applied: false,
        labels: &[],
        annotations: &[],
    }
}

const OWNERS: [Owner; 7] = [
    Owner {
        server_side: false,
        last_applied: true,
        ..owner("kubectl", "kubectl-client-side-apply")
    },
    owner("kubectl-server-side", "kubectl"),
    Owner {
        server_side: false,
        last_applied: true,
        labels: &[("app.kubernetes.io/instance", "queues")],
        annotations: &[("argocd.argoproj.io/tracking-id", "queues:a/b:c/d")],
        ..owner("argocd", "argocd-controller")
    },
    Owner {
        annotations: &[("argocd.argoproj.io/tracking-id", "queues:a/b:c/d")],
        ..owner("argocd-server-side", "argocd-controller")
    },
    Owner {
        labels: &[
            ("kustomize.toolkit.fluxcd.io/name", "queues"),
            ("kustomize.toolkit.fluxcd.io/namespace", "flux-system"),
        ],
        ..owner("flux", "kustomize-controller")
    },
    Owner {
        server_side: false,
        labels: &[("app.kubernetes.io/managed-by", "Helm")],
        annotations: &[
            ("meta.helm.sh/release-name", "queues"),
            ("meta.helm.sh/release-namespace", "default"),
        ],
        ..owner("helm3", "helm")
    },
    Owner {
        labels: &[("app.kubernetes.io/managed-by", "Helm")],
        annotations: &[
            ("meta.helm.sh/release-name", "queues"),
            ("meta.helm.sh/release-namespace", "default"),
        ],
        ..owner("helm4", "helm")
    },
];

/// The path of the objects of a kind.
fn collection(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
    let root = match version.as_str() {
        "v1" => "/api/v1".to_owned(),
        version => format!("/apis/{version}"),
    };
    let plural = match kind.to_lowercase() {
        kind if kind == "topology" => "topologies".to_owned(),
        kind if kind.ends_with('s') => format!("{kind}es"),
        kind => format!("{kind}s"),
    };
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{root}/namespaces/{namespace}/{plural}"),
        None => format!("{root}/{plural}"),
    }
}

/// The object as upstream's webhooks store it.
fn stored(object: &Value) -> Value {
    let mut object = object.clone();
    if object["kind"] == "ClusterQueue" {
        let resources = &mut object["spec"]["resourceGroups"][0]["flavors"][0]["resources"];
        resources[0]["nominalQuota"] = "8".into();
        resources[0]["borrowingLimit"] = "1".into();
        resources[1]["nominalQuota"] = "1Gi".into();
    }
    object
}

/// Applies an object as its owner does.
async fn apply(lab: &Lab, owner: &Owner, object: &Value) {
    let mut sent = stored(object);
    for (key, value) in owner.labels {
        sent["metadata"]["labels"][key] = (*value).into();
    }
    for (key, value) in owner.annotations {
        sent["metadata"]["annotations"][key] = (*value).into();
    }
    if owner.last_applied {
        let key = "kubectl.kubernetes.io/last-applied-configuration";
        sent["metadata"]["annotations"][key] = object.to_string().into();
    }
    let (collection, manager) = (collection(object), owner.manager);
    let request = match owner.server_side {
        true => {
            let name = object["metadata"]["name"].as_str().unwrap();
            Request::patch(format!("{collection}/{name}?fieldManager={manager}"))
                .header("content-type", "application/apply-patch+yaml")
        }
        false => Request::post(format!("{collection}?fieldManager={manager}"))
            .header("content-type", "application/json"),
    };
    let request = request.body(sent.to_string().into_bytes()).unwrap();
    let reply = lab.client().request::<Value>(request).await;
    reply.unwrap_or_else(|error| panic!("{} {object}: {error}", owner.name));
}

/// The text of the objects of one owner.
fn objects_of(owner: &Owner) -> String {
    OBJECTS.replace("OWNER", owner.name)
}

fn write(folder: &Path, preset: &str, change: impl Fn(String) -> String) {
    std::fs::create_dir_all(folder.join(preset)).unwrap();
    for owner in &OWNERS {
        let file = folder.join(preset).join(format!("{}.yaml", owner.name));
        std::fs::write(file, change(objects_of(owner))).unwrap();
    }
}

async fn plan(lab: &Lab, folder: &Path, preset: &str) -> ClusterPlan {
    let (now, scope) = (lab.clock().now(), change_scope(folder, preset));
    let bundle = import_for_change(&lab.client(), "source", now, &scope).await;
    plan_preset(&bundle.unwrap(), PlannedChange { folder, preset }).unwrap()
}

#[test]
fn the_plan_of_a_folder_is_what_its_owner_would_change() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("first")).unwrap();
    let other = "apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n";
    std::fs::write(folder.path().join("first/n.yaml"), other).unwrap();
    write(folder.path(), "same", |text| text);
    write(folder.path(), "changed", |text| {
        let text = text.replace("  queueingStrategy: StrictFIFO\n", "");
        let text = text.replace(", borrowingLimit: 1000m", "");
        let text = text.replace("  tolerations: [{key: spot, operator: Exists}]\n", "");
        text.replace("value: 1000\ndescription: first", "value: 1000")
            .replace("weight: 2}", "weight: 3}")
    });
    let (same, changed) = with_lab(folder.path(), async |lab: &Lab| {
        for owner in &OWNERS {
            for text in objects_of(owner).split("---\n") {
                let object: Value = serde_yaml::from_str(text).unwrap();
                apply(lab, owner, &object).await;
            }
        }
        // Fields of others that no file has.
        let edited =
            json!({"metadata": {"labels": {"edited": "true"}}, "spec": {"stopPolicy": "Hold"}});
        let path = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/team-flux?fieldManager=kubectl-edit";
        let request = Request::patch(path)
            .header("content-type", "application/merge-patch+json")
            .body(edited.to_string().into_bytes());
        let request = request.unwrap();
        lab.client().request::<Value>(request).await.unwrap();
        idle(lab).await;
        let same = plan(lab, folder.path(), "same").await;
        (same, plan(lab, folder.path(), "changed").await)
    });
    // The lab's own preset is removed by both.
    let lines = |plan: &ClusterPlan| -> Vec<String> {
        let text = plan_text(plan);
        let lines = text
            .lines()
            .filter(|line| !line.contains("Namespace/other"));
        lines.map(str::to_owned).collect()
    };
    let objects: Vec<&str> = same.objects.iter().map(|c| c.object.as_str()).collect();
    assert_eq!(objects, ["Namespace/other"], "{}", plan_text(&same));
    assert!(
        !same.notes.iter().any(|note| note.contains("owned by")),
        "{:?}",
        same.notes
    );
    let text = lines(&changed).join("\n");
    for owner in &OWNERS {
        let name = owner.name;
        for line in [
            format!(
                "~ WorkloadPriorityClass/urgent-{name} is changed\n    - description: \"first\""
            ),
            format!(
                "~ ResourceFlavor/plain-{name} is changed\n    - spec.tolerations: [{{\"key\":\"spot\",\"operator\":\"Exists\"}}]"
            ),
            format!("~ Cohort/all-{name} is changed\n    ~ spec.fairSharing.weight: 2 -> 3"),
            format!(
                "~ ClusterQueue/team-{name} is changed\n    ~ spec.queueingStrategy: \"StrictFIFO\" -> \"BestEffortFIFO\"\n    - spec.resourceGroups[0].flavors[plain-{name}].resources[cpu].borrowingLimit: \"1\""
            ),
        ] {
            assert!(text.contains(&line), "no {line}\n{text}");
        }
        let note = format!("owned by {}: ", owner.manager);
        assert!(text.contains(&note), "no {note}\n{text}");
    }
    assert!(text.contains("would refuse the change"), "{text}");
    // Those are all: five kinds, of which Namespaces and others stay.
    assert_eq!(changed.objects.len(), 4 * OWNERS.len() + 1, "{text}");
}

#[test]
fn nothing_is_taken_over_from_the_owner_if_the_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let class = |value: u32| {
        format!(
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: WorkloadPriorityClass\nmetadata: {{name: urgent}}\nvalue: {value}\n"
        )
    };
    let nowhere = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: nowhere}\n";
    for (preset, text) in [("refused", class(7) + nowhere), ("accepted", class(7))] {
        std::fs::create_dir(folder.path().join(preset)).unwrap();
        std::fs::write(folder.path().join(preset).join("q.yaml"), text).unwrap();
    }
    let config = |clock, entropy| {
        let mut config = LabConfig::embedded(clock, entropy, folder.path());
        config.presets.apply.force_conflicts = true;
        config.components.operators = false;
        config
    };
    let run = async |lab: &Lab| {
        let path = "/apis/kueue.x-k8s.io/v1beta2/workloadpriorityclasses/urgent";
        let request = Request::patch(format!("{path}?fieldManager=argocd-controller"))
            .header("content-type", "application/apply-patch+yaml")
            .body(class(5).into_bytes());
        let applied: Value = lab.client().request(request.unwrap()).await.unwrap();
        let live = async || {
            let request = Request::get(path).body(Vec::new()).unwrap();
            lab.client().request::<Value>(request).await.unwrap()
        };
        lab.presets().switch("refused").await.unwrap_err();
        assert_eq!(live().await, applied);
        lab.presets().switch("accepted").await.unwrap();
        let taken_over = live().await;
        assert_eq!(taken_over["value"], 7);
        let managers = taken_over["metadata"]["managedFields"].to_string();
        assert!(!managers.contains("argocd-controller"), "{managers}");
    };
    VirtualLab::default().run(config, run).unwrap();
}
