//! `kueue-lab export`

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use kube::Client;
use kube::core::discovery::verbs;
use kube::discovery::{ApiResource, Discovery};
use serde_json::Value;

use super::kubeconfig_args::{KubeconfigArgs, error_message};
use super::output::print_stdout;
use super::{CliError, runtime};

const EXAMPLES: &str = "\
Examples:
  kueue-lab export -o lab.yaml           all objects of the running lab
  kueue-lab up --from lab.yaml           a new lab that continues with them
  kueue-lab export --secrets -o all.yaml";

/// The objects of one response, so that large lists do not exceed the memory of a request.
const PAGE: u32 = 500;

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

pub(super) fn run(args: Args) -> Result<(), CliError> {
    let yaml = runtime()?.block_on(async {
        let (client, name) = args.target.connect().await?;
        let mut objects = read_objects(&client, &args).await?;
        objects.sort_by_cached_key(apply_order);
        Ok::<_, CliError>(to_yaml(&name, &objects))
    })?;
    match &args.output {
        None => print_stdout(yaml.as_bytes()),
        Some(path) => write_file(path, &yaml)
            .map_err(|error| CliError::Usage(format!("cannot write {}: {error}", path.display()))),
    }
}

/// Reads the objects of all resources, if possible of one revision.
async fn read_objects(client: &Client, args: &Args) -> Result<Vec<Value>, CliError> {
    let discovery = Discovery::new(client.clone()).run().await;
    let discovery = discovery.map_err(|e| CliError::Failed(error_message(&e)))?;
    let mut objects = Vec::new();
    let mut revision = None;
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
            let listed = list(client, &resource, &mut revision).await;
            let listed = listed.map_err(|error| {
                let why = error_message(&error);
                CliError::Failed(format!("cannot list {}: {why}", resource.plural))
            })?;
            objects.extend(listed.into_iter().filter_map(|o| exported(o, args)));
        }
    }
    Ok(objects)
}

/// Lists a resource at a revision, or at the current one if that is compacted.
async fn list(
    client: &Client,
    resource: &ApiResource,
    revision: &mut Option<String>,
) -> Result<Vec<Value>, kube::Error> {
    match list_at(client, resource, revision.as_deref()).await {
        Err(kube::Error::Api(status)) if status.code == 410 => {
            let (items, _) = list_at(client, resource, None).await?;
            Ok(items)
        }
        Ok((items, listed)) => {
            revision.get_or_insert(listed);
            Ok(items)
        }
        Err(error) => Err(error),
    }
}

/// Lists a resource in pages; returns the items with kind and apiVersion, and the revision.
async fn list_at(
    client: &Client,
    resource: &ApiResource,
    revision: Option<&str>,
) -> Result<(Vec<Value>, String), kube::Error> {
    let path = match resource.group.as_str() {
        "" => format!("/api/{}/{}", resource.version, resource.plural),
        group => format!("/apis/{group}/{}/{}", resource.version, resource.plural),
    };
    let mut items = Vec::new();
    let mut query = match revision {
        Some(revision) => format!("&resourceVersion={revision}&resourceVersionMatch=Exact"),
        None => String::new(),
    };
    loop {
        let uri = format!("{path}?limit={PAGE}{query}");
        let request = http::Request::get(uri).body(Vec::new());
        let request = request.map_err(kube::Error::HttpError)?;
        let mut list: Value = client.request(request).await?;
        if let Value::Array(page) = list["items"].take() {
            items.extend(page.into_iter().map(|mut item| {
                item["apiVersion"] = resource.api_version.as_str().into();
                item["kind"] = resource.kind.as_str().into();
                item
            }));
        }
        let text = |field: &str| list["metadata"][field].as_str().unwrap_or_default();
        if text("continue").is_empty() {
            return Ok((items, text("resourceVersion").to_owned()));
        }
        query = format!("&continue={}", text("continue"));
    }
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

/// The order in which the objects can be applied: first what others need.
fn apply_order(object: &Value) -> (usize, bool, String, String, String) {
    const FIRST: [&str; 8] = [
        "Namespace",
        "CustomResourceDefinition",
        "PriorityClass",
        "StorageClass",
        "RuntimeClass",
        "ServiceAccount",
        "Secret",
        "ConfigMap",
    ];
    // Webhooks and extension API servers are asked from then on.
    const LAST: [&str; 7] = [
        "Event",
        "APIService",
        "MutatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "Lease",
    ];
    let text = |pointer| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let kind = text("/kind");
    let rank = match (
        FIRST.iter().position(|k| *k == kind),
        LAST.iter().position(|k| *k == kind),
    ) {
        (Some(at), _) => at,
        (None, Some(at)) => FIRST.len() + 2 + at,
        (None, None) => {
            FIRST.len() + usize::from(object.pointer("/metadata/ownerReferences").is_some())
        }
    };
    let namespace = text("/metadata/namespace");
    (
        rank,
        // Objects of the cluster before those in namespaces.
        !namespace.is_empty(),
        kind.to_owned(),
        namespace.to_owned(),
        text("/metadata/name").to_owned(),
    )
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

/// Writes a file beside the final one and renames it, so that it is complete or the old one.
fn write_file(path: &Path, text: &str) -> std::io::Result<()> {
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let written = options.open(&temporary).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)
    });
    if written.is_err() {
        // The first error is reported.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}
