//! Actions on nodes: power failures and taints.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::action_error::ActionError;
use super::applied_node::power_failure_error;
use super::run::ScenarioRun;
use super::scenario::NodeTaint;

/// The most names that an error lists.
const MAX_NAMES: usize = 20;

impl ScenarioRun<'_> {
    /// Simulates a power failure of a node, or its end.
    pub(super) async fn set_power(&mut self, node: &str, on: bool) -> Result<(), ActionError> {
        let machines = self.environment.machines.as_ref();
        let machines = machines.ok_or("this lab has no nodes of its own")?;
        let changed = match on {
            true => machines.recover_node(node),
            false => machines.fail_node(node),
        };
        if changed {
            return Ok(());
        }
        let api = self.api(&("v1".to_owned(), "Node".to_owned()), None);
        if api.get_opt(node).await?.is_some() {
            return Err(power_failure_error(node, on).into());
        }
        let pools = machines.pools();
        let names = pools
            .pools
            .iter()
            .flat_map(|pool| (0..pool.count).map(move |number| pool.node_name(number)));
        let nodes: Vec<_> = names.take(MAX_NAMES).collect();
        let nodes = nodes.join(", ");
        Err(format!("there is no node {node:?}; the nodes are {nodes}").into())
    }

    /// Adds a taint to a node, or removes the taints with its key and effect.
    pub(super) async fn taint(&mut self, taint: &NodeTaint, add: bool) -> Result<(), ActionError> {
        let api = self.api(&("v1".to_owned(), "Node".to_owned()), None);
        let node = api.get(&taint.node).await;
        let node = node?;
        let taints = node.data["spec"]["taints"].as_array();
        let mut taints: Vec<Value> = taints.cloned().unwrap_or_default();
        let before = taints.len();
        taints.retain(|other| !taint.replaces(other));
        if add {
            taints.push(json!({
                "key": taint.key, "value": taint.value, "effect": taint.effect,
            }));
        } else if taints.len() == before {
            let effect = taint.effect.iter().map(|effect| format!(":{effect}"));
            let effect: String = effect.collect();
            let (node, key) = (&taint.node, &taint.key);
            return Err(format!("node {node} has no taint {key}{effect}").into());
        }
        let (params, patch) = (PatchParams::default(), json!({"spec": {"taints": taints}}));
        let patched = api.patch(&taint.node, &params, &Patch::Merge(&patch)).await;
        Ok(patched.map(|_| ())?)
    }
}

impl NodeTaint {
    /// Whether it takes the place of another taint: of the same key, and of the same effect if it has one.
    fn replaces(&self, other: &Value) -> bool {
        other["key"] == *self.key
            && self
                .effect
                .as_ref()
                .is_none_or(|effect| other["effect"] == **effect)
    }
}
