//! The objects of a [`RandomState`].

use serde_json::{Value, json};

use crate::random_state::{Cohort, Hold, Job, Placement, PodSet, Queue, Quota, RandomState};

const HOST: &str = "kubernetes.io/hostname";
const API: &str = "kueue.x-k8s.io/v1beta2";

fn kind(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": API, "kind": kind, "metadata": {"name": name, "uid": name}, "spec": spec})
}

/// The objects that do not change in the history, except ClusterQueues.
pub(crate) fn fixed_objects(state: &RandomState) -> Vec<Value> {
    let mut all = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}),
        kind(
            "AdmissionCheck",
            "active",
            &json!({"controllerName": "example.com/check"}),
        ),
        kind(
            "AdmissionCheck",
            "inactive",
            &json!({"controllerName": "example.com/check"}),
        ),
    ];
    let active = json!([{"type": "Active", "status": "True", "reason": "Active", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    all[1]["status"]["conditions"] = active;
    if state.hosts.is_some() {
        let levels = json!([{"nodeLabel": "rack"}, {"nodeLabel": HOST}]);
        all.push(kind("Topology", "racks", &json!({"levels": levels})));
    }
    for (flavor, tainted) in state.taints.iter().enumerate() {
        let name = format!("flavor-{flavor}");
        let mut spec = json!({});
        if state.hosts.is_some() {
            spec = json!({"nodeLabels": {"pool": name}, "topologyName": "racks"});
        }
        if *tainted {
            spec["nodeTaints"] = json!([{"key": "spot", "value": "true", "effect": "NoSchedule"}]);
        }
        all.push(kind("ResourceFlavor", &name, &spec));
        for host in 0..state.hosts.unwrap_or(0) {
            let node = format!("host-{flavor}-{host}");
            all.push(json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": node, "labels": {
                    "pool": name, "rack": format!("rack-{flavor}-{}", host / 2), HOST: node}},
                "status": {"allocatable": {"cpu": "3", "memory": "8", "pods": "100"},
                    "conditions": [{"type": "Ready", "status": "True"}]},
            }));
        }
    }
    all.push(kind("ResourceFlavor", "of-memory", &json!({})));
    for (index, cohort) in state.cohorts.iter().enumerate() {
        all.push(cohort_object(index, cohort));
    }
    for (index, queue) in state.queues.iter().enumerate() {
        let spec =
            json!({"clusterQueue": format!("queue-{index}"), "stopPolicy": queue.local_stop});
        let mut local = kind("LocalQueue", &format!("local-{index}"), &spec);
        local["metadata"]["namespace"] = json!("ns");
        all.push(local);
    }
    all
}

fn cohort_object(index: usize, cohort: &Cohort) -> Value {
    let mut spec = json!({});
    if let Some(parent) = cohort.parent {
        spec["parentName"] = json!(format!("cohort-{parent}"));
    }
    if let Some(quota) = &cohort.quota {
        spec["resourceGroups"] = json!([cpu_group(std::slice::from_ref(quota))]);
    }
    kind("Cohort", &format!("cohort-{index}"), &spec)
}

fn cpu_group(quotas: &[Quota]) -> Value {
    let flavors = quotas.iter().enumerate().map(|(flavor, quota)| {
        let mut resource = json!({"name": "cpu", "nominalQuota": quota.nominal.to_string()});
        if let Some(limit) = quota.borrowing_limit {
            resource["borrowingLimit"] = json!(limit.to_string());
        }
        if let Some(limit) = quota.lending_limit {
            resource["lendingLimit"] = json!(limit.to_string());
        }
        json!({"name": format!("flavor-{flavor}"), "resources": [resource]})
    });
    json!({"coveredResources": ["cpu"], "flavors": flavors.collect::<Vec<_>>()})
}

/// A ClusterQueue.
pub(crate) fn cluster_queue(index: usize, queue: &Queue) -> Value {
    let next = |next: bool| match next {
        true => "TryNextFlavor",
        false => "MayStopSearch",
    };
    let borrow = match queue.borrow_within {
        None => json!({"policy": "Never"}),
        Some(threshold) => json!({"policy": "LowerPriority", "maxPriorityThreshold": threshold}),
    };
    let mut groups = vec![cpu_group(&queue.quotas)];
    if let Some(memory) = queue.memory {
        let resource = json!({"name": "memory", "nominalQuota": memory.to_string()});
        let flavor = json!({"name": "of-memory", "resources": [resource]});
        groups.push(json!({"coveredResources": ["memory"], "flavors": [flavor]}));
    }
    let mut spec = json!({
        "namespaceSelector": {},
        "queueingStrategy": if queue.strict { "StrictFIFO" } else { "BestEffortFIFO" },
        "resourceGroups": groups,
        "preemption": {
            "withinClusterQueue": queue.within,
            "reclaimWithinCohort": queue.reclaim,
            "borrowWithinCohort": borrow,
        },
        "flavorFungibility": {
            "whenCanBorrow": next(queue.try_next.0), "whenCanPreempt": next(queue.try_next.1)},
        "fairSharing": {"weight": queue.weight.to_string()},
        "stopPolicy": queue.stop,
    });
    if let Some(cohort) = queue.cohort {
        spec["cohortName"] = json!(format!("cohort-{cohort}"));
    }
    if let Some(active) = queue.check {
        let name = if active { "active" } else { "inactive" };
        spec["admissionChecksStrategy"] = json!({"admissionChecks": [{"name": name}]});
    }
    kind("ClusterQueue", &format!("queue-{index}"), &spec)
}

fn pod_set(index: usize, pods: &PodSet) -> Value {
    let mut requests = json!({"cpu": pods.cpu.to_string()});
    if pods.memory > 0 {
        requests["memory"] = json!(pods.memory.to_string());
    }
    let mut spec = json!({"containers": [{"name": "c", "resources": {"requests": requests}}]});
    if pods.tolerates {
        spec["tolerations"] = json!([{"key": "spot", "operator": "Exists"}]);
    }
    let mut object = json!({
        "name": format!("pods-{index}"), "count": pods.count, "template": {"spec": spec},
    });
    if let Some(placement) = pods.placement {
        object["topologyRequest"] = match placement {
            Placement::Anywhere => json!({"unconstrained": true}),
            Placement::InRack => json!({"required": "rack"}),
            Placement::OnHost => json!({"required": HOST}),
            Placement::PreferRack => json!({"preferred": "rack"}),
        };
    }
    if let Some(min) = pods.min_count {
        object["minCount"] = json!(min);
    }
    object
}

/// A Workload that is created at a time.
pub(crate) fn workload(name: &str, job: &Job, queues: usize, now: jiff::Timestamp) -> Value {
    let pod_sets = job.pod_sets.iter().enumerate();
    let pod_sets: Vec<Value> = pod_sets.map(|(index, pods)| pod_set(index, pods)).collect();
    let mut object = json!({
        "apiVersion": API, "kind": "Workload",
        "metadata": {"name": name, "namespace": "ns", "uid": name,
            "creationTimestamp": now.to_string(), "annotations": {}},
        "spec": {
            "queueName": format!("local-{}", job.queue % queues),
            "priority": job.priority, "active": true, "podSets": pod_sets},
    });
    if job.elastic {
        object["metadata"]["annotations"]["kueue.x-k8s.io/elastic-job"] = json!("true");
    }
    match job.hold {
        None => {}
        Some(Hold::Inactive) => object["spec"]["active"] = json!(false),
        Some(Hold::Gate) => {
            object["metadata"]["annotations"]["kueue.x-k8s.io/admission-gated-by"] =
                json!("example.com/gate");
        }
        Some(Hold::Backoff(seconds)) => {
            let at = now + jiff::SignedDuration::from_secs(seconds);
            let condition = |kind: &str, status: &str| {
                json!({"type": kind, "status": status, "reason": "PodsReadyTimeout",
                    "message": "", "lastTransitionTime": now.to_string()})
            };
            object["status"] = json!({
                "requeueState": {"count": 1, "requeueAt": at.to_string()},
                "conditions": [
                    condition("Evicted", "True"), condition("Requeued", "False"),
                    condition("QuotaReserved", "False")],
            });
        }
    }
    object
}
