//! Ray, as the driver program of a job uses it: resources, and processes on the nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_lab_container::ExecStreams;
use kueue_lab_python::{Arguments, Exception, Value};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::node::Node;
use crate::placement::{Bundle, PlacementGroup};
use crate::runtime::{Runtime, expand_user};
use crate::task_output::TaskOutput;

/// The exit code of a process that is ended because another one failed.
const ENDED: i64 = 137;
/// The function of the driver that runs a script on a node.
const RUN: &str = "__main__.run_bash_command_with_log_and_return_pid";
/// The function of the driver that returns the address of a node.
const CHECK_IP: &str = "__main__.check_ip";

/// The processes and resources of one driver.
pub(crate) struct Driver {
    runtime: Arc<Runtime>,
    output: mpsc::Sender<String>,
    groups: BTreeMap<i64, PlacementGroup>,
    next: i64,
    tasks: JoinSet<(i64, i64)>,
    /// The process identifiers of the tasks.
    pids: BTreeMap<i64, u32>,
}

impl Driver {
    pub(crate) fn new(runtime: Arc<Runtime>, output: mpsc::Sender<String>) -> Self {
        Self {
            runtime,
            output,
            groups: BTreeMap::new(),
            next: 0,
            tasks: JoinSet::new(),
            pids: BTreeMap::new(),
        }
    }

    /// Whether a function is one of Ray or of the driver program.
    pub(crate) fn has(name: &str) -> bool {
        ["ray.", "__main__.", "PlacementGroup.", "RemoteFunction."]
            .iter()
            .any(|module| name.starts_with(module))
    }

    /// Calls a function.
    pub(crate) async fn call(
        &mut self,
        name: &str,
        arguments: &Arguments,
    ) -> Result<Value, Exception> {
        Ok(match name {
            "ray.init" | "ray.util.remove_placement_group" => Value::None,
            "ray.remote" => arguments.required(0, "function")?.clone(),
            "ray.nodes" => {
                let nodes = self.runtime.nodes.nodes().await;
                let alive = |_: &Node| Value::record([("Alive", Value::Bool(true))]);
                Value::list(nodes.iter().map(alive).collect())
            }
            "ray.util.placement_group" => {
                let bundles = arguments.required(0, "bundles")?;
                let count = bundles.values().unwrap_or_default().len();
                self.next += 1;
                let attributes = [
                    ("id", Value::Int(self.next)),
                    ("bundles", bundles.clone()),
                    (
                        "bundle_count",
                        Value::Int(i64::try_from(count).unwrap_or(0)),
                    ),
                ];
                let attributes = attributes.map(|(name, value)| (name.to_owned(), value));
                Value::object("PlacementGroup", attributes.into())
            }
            // `ray.get` of a placement group waits until it is ready.
            "PlacementGroup.ready" => arguments.required(0, "self")?.clone(),
            "ray.get" => {
                let value = arguments.required(0, "object")?;
                if let Some(bundles) = attribute(value, "bundles") {
                    let id = attribute(value, "id").and_then(|id| id.as_int());
                    self.place(id.unwrap_or(0), &bundles).await;
                }
                value.clone()
            }
            "ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy" => {
                let index = arguments.required(1, "placement_group_bundle_index")?;
                let index = ("index".to_owned(), index.clone());
                Value::object("Strategy", vec![index])
            }
            "RemoteFunction.remote" => self.start(arguments).await?,
            "__main__.get_or_fail" => self.get_or_fail(arguments).await?,
            other => match other.strip_suffix(".options") {
                Some(function) => {
                    let mut attributes = arguments.named.clone();
                    attributes.push(("function".into(), Value::str(function)));
                    Value::object("RemoteFunction", attributes)
                }
                None => return Err(Exception::not_supported(other)),
            },
        })
    }

    /// Waits for the resources of a placement group.
    async fn place(&mut self, id: i64, bundles: &Value) {
        let bundles = bundles.values().unwrap_or_default();
        let amount = |bundle: &Value, name: &str| {
            let amount = bundle.get(&Value::str(name));
            amount.and_then(|amount| amount.as_float()).unwrap_or(0.0)
        };
        let bundle = |bundle: &Value| Bundle {
            cpus: amount(bundle, "CPU"),
            gpus: amount(bundle, "GPU"),
        };
        let bundles: Vec<Bundle> = bundles.iter().map(bundle).collect();
        let nodes = self.runtime.nodes.nodes().await;
        let node = |node: &Node| Bundle {
            cpus: node.container.system().cpus() as f64,
            gpus: node.container.system().gpus().len() as f64,
        };
        let nodes: Vec<Bundle> = nodes.iter().map(node).collect();
        let group = self.runtime.placements.place(bundles, &nodes).await;
        self.groups.insert(id, group);
    }

    /// Runs a function on the node of its bundle.
    async fn start(&mut self, arguments: &Arguments) -> Result<Value, Exception> {
        let function = arguments.required(0, "self")?;
        let option = |name: &str| attribute(function, name);
        let strategy = option("scheduling_strategy").unwrap_or(Value::None);
        let index = attribute(&strategy, "index").and_then(|index| index.as_int());
        let index = usize::try_from(index.unwrap_or(0)).unwrap_or(0);
        let nodes = self.runtime.nodes.nodes().await;
        let node = nodes.get(index).cloned();
        let node = node.ok_or_else(|| Exception::new("RuntimeError", "a node has failed"))?;
        match option("function").as_ref().and_then(Value::as_str) {
            Some(CHECK_IP) => Ok(Value::str(node.ip)),
            Some(RUN) => {
                let gpus = option("num_gpus").and_then(|gpus| gpus.as_float());
                let name = option("name")
                    .map(|name| name.to_text())
                    .unwrap_or_default();
                self.run(arguments, index, node, name, gpus.unwrap_or(0.0))
            }
            function => Err(Exception::not_supported(
                function.unwrap_or("this function"),
            )),
        }
    }

    fn run(
        &mut self,
        arguments: &Arguments,
        index: usize,
        node: Node,
        name: String,
        gpus: f64,
    ) -> Result<Value, Exception> {
        let variables = arguments.by_name("env_vars").and_then(Value::items);
        let script = task_script(
            &arguments.text(1, "bash_command")?,
            &variables.unwrap_or_default(),
            gpus,
        );
        let log_path = expand_user(&arguments.text(2, "log_path")?);
        let pid = node.container.next_pid();
        let path = format!(
            "/tmp/sky_app_{:08x}",
            node.container.system().random() >> 32
        );
        let written = node.container.write_file(&path, script.as_bytes(), false);
        written.map_err(|error| Exception::new("OSError", error.to_string()))?;
        let address = match index {
            0 => String::new(),
            _ => format!(", ip={}", node.ip),
        };
        let output = TaskOutput {
            driver: self.output.clone(),
            name: format!("{name} pid={pid}{address}"),
        };
        self.next += 1;
        let id = self.next;
        self.pids.insert(id, pid);
        self.tasks.spawn(async move {
            let (sender, receiver) = mpsc::channel(16);
            let streams = ExecStreams {
                stdin: None,
                stdout: Some(sender.clone()),
                stderr: Some(sender),
                terminal: None,
            };
            let words = ["/bin/bash", "-i", &path].map(str::to_owned);
            let running = node.container.exec(&words, streams);
            let copying = output.copy(receiver, &node.container, &log_path);
            let (code, ()) = tokio::join!(running, copying);
            (id, code.unwrap_or(127).into())
        });
        Ok(Value::Int(id))
    }

    /// Waits for tasks; when one fails, the others are ended. Returns their exit codes and process
    /// identifiers, and frees the resources of the placement group.
    async fn get_or_fail(&mut self, arguments: &Arguments) -> Result<Value, Exception> {
        let futures = arguments
            .required(0, "futures")?
            .values()
            .unwrap_or_default();
        let ids: Vec<i64> = futures.iter().filter_map(Value::as_int).collect();
        let mut codes: BTreeMap<i64, i64> = ids.iter().map(|id| (*id, ENDED)).collect();
        while let Some(ended) = self.tasks.join_next().await {
            let Ok((id, code)) = ended else { continue };
            codes.insert(id, code);
            if code != 0 {
                self.tasks.shutdown().await;
            }
        }
        let group = arguments
            .get(1, "pg")
            .and_then(|group| attribute(group, "id"));
        if let Some(group) = group.and_then(|id| id.as_int()) {
            self.groups.remove(&group);
        }
        let code = |id: &i64| Value::Int(codes.get(id).copied().unwrap_or(ENDED));
        let pid = |id: &i64| {
            self.pids
                .get(id)
                .map_or(Value::None, |pid| Value::Int((*pid).into()))
        };
        let pair = [
            Value::list(ids.iter().map(code).collect()),
            Value::list(ids.iter().map(pid).collect()),
        ];
        Ok(Value::Tuple(pair.into()))
    }
}

/// An attribute of an object.
fn attribute(object: &Value, name: &str) -> Option<Value> {
    let Value::Object(object) = object else {
        return None;
    };
    let mut attributes = object.attributes.iter();
    let found = attributes.find(|(known, _)| known == name);
    found.map(|(_, value)| value.clone())
}

/// The script of a task with its environment.
fn task_script(command: &str, variables: &[(Value, Value)], gpus: f64) -> String {
    let mut script = String::from("#!/bin/bash\n[ -f ~/.bashrc ] && source ~/.bashrc\n");
    script.push_str("export PYTHONUNBUFFERED=1\ncd ~/sky_workdir\n");
    if gpus >= 1.0 {
        let devices: Vec<String> = (0..gpus as u64).map(|device| device.to_string()).collect();
        script.push_str(&format!(
            "export CUDA_VISIBLE_DEVICES={}\n",
            devices.join(",")
        ));
    }
    for (name, value) in variables {
        let value = value.to_text().replace('\'', "'\\''");
        script.push_str(&format!("export {}='{value}'\n", name.to_text()));
    }
    script.push_str(command);
    script.push('\n');
    script
}
