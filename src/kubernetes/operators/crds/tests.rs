use serde_json::{Value, json};

use super::{definition, definitions};

fn version(name: &str) -> Value {
    definition(name).unwrap()["spec"]["versions"][0].clone()
}

#[test]
fn every_definition_has_a_schema() {
    let names = definitions().map(|d| d["metadata"]["name"].as_str().unwrap().to_owned());
    let mut count = 0;
    for name in names {
        let schema = &version(&name)["schema"]["openAPIV3Schema"];
        assert_eq!(schema["properties"]["spec"]["type"], "object", "{name}");
        assert_eq!(schema["properties"]["metadata"]["type"], "object", "{name}");
        count += 1;
    }
    assert_eq!(count, 24);
}

#[test]
fn notation_is_expanded() {
    let schema = version("rayjobs.ray.io")["schema"]["openAPIV3Schema"].clone();
    let spec = &schema["properties"]["spec"]["properties"];
    assert_eq!(
        spec["submissionMode"],
        json!({"type": "string", "default": "K8sJobMode"})
    );
    assert_eq!(
        spec["backoffLimit"],
        json!({"type": "integer", "format": "int32", "default": 0})
    );
    assert_eq!(
        spec["clusterSelector"],
        json!({"type": "object", "additionalProperties": {"type": "string"}})
    );
    let cluster = &spec["rayClusterSpec"];
    assert_eq!(cluster["required"], json!(["headGroupSpec"]));
    let group = &cluster["properties"]["workerGroupSpecs"]["items"];
    assert_eq!(
        group["required"],
        json!(["groupName", "maxReplicas", "minReplicas", "template"])
    );
    assert_eq!(
        group["properties"]["maxReplicas"]["default"],
        json!(2_147_483_647)
    );
    let spark = version("sparkapplications.sparkoperator.k8s.io");
    let spec = &spark["schema"]["openAPIV3Schema"]["properties"]["spec"];
    assert_eq!(
        spec["properties"]["pythonVersion"]["enum"],
        json!(["2", "3"])
    );
    assert_eq!(
        spec["properties"]["driver"]["properties"]["cores"]["minimum"],
        json!(1)
    );

    let jobs = version("jobsets.jobset.x-k8s.io");
    let spec = &jobs["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    assert_eq!(spec["network"]["default"], json!({}));
    assert_eq!(spec["successPolicy"]["default"], json!({"operator": "All"}));
    let template = &spec["replicatedJobs"]["items"]["properties"]["template"];
    assert_eq!(
        template["x-kubernetes-preserve-unknown-fields"],
        json!(true)
    );
    let job = &template["properties"]["spec"]["properties"];
    assert_eq!(
        job["completionMode"],
        json!({"type": "string", "default": "Indexed"})
    );
}

#[test]
fn pod_templates_are_open_and_have_defaults() {
    let schema = version("rayclusters.ray.io")["schema"]["openAPIV3Schema"].clone();
    let spec = &schema["properties"]["spec"]["properties"];
    let template = &spec["headGroupSpec"]["properties"]["template"];
    let open = "x-kubernetes-preserve-unknown-fields";
    assert_eq!(template[open], true);
    let containers = &template["properties"]["spec"]["properties"]["containers"];
    assert_eq!(containers["type"], "array");
    assert!(containers.get(open).is_none());
    assert_eq!(containers["items"][open], true);
    let port = &containers["items"]["properties"]["ports"]["items"];
    let protocol = json!({"type": "string", "default": "TCP"});
    assert_eq!(port["properties"]["protocol"], protocol);
    let grpc = &containers["items"]["properties"]["startupProbe"]["properties"]["grpc"];
    assert_eq!(grpc["properties"]["service"]["default"], "");
}

/// The containers of all pod templates have the defaults that a Workload's have.
#[test]
fn ports_of_pod_templates_have_a_protocol() {
    let protocol = |name: &str, path: &[&str]| {
        let mut at = version(name)["schema"]["openAPIV3Schema"]["properties"]["spec"].clone();
        for field in path {
            at = match *field {
                "[]" => at["items"].take(),
                "{}" => at["additionalProperties"].take(),
                field => at["properties"][field].take(),
            };
            assert!(at.is_object(), "{field} of {path:?} in {name}");
        }
        let container = &at["properties"]["spec"]["properties"]["containers"]["items"];
        assert_eq!(container["x-kubernetes-preserve-unknown-fields"], true);
        container["properties"]["ports"]["items"]["properties"]["protocol"]["default"].clone()
    };
    for (name, path) in [
        ("rayclusters.ray.io", "headGroupSpec.template"),
        ("rayclusters.ray.io", "workerGroupSpecs.[].template"),
        ("rayjobs.ray.io", "submitterPodTemplate"),
        (
            "jobsets.jobset.x-k8s.io",
            "replicatedJobs.[].template.spec.template",
        ),
        ("paddlejobs.kubeflow.org", "paddleReplicaSpecs.{}.template"),
        ("mpijobs.kubeflow.org", "mpiReplicaSpecs.{}.template"),
        (
            "trainingruntimes.trainer.kubeflow.org",
            "template.spec.replicatedJobs.[].template.spec.template",
        ),
        (
            "leaderworkersets.leaderworkerset.x-k8s.io",
            "leaderWorkerTemplate.workerTemplate",
        ),
        ("sparkapplications.sparkoperator.k8s.io", "driver.template"),
    ] {
        let path: Vec<&str> = path.split('.').collect();
        assert_eq!(protocol(name, &path), "TCP", "{name}");
    }
}
