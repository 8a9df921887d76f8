//! Jobs and pods, and the Workloads made of them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kueue_lab::api::v1beta2::Workload;
use serde_json::{Value, json};

/// What owns a Workload: a Job, a pod or a group of pods.
pub struct Owner {
    /// Its key in the scenario.
    pub key: String,
    /// The Job or the pods.
    pub objects: Vec<Value>,
    /// Whether its pods run.
    pub running: bool,
    /// How many of its pods succeeded.
    pub succeeded: i32,
    /// How many of its pods run at once, when it was admitted.
    pub parallelism: Option<i32>,
    /// Whether all of it is done.
    pub done: bool,
}

/// The names of pod sets that Kueue derives from what their pods are like.
#[derive(Default)]
pub struct RoleNames(BTreeMap<String, String>);

impl RoleNames {
    /// Learns the names from the groups of equal pods there are.
    pub fn learn(all: &[(Value, Value)]) -> Self {
        let mut names = RoleNames::default();
        for (scenario, outcome) in all {
            for (key, objects) in creations(scenario) {
                let roles: Vec<String> = objects.iter().map(role).collect();
                if !key.starts_with("PodGroup/") || roles.iter().any(|r| *r != roles[0]) {
                    continue;
                }
                let steps = outcome["steps"].as_array().into_iter().flatten();
                let mut known = steps.map(|s| &s["state"]["workloads"][key]["podSets"][0]["name"]);
                if let Some(name) = known.find_map(Value::as_str) {
                    names.0.insert(roles[0].clone(), name.to_owned());
                }
            }
        }
        names
    }
}

/// What a scenario creates, by key.
pub fn creations(scenario: &Value) -> Vec<(&str, &Vec<Value>)> {
    let steps = scenario["steps"].as_array().into_iter().flatten();
    let creations = steps.filter(|s| s["op"] == "create").flat_map(|s| {
        let also = s["also"].as_array().into_iter().flatten();
        std::iter::once(s).chain(also)
    });
    creations
        .map(|c| (c["key"].as_str().unwrap(), c["objects"].as_array().unwrap()))
        .collect()
}

fn role(pod: &Value) -> String {
    pod["spec"].to_string()
}

fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][key].as_str()
}

fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["labels"][key].as_str()
}

impl Owner {
    pub fn new(key: &str, objects: &[Value]) -> Self {
        Owner {
            key: key.to_owned(),
            objects: objects.to_vec(),
            running: false,
            succeeded: 0,
            parallelism: None,
            done: false,
        }
    }

    pub fn is_job(&self) -> bool {
        self.key.starts_with("Job/")
    }

    fn job(&self, field: &str) -> Option<i32> {
        let value = self.objects[0]["spec"][field].as_i64()?;
        Some(value as i32)
    }

    /// How many pods it takes to complete it.
    pub fn completions(&self) -> i32 {
        if !self.is_job() {
            return self.objects.len() as i32;
        }
        let parallelism = self.parallelism.or(self.job("parallelism")).unwrap_or(1);
        let together = "kueue.x-k8s.io/job-completions-equal-parallelism";
        if annotation(&self.objects[0], together) == Some("true") {
            return parallelism;
        }
        self.job("completions").unwrap_or(parallelism)
    }

    /// What of its Workload's pods is not needed any more.
    pub fn reclaimable(&self, roles: &RoleNames) -> Value {
        if self.succeeded == 0 {
            return json!([]);
        }
        if !self.is_job() {
            let mut by_role: BTreeMap<String, i32> = BTreeMap::new();
            for pod in &self.objects[..self.succeeded as usize] {
                *by_role.entry(self.role_name(pod, roles)).or_default() += 1;
            }
            let by_role = by_role.into_iter();
            return by_role
                .map(|(name, count)| json!({"name": name, "count": count}))
                .collect();
        }
        let parallelism = self.parallelism.unwrap_or(1);
        let remaining = (self.completions() - self.succeeded).max(0);
        if parallelism <= 1 || remaining >= parallelism {
            return json!([]);
        }
        json!([{"name": "main", "count": parallelism - remaining}])
    }

    fn role_name(&self, pod: &Value, roles: &RoleNames) -> String {
        if self.key.starts_with("Pod/") {
            return "main".to_owned();
        }
        roles
            .0
            .get(&role(pod))
            .cloned()
            .unwrap_or_else(|| role(pod))
    }

    fn pod_sets(&self, roles: &RoleNames) -> Value {
        if self.is_job() {
            let job = &self.objects[0];
            let parallelism = self.job("parallelism").unwrap_or(1);
            let completions = self.job("completions").unwrap_or(parallelism);
            let least = annotation(job, "kueue.x-k8s.io/job-min-parallelism");
            let least: Option<i32> = least.and_then(|v| v.parse().ok());
            let mut set = json!({
                "name": "main",
                "count": parallelism.min(completions),
                "template": job["spec"]["template"],
            });
            if let Some(least) = least {
                set["minCount"] = json!(least);
            }
            return json!([set]);
        }
        let mut sets: BTreeMap<String, (Value, i32)> = BTreeMap::new();
        for pod in &self.objects {
            let template = json!({"spec": pod["spec"]});
            let name = self.role_name(pod, roles);
            sets.entry(name).or_insert((template, 0)).1 += 1;
        }
        sets.into_iter()
            .map(|(name, (template, count))| json!({"name": name, "count": count, "template": template}))
            .collect()
    }

    /// The name of its Workload.
    pub fn workload_name(&self) -> String {
        let (kind, name) = self.key.split_once('/').unwrap();
        match kind {
            "PodGroup" => name.to_owned(),
            _ => format!("{}-{name}", kind.to_lowercase()),
        }
    }

    /// Its Workload as it is created.
    pub fn workload(
        &self,
        classes: &BTreeMap<String, i64>,
        roles: &RoleNames,
        now: Timestamp,
    ) -> Workload {
        let object = &self.objects[0];
        let uid = format!("<uid:{}>", self.key);
        let mut spec = json!({
            "podSets": self.pod_sets(roles),
            "queueName": label(object, "kueue.x-k8s.io/queue-name"),
            "priority": 0,
            "active": true,
        });
        if let Some(class) = label(object, "kueue.x-k8s.io/priority-class") {
            spec["priorityClassRef"] = class_ref(class);
            spec["priority"] = json!(classes[class]);
        }
        let (kind, _) = self.key.split_once('/').unwrap();
        let owner = |o: &Value| {
            json!({
                "apiVersion": o["apiVersion"], "kind": o["kind"],
                "name": o["metadata"]["name"], "uid": uid, "controller": kind != "PodGroup",
            })
        };
        let owners: Vec<Value> = self.objects.iter().map(owner).collect();
        let labels = match kind {
            "PodGroup" => json!({}),
            _ => json!({"kueue.x-k8s.io/job-uid": uid}),
        };
        let workload = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {
                "name": self.workload_name(),
                "namespace": object["metadata"]["namespace"],
                "uid": uid,
                "generation": 1,
                "labels": labels,
                "creationTimestamp": now.to_string(),
                "ownerReferences": owners,
            },
            "spec": spec,
        });
        serde_json::from_value(workload).unwrap()
    }
}

/// How a Workload refers to a priority class of Kueue's.
pub fn class_ref(class: &str) -> Value {
    json!({"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": class})
}
