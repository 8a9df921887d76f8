//! Test fixture: the plan of a cluster.

use serde_json::json;

use crate::{ClusterPlan, NodeInfo, SkyConfig, SkyEnv, Task, plan};

/// The plan of a cluster for a task with this configuration. The cluster has one node, with 8 H100.
pub(crate) fn planned(task: &str, name: &str, config: &str) -> ClusterPlan {
    let amounts = json!({"cpu": "64", "memory": "512G", "nvidia.com/gpu": "8"});
    let node = json!({
        "metadata": {"name": "n", "labels": {"skypilot.co/accelerator": "h100"}},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    });
    let nodes = [NodeInfo::from_node(&serde_json::from_value(node).unwrap())];
    let task = Task::parse(task).unwrap();
    let env = SkyEnv::new("lab").with_config(SkyConfig::parse(config).unwrap());
    plan(&task, name, &env, &nodes).unwrap()
}
