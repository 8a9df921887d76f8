//! Builds the Pods of one cluster.

use serde_json::{Map, Value, json};

use super::affinity;
use crate::env::SkyEnv;
use crate::merge_k8s_configs::merge_k8s_configs;
use crate::pod_resources::PodResources;
use crate::task::{Task, TaskResources};

/// Images of Pods without and with GPUs.
const IMAGES: (&str, &str) = (
    "us-docker.pkg.dev/sky-dev-465/skypilotk8s/skypilot:202607220236",
    "us-docker.pkg.dev/sky-dev-465/skypilotk8s/skypilot-gpu:202607220236",
);

/// Replaces SkyPilot's 58 KB start-up script. Like that, it ignores SIGTERM and runs until it is killed.
const BOOTSTRAP: &str = "echo 'SkyPilot runtime is set up'\n\
                         trap : TERM INT\n\
                         while true; do sleep infinity & wait $!; done\n";

/// Ports of SSH, Ray and SkyPilot's own daemon.
const PORTS: [u16; 5] = [22, 6380, 10_001, 8266, 46_590];

/// The common properties of a cluster's Pods.
pub(crate) struct PodBuilder<'a> {
    pub(crate) env: &'a SkyEnv,
    pub(crate) task: &'a Task,
    pub(crate) task_resources: &'a TaskResources,
    pub(crate) request: &'a PodResources,
    /// The display name of the cluster.
    pub(crate) display_name: &'a str,
    /// The name of the cluster in Kubernetes.
    pub(crate) name: &'a str,
    /// The LocalQueue of `kubernetes.kueue.local_queue_name`.
    pub(crate) local_queue: Option<&'a str>,
}

impl PodBuilder<'_> {
    /// The Pods: the head, then the workers. They differ only in metadata, so they are one pod set for
    /// Kueue.
    pub(crate) fn pods(&self) -> Vec<Value> {
        (0..self.task.num_nodes)
            .map(|rank| self.pod(rank))
            .collect()
    }

    /// Names of the Pods, in the same order.
    pub(crate) fn pod_names(&self) -> Vec<String> {
        let role = |rank| match rank {
            0 => format!("{}-head", self.name),
            n => format!("{}-worker{n}", self.name),
        };
        (0..self.task.num_nodes).map(role).collect()
    }

    fn pod(&self, rank: u32) -> Value {
        let mut pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "labels": self.labels(),
                "annotations": self.annotations(),
            },
            "spec": self.spec(),
        });
        if let Some(config) = self.env.config.pod_config(&self.task.config) {
            merge_k8s_configs(&mut pod, &config);
        }
        if let Some(metadata) = self.env.config.custom_metadata(&self.task.config) {
            merge_k8s_configs(&mut pod["metadata"], &metadata);
        }
        self.restore_task_labels(&mut pod);
        self.set_provisioner_fields(&mut pod, rank);
        pod
    }

    /// Labels of the task override those of the user's configuration, as SkyPilot's guide to Kueue says.
    fn restore_task_labels(&self, pod: &mut Value) {
        for (key, value) in &self.task_resources.labels {
            if !self.task.config.sets_label(key) {
                pod["metadata"]["labels"][key] = json!(value);
            }
        }
    }

    /// Sets the fields that the provisioner sets after the merge: names, roles, GPU tolerations.
    fn set_provisioner_fields(&self, pod: &mut Value, node_rank: u32) {
        let name = &self.pod_names()[node_rank as usize];
        let head = node_rank == 0;
        let metadata = &mut pod["metadata"];
        metadata["namespace"] = json!(self.env.namespace);
        metadata["name"] = json!(name);
        let labels = &mut metadata["labels"];
        labels["ray-cluster-name"] = json!(self.name);
        labels["skypilot-cluster-name"] = json!(self.name);
        labels["ray-node-type"] = json!(if head { "head" } else { "worker" });
        labels["skypilot-head-node"] = json!(if head { "1" } else { "0" });
        labels["component"] = json!(name);
        metadata["annotations"]["skypilot-cluster-name"] = json!(self.display_name);
        let spec = &mut pod["spec"];
        if self.task.num_nodes > 1 {
            affinity::prefer_separate_nodes(spec, self.name);
        }
        if let Some(gpus) = &self.request.gpus {
            let toleration =
                json!({"key": gpus.resource, "operator": "Exists", "effect": "NoSchedule"});
            push(spec, "tolerations", toleration);
        }
    }

    fn labels(&self) -> Value {
        let mut labels = Map::new();
        labels.insert("parent".into(), json!("skypilot"));
        labels.insert("skypilot-cluster".into(), json!(self.name));
        labels.insert("skypilot-user".into(), json!(self.env.user));
        for (key, value) in &self.task_resources.labels {
            labels.insert(key.clone(), json!(value));
        }
        if self.request.gpus.is_some() {
            labels.insert("skypilot-binpack".into(), json!("gpu"));
        }
        if let Some(queue) = self.local_queue {
            labels.insert("kueue.x-k8s.io/queue-name".into(), json!(queue));
            labels.insert("kueue.x-k8s.io/pod-group-name".into(), json!(self.name));
        }
        Value::Object(labels)
    }

    fn annotations(&self) -> Value {
        let mut annotations = json!({"skypilot-user": self.env.user});
        if self.local_queue.is_some() {
            annotations["skypilot-workspace"] = json!(self.env.workspace);
            if let Some(class) = &self.task_resources.priority_class {
                annotations["skypilot-priority-class"] = json!(class);
            }
            annotations["kueue.x-k8s.io/retriable-in-group"] = json!("false");
            annotations["kueue.x-k8s.io/pod-group-total-count"] =
                json!(self.task.num_nodes.to_string());
        }
        annotations
    }

    fn spec(&self) -> Value {
        let account = self.env.config.service_account(&self.task.config);
        let mut spec = json!({
            "serviceAccountName": account,
            "automountServiceAccountToken": true,
            "restartPolicy": "Never",
            "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory"}}],
            "containers": [self.container()],
        });
        if let Some(affinity) = affinity::node_affinity(self.request) {
            spec["affinity"] = affinity;
        }
        if let Some((key, value)) = self.request.spot {
            spec["nodeSelector"] = json!({key: value});
            let toleration = json!({
                "key": key, "operator": "Equal", "value": value, "effect": "NoSchedule",
            });
            spec["tolerations"] = json!([toleration]);
        }
        spec
    }

    fn container(&self) -> Value {
        let image = match (&self.task_resources.image, &self.request.gpus) {
            (Some(image), _) => image.as_str(),
            (None, None) => IMAGES.0,
            (None, Some(_)) => IMAGES.1,
        };
        let ports: Vec<_> = PORTS.iter().map(|p| json!({"containerPort": p})).collect();
        json!({
            "name": "ray-node",
            "imagePullPolicy": "Always",
            "image": image,
            "env": self.environment(),
            "command": ["/bin/bash", "-c", "--"],
            "args": [BOOTSTRAP],
            "ports": ports,
            "volumeMounts": [{"mountPath": "/dev/shm", "name": "dshm"}],
            "resources": self.resources(),
        })
    }

    fn environment(&self) -> Vec<Value> {
        let from = |name: &str, source: Value| json!({"name": name, "valueFrom": source});
        let field = |path: &str| json!({"fieldRef": {"fieldPath": path}});
        let own = |resource: &str| json!({"resourceFieldRef": {"containerName": "ray-node", "resource": resource}});
        let mut environment = vec![
            from("SKYPILOT_RAY_NODE_IP", field("status.podIP")),
            from(
                "SKYPILOT_POD_NODE_TYPE",
                field("metadata.labels['ray-node-type']"),
            ),
            from("SKYPILOT_POD_CPU_CORE_LIMIT", own("requests.cpu")),
            from("SKYPILOT_POD_MEMORY_BYTES_LIMIT", own("requests.memory")),
            json!({"name": "RAY_memory_monitor_refresh_ms", "value": "0"}),
            json!({"name": "SKYPILOT_IN_CLUSTER_CONTEXT_NAME", "value": self.env.context}),
        ];
        if self.request.gpus.is_none() {
            environment.push(json!({"name": "NVIDIA_VISIBLE_DEVICES", "value": "none"}));
        }
        environment
    }

    /// Requests in SkyPilot's form: JSON floats, and `G` (10⁹) for memory.
    fn resources(&self) -> Value {
        let request = self.request;
        let gigabytes = |n: f64| format!("{n:?}G");
        let mut resources = json!({
            "requests": {"cpu": request.cpus, "memory": gigabytes(request.memory)},
        });
        if let Some(disk) = request.disk {
            resources["requests"]["ephemeral-storage"] = json!(format!("{disk}G"));
        }
        if let Some(factor) = self.env.config.limit_factor(&self.task.config) {
            let thousandths = |n: f64| (n * factor * 1000.0).round() / 1000.0;
            resources["limits"] = json!({
                "cpu": thousandths(request.cpus),
                "memory": gigabytes(thousandths(request.memory)),
            });
            if let Some(disk) = request.disk {
                resources["limits"]["ephemeral-storage"] =
                    json!(gigabytes(thousandths(disk as f64)));
            }
        }
        if let Some(gpus) = &request.gpus {
            resources["requests"][gpus.resource] = json!(gpus.count);
            resources["limits"][gpus.resource] = json!(gpus.count);
        }
        resources
    }
}

/// Appends to a list, which is created if needed.
pub(super) fn push(object: &mut Value, key: &str, item: Value) {
    match object.get_mut(key).and_then(Value::as_array_mut) {
        Some(list) => list.push(item),
        None => object[key] = json!([item]),
    }
}
