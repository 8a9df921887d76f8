//! `kueue-lab export`

use std::fmt::Write as _;
use std::path::PathBuf;

use kube::Client;
use kube::core::discovery::verbs;
use kube::discovery::Discovery;
use kueue_lab_import::{PagedLists, apply_order};
use serde_json::Value;

use super::kubeconfig_args::KubeconfigArgs;
use super::output::{print_stdout, write_file};
use super::{CommandError, runtime};
use kueue_lab_lab::request_error_message;

const EXAMPLES: &str = "\
Examples:
  kueue-lab export -o lab.yaml           all objects of the running lab
  kueue-lab up --from lab.yaml           a new lab that continues with them
  kueue-lab export --secrets -o all.yaml";

/// Write all objects of a cluster as YAML, which `up --from` loads and `kubectl apply` accepts.
///
/// Left out are the CustomResourceDefinitions that the lab installs itself, and Secrets.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The file to write, readable by its owner only [default: stdout].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Include Secrets.
    #[arg(long)]
    secrets: bool,
    /// Include metadata.managedFields.
    #[arg(long)]
    managed_fields: bool,
    /// Include the CustomResourceDefinitions that the lab installs itself.
    #[arg(long)]
    all_crds: bool,
    #[command(flatten)]
    target: KubeconfigArgs,
}

pub(super) fn run(args: Args) -> Result<(), CommandError> {
    let yaml = runtime()?.block_on(async {
        let (client, name) = args.target.connect().await?;
        let mut objects = read_objects(&client, &args).await?;
        objects.sort_by_cached_key(apply_order);
        Ok::<_, CommandError>(to_yaml(&name, &objects))
    })?;
    match &args.output {
        None => print_stdout(yaml.as_bytes()),
        Some(path) => write_file(path, &yaml),
    }
}

/// Reads the objects of all resources, if possible of one revision.
async fn read_objects(client: &Client, args: &Args) -> Result<Vec<Value>, CommandError> {
    let discovery = Discovery::new(client.clone()).run().await;
    let discovery = discovery.map_err(|e| CommandError::failed(request_error_message(&e)))?;
    let mut objects = Vec::new();
    let mut lists = PagedLists::new(client.clone());
    for group in discovery.groups() {
        for (resource, capabilities) in group.recommended_resources() {
            let is_stored = capabilities.supports_operation(verbs::LIST)
                && capabilities.supports_operation(verbs::CREATE)
                && capabilities.supports_operation(verbs::WATCH);
            // Events are in two groups.
            let is_twice = resource.group == "events.k8s.io";
            let is_secret = resource.group.is_empty() && resource.kind == "Secret";
            if !is_stored || is_twice || (is_secret && !args.secrets) {
                continue;
            }
            let listed = lists.list(&resource).await;
            let listed = listed.map_err(|error| {
                let why = request_error_message(&error);
                CommandError::failed(format!("cannot list {}: {why}", resource.plural))
            })?;
            objects.extend(listed.into_iter().filter_map(|o| exported(o, args)));
        }
    }
    Ok(objects)
}

/// The object as it is exported; `None` for a preinstalled CustomResourceDefinition.
fn exported(mut object: Value, args: &Args) -> Option<Value> {
    if object["kind"] == "CustomResourceDefinition" && is_preinstalled(&object) && !args.all_crds {
        return None;
    }
    let metadata = object["metadata"].as_object_mut()?;
    metadata.remove("resourceVersion");
    if !args.managed_fields {
        metadata.remove("managedFields");
    }
    Some(object)
}

/// Whether only the API server has written the object.
fn is_preinstalled(object: &Value) -> bool {
    let managers = object["metadata"]["managedFields"].as_array();
    managers.is_some_and(|managers| {
        !managers.is_empty() && managers.iter().all(|m| m["manager"] == "kube-apiserver")
    })
}

fn to_yaml(cluster: &str, objects: &[Value]) -> String {
    let mut text = String::new();
    let count = objects.len();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "# {count} objects of the cluster {cluster}, written by `kueue-lab export`."
    );
    for object in objects {
        text.push_str("---\n");
        text.push_str(&kueue_lab_yaml::to_string(object));
    }
    text
}
