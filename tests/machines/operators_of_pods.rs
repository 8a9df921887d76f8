//! Stand-ins for the operators whose pods Kueue queues without an integration of their kind: Tekton,
//! KServe, Kubeflow Notebooks, Argo Workflows and agent-sandbox.

use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::cluster_fixture::*;
use super::operator_subject::*;

type Kind = (&'static str, &'static str, &'static str, &'static str);

const PIPELINE: Kind = ("tekton.dev", "v1", "Pipeline", "pipelines");
const PIPELINE_RUN: Kind = ("tekton.dev", "v1", "PipelineRun", "pipelineruns");
const TASK: Kind = ("tekton.dev", "v1", "Task", "tasks");
const TASK_RUN: Kind = ("tekton.dev", "v1", "TaskRun", "taskruns");
const INFERENCE_SERVICE: Kind = (
    "serving.kserve.io",
    "v1beta1",
    "InferenceService",
    "inferenceservices",
);
const NOTEBOOK: Kind = ("kubeflow.org", "v1", "Notebook", "notebooks");
const WORKFLOW: Kind = ("argoproj.io", "v1alpha1", "Workflow", "workflows");
const SANDBOX: Kind = ("agents.x-k8s.io", "v1alpha1", "Sandbox", "sandboxes");

/// Creates another object.
async fn create(lab: &TestCluster, kind: Kind, name: &str, spec: Value) {
    let object = json!({
        "apiVersion": format!("{}/{}", kind.0, kind.1), "kind": kind.2,
        "metadata": {"name": name}, "spec": spec,
    });
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let params = PostParams::default();
    api(&lab.client, kind)
        .create(&params, &object)
        .await
        .unwrap();
}

fn labels() -> Value {
    json!({"labels": {"kueue.x-k8s.io/queue-name": "q"}})
}

/// Status, reason and message of the condition Succeeded.
fn succeeded(status: &Value) -> [&str; 3] {
    let all = status["conditions"].as_array();
    let found = all.into_iter().flatten().find(|c| c["type"] == "Succeeded");
    ["status", "reason", "message"]
        .map(|field| found.and_then(|c| c[field].as_str()).unwrap_or_default())
}

fn is_finished(status: &Value) -> bool {
    matches!(succeeded(status)[0], "True" | "False")
}

fn step(script: &str) -> Value {
    json!({"name": "s", "image": "busybox", "script": script})
}

#[test]
fn tasks_of_a_pipeline_run_in_their_order() {
    with_operators(NODES, |lab| async move {
        let spec = json!({
            "params": [{"name": "time", "default": "5"}],
            "steps": [step("sleep $(params.time)"), {"image": "busybox", "command": ["sleep", "2"]}],
        });
        create(&lab, TASK, "wait", spec).await;
        let spec = json!({
            "params": [{"name": "time"}],
            "tasks": [
                {"name": "last", "taskRef": {"name": "wait"}, "runAfter": ["first"]},
                {"name": "first", "taskRef": {"name": "wait"},
                 "params": [{"name": "time", "value": "$(params.time)"}]},
            ],
        });
        create(&lab, PIPELINE, "p", spec).await;
        let spec = json!({
            "pipelineRef": {"name": "p"}, "params": [{"name": "time", "value": "20"}],
        });
        let run = Subject::create_with(&lab, PIPELINE_RUN, labels(), spec).await;
        run.wait_for_pods(1, "Running").await;
        let pod = lab.pods.get("a-first-pod").await.unwrap();
        assert_eq!(pod.labels()["kueue.x-k8s.io/queue-name"], "q");
        assert_eq!(pod.labels()["tekton.dev/taskRun"], "a-first");
        assert_eq!(pod.labels()["tekton.dev/pipelineRun"], "a");
        assert_eq!(
            pod.labels()["app.kubernetes.io/managed-by"],
            "tekton-pipelines"
        );
        let names: Vec<String> = pod
            .spec
            .unwrap()
            .containers
            .into_iter()
            .map(|c| c.name)
            .collect();
        assert_eq!(names, ["step-s", "step-unnamed-1"]);
        let status = run.wait("finished", is_finished).await;
        let message = "Tasks Completed: 2 (Failed: 0, Cancelled 0), Skipped: 0";
        assert_eq!(succeeded(&status), ["True", "Succeeded", message]);
        let tasks = api(&lab.client, TASK_RUN);
        let time = |run: &DynamicObject, field: &str| -> jiff::Timestamp {
            run.data["status"][field].as_str().unwrap().parse().unwrap()
        };
        let (first, last) = (
            tasks.get("a-first").await.unwrap(),
            tasks.get("a-last").await.unwrap(),
        );
        assert!(time(&last, "startTime") >= time(&first, "completionTime"));
        let took = |run| {
            time(run, "completionTime")
                .duration_since(time(run, "startTime"))
                .as_secs()
        };
        assert!((22..30).contains(&took(&first)), "{} s", took(&first));
        assert!((7..15).contains(&took(&last)), "{} s", took(&last));
        assert_eq!(
            succeeded(&first.data["status"]),
            ["True", "Succeeded", "All Steps have completed executing"]
        );
    });
}

#[test]
fn a_failed_task_is_retried_and_stops_the_pipeline() {
    with_operators(NODES, |lab| async move {
        let task = |script: &str| json!({"steps": [step(script)]});
        let spec = json!({"pipelineSpec": {
            "tasks": [
                {"name": "bad", "retries": 1, "taskSpec": task("sleep 1; exit 3")},
                {"name": "next", "runAfter": ["bad"], "taskSpec": task("true")},
            ],
            "finally": [{"name": "clean", "taskSpec": task("true")}],
        }});
        let run = Subject::create(&lab, PIPELINE_RUN, spec).await;
        let status = run.wait("finished", is_finished).await;
        let message = "Tasks Completed: 2 (Failed: 1, Cancelled 0), Skipped: 1";
        assert_eq!(succeeded(&status), ["False", "Failed", message]);
        assert_eq!(status["skippedTasks"][0]["name"], "next");
        let pods = run.pods().await;
        assert_eq!(
            pods,
            [
                "a-bad-pod Failed",
                "a-bad-pod-retry1 Failed",
                "a-clean-pod Succeeded"
            ]
        );
        let bad = api(&lab.client, TASK_RUN).get("a-bad").await.unwrap();
        let message = "\"step-s\" exited with code 3: Error";
        assert_eq!(
            succeeded(&bad.data["status"]),
            ["False", "StepFailed", message]
        );
    });
}

#[test]
fn a_task_run_ends_at_its_timeout_or_when_it_is_cancelled() {
    with_operators(NODES, |lab| async move {
        let spec = json!({"timeout": "30s", "taskSpec": {"steps": [step("sleep infinity")]}});
        let run = Subject::create(&lab, TASK_RUN, spec).await;
        let status = run.wait("finished", is_finished).await;
        let message = "TaskRun \"a\" failed to finish within \"30s\"";
        assert_eq!(succeeded(&status), ["False", "TaskRunTimeout", message]);
        run.wait_for_pods(0, "").await;
    });
    with_operators(NODES, |lab| async move {
        let spec = json!({"pipelineSpec": {
            "tasks": [{"name": "t", "taskSpec": {"steps": [step("sleep infinity")]}}],
        }});
        let run = Subject::create(&lab, PIPELINE_RUN, spec).await;
        run.wait_for_pods(1, "Running").await;
        run.patch(json!({"status": "Cancelled"})).await;
        let status = run.wait("finished", is_finished).await;
        assert_eq!(
            succeeded(&status),
            ["False", "Cancelled", "PipelineRun \"a\" was cancelled"]
        );
        run.wait_for_pods(0, "").await;
    });
}

#[test]
fn a_run_of_a_missing_pipeline_fails_and_unsupported_fields_are_warnings() {
    with_operators(NODES, |lab| async move {
        let spec = json!({"pipelineRef": {"name": "none"}});
        let run = Subject::create(&lab, PIPELINE_RUN, spec).await;
        let status = run.wait("finished", is_finished).await;
        assert_eq!(succeeded(&status)[1], "CouldntGetPipeline");
        assert!(succeeded(&status)[2].ends_with("pipelines.tekton.dev \"none\" not found"));
    });
    with_operators(NODES, |lab| async move {
        let tasks = json!([{"name": "t", "taskRef": {"name": "x"}, "matrix": {"params": []}}]);
        let spec = json!({"pipelineSpec": {"tasks": tasks}});
        Subject::create(&lab, PIPELINE_RUN, spec).await;
        lab.clock.sleep(Duration::from_secs(10)).await;
        assert_eq!(
            lab.events("a").await,
            [
                "Warning NotSimulated: task t: matrix: the PipelineRun is not run (operator stand-in \
              of kueue-lab)"
            ]
        );
    });
}

#[test]
fn an_inference_service_has_a_deployment() {
    with_operators(NODES, |lab| async move {
        let spec = json!({"predictor": {
            "minReplicas": 2, "maxReplicas": 4,
            "model": {"modelFormat": {"name": "sklearn"}, "resources": {"requests": {"cpu": "100m"}}},
        }});
        let service = Subject::create_with(&lab, INFERENCE_SERVICE, labels(), spec).await;
        let status = service.wait("ready", |s| is_true(s, "Ready")).await;
        assert!(is_true(&status, "PredictorReady"));
        assert_eq!(status["deploymentMode"], "Standard");
        service.wait_for_pods(2, "Running").await;
        let deployments: Api<Deployment> = Api::namespaced(lab.client.clone(), "test");
        let deployment = deployments.get("a-predictor").await.unwrap();
        for labels in [
            deployment.labels(),
            lab.pods.list(&ListParams::default()).await.unwrap().items[0].labels(),
        ] {
            assert_eq!(labels["kueue.x-k8s.io/queue-name"], "q");
            assert_eq!(labels["serving.kserve.io/inferenceservice"], "a");
            assert_eq!(labels["component"], "predictor");
            assert_eq!(labels["app"], "isvc.a-predictor");
        }
        assert_eq!(
            lab.events("a")
                .await
                .into_iter()
                .filter(|e| e.starts_with("Warning"))
                .collect::<Vec<_>>(),
            [
                "Warning NotSimulated: predictor.maxReplicas: the number of replicas does not change \
              with the load (operator stand-in of kueue-lab)"
            ]
        );
        let stop = json!({"metadata": {"annotations": {"serving.kserve.io/stop": "true"}}});
        let params = PatchParams::default();
        service
            .api
            .patch("a", &params, &Patch::Merge(stop))
            .await
            .unwrap();
        service
            .wait("stopped", |s| is_true(s, "Stopped") && !is_true(s, "Ready"))
            .await;
        service.wait_for_pods(0, "").await;
    });
}

#[test]
fn a_notebook_has_a_stateful_set_and_can_be_stopped() {
    with_operators(NODES, |lab| async move {
        let mut template = template("sleep infinity");
        template["spec"]["restartPolicy"] = json!("Always");
        template["spec"]["containers"][0]["name"] = json!("a");
        let notebook =
            Subject::create_with(&lab, NOTEBOOK, labels(), json!({"template": template})).await;
        let status = notebook.wait("ready", |s| s["readyReplicas"] == 1).await;
        assert!(is_true(&status, "Ready"));
        assert!(status["containerState"]["running"].is_object());
        let pod = lab.pods.get("a-0").await.unwrap();
        assert_eq!(pod.labels()["kueue.x-k8s.io/queue-name"], "q");
        assert_eq!(pod.labels()["notebook-name"], "a");
        let stop = |value: Value| json!({"metadata": {"annotations": {"kubeflow-resource-stopped": value}}});
        let params = PatchParams::default();
        let patch = Patch::Merge(stop(json!("now")));
        notebook.api.patch("a", &params, &patch).await.unwrap();
        notebook.wait("stopped", |s| s["readyReplicas"] == 0).await;
        notebook.wait_for_pods(0, "").await;
        let sets: Api<StatefulSet> = Api::namespaced(lab.client.clone(), "test");
        let set = sets.get("a").await.unwrap();
        assert_eq!(set.spec.unwrap().replicas, Some(0));
        let patch = Patch::Merge(stop(Value::Null));
        notebook.api.patch("a", &params, &patch).await.unwrap();
        notebook
            .wait("ready again", |s| s["readyReplicas"] == 1)
            .await;
    });
}

#[test]
fn a_sandbox_is_suspended_and_expires() {
    with_operators(NODES, |lab| async move {
        let mut template = template("sleep infinity");
        template["metadata"] = labels();
        let spec = json!({
            "podTemplate": template, "service": true,
            "shutdownTime": "2026-03-02T13:00:00Z", "shutdownPolicy": "Delete",
        });
        let sandbox = Subject::create(&lab, SANDBOX, spec).await;
        let status = sandbox.wait("ready", |s| is_true(s, "Ready")).await;
        assert_eq!(status["serviceFQDN"], "a.test.svc.cluster.local");
        assert_eq!(
            lab.pods.get("a").await.unwrap().labels()["kueue.x-k8s.io/queue-name"],
            "q"
        );
        sandbox.patch(json!({"replicas": 0})).await;
        sandbox
            .wait("suspended", |s| {
                is_true(s, "Suspended") && !is_true(s, "Ready")
            })
            .await;
        sandbox.wait_for_pods(0, "").await;
        sandbox.patch(json!({"replicas": 1})).await;
        sandbox.wait("ready", |s| is_true(s, "Ready")).await;
        lab.clock.sleep(Duration::from_hours(1)).await;
        sandbox.wait_for_pods(0, "").await;
        lab.clock.sleep(Duration::from_secs(5)).await;
        assert!(sandbox.api.get_opt("a").await.unwrap().is_none());
    });
}

/// A template with a container that runs a script.
fn container_template(name: &str, script: &str) -> Value {
    json!({
        "name": name,
        "inputs": {"parameters": [{"name": "time", "value": "1"}]},
        "metadata": labels(),
        "container": {"image": "busybox", "command": ["sh", "-c"], "args": [script]},
    })
}

#[test]
fn steps_of_a_workflow_run_in_their_order() {
    with_operators(NODES, |lab| async move {
        let time = |value: &str| json!({"parameters": [{"name": "time", "value": value}]});
        let spec = json!({
            "entrypoint": "main",
            "arguments": time("10"),
            "templates": [
                {"name": "main", "steps": [
                    [{"name": "one", "template": "wait", "arguments": time("{{workflow.parameters.time}}")}],
                    [{"name": "pause", "template": "pause"}],
                    [{"name": "many", "template": "wait", "arguments": time("{{item}}"), "withItems": [3, 4]}],
                    [{"name": "graph", "template": "graph"}],
                ]},
                {"name": "pause", "suspend": {"duration": "30"}},
                {"name": "graph", "dag": {"tasks": [
                    {"name": "z", "template": "wait", "dependencies": ["y"]},
                    {"name": "y", "template": "wait"},
                ]}},
                container_template("wait", "sleep {{inputs.parameters.time}}"),
            ],
        });
        let workflow = Subject::create(&lab, WORKFLOW, spec).await;
        workflow.wait_for_pods(1, "Running").await;
        let pods: Vec<Pod> = lab.pods.list(&ListParams::default()).await.unwrap().items;
        assert_eq!(pods[0].labels()["kueue.x-k8s.io/queue-name"], "q");
        assert_eq!(pods[0].labels()["workflows.argoproj.io/workflow"], "a");
        assert_eq!(
            pods[0].annotations()["workflows.argoproj.io/node-name"],
            "a[0].one"
        );
        let status = workflow.wait("paused", |s| s["progress"] == "1/1").await;
        assert_eq!(status["phase"], "Running");
        let status = workflow
            .wait("succeeded", |s| s["phase"] == "Succeeded")
            .await;
        assert_eq!(status["progress"], "5/5");
        let time =
            |field: &str| -> jiff::Timestamp { status[field].as_str().unwrap().parse().unwrap() };
        let took = time("finishedAt")
            .duration_since(time("startedAt"))
            .as_secs();
        assert!((46..70).contains(&took), "{took} s");
        workflow.wait_for_pods(5, "Succeeded").await;
    });
}

#[test]
fn a_workflow_fails_with_its_pod_and_unsupported_fields_are_warnings() {
    with_operators(NODES, |lab| async move {
        let spec = json!({"entrypoint": "w", "templates": [container_template("w", "exit 4")]});
        let workflow = Subject::create(&lab, WORKFLOW, spec).await;
        let status = workflow.wait("failed", |s| s["phase"] == "Failed").await;
        assert_eq!(status["message"], "Error (exit code 4)");
    });
    with_operators(NODES, |lab| async move {
        let spec = json!({"entrypoint": "w", "templates": [{"name": "w", "http": {"url": "x"}}]});
        Subject::create(&lab, WORKFLOW, spec).await;
        lab.clock.sleep(Duration::from_secs(2)).await;
        assert_eq!(
            lab.events("a").await,
            [
                "Warning NotSimulated: the type of template w: the Workflow is not run (operator \
              stand-in of kueue-lab)"
            ]
        );
    });
}
