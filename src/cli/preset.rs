//! `kueue-lab preset`

use std::time::Duration;

use kube::ResourceExt;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use kueue_lab_clock::Clock;
use kueue_lab_controller_runtime::Api;
use kueue_lab_controller_runtime::api_errors::is_not_found;
use kueue_lab_lab::{PresetSpec, PresetStatus};
use serde_json::json;

use super::kubeconfig_args::KubeconfigArgs;
use super::lab_request_error::lab_request_error;
use super::output::print_stdout;
use super::{CommandError, logging, runtime};

/// How long the lab may take to switch.
const TIMEOUT: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

const EXAMPLES: &str = "\
Examples:
  kueue-lab preset                  list the presets of the running lab
  kueue-lab preset fair-sharing     switch to a preset
  kubectl get presets               the same list";

/// List the presets of a running lab, or switch to one.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The preset to switch to.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    target: KubeconfigArgs,
}

pub(super) fn run(args: Args) -> Result<(), CommandError> {
    logging::to_stderr();
    runtime()?.block_on(async {
        let (client, context) = args.target.connect().await?;
        let presets = PresetObjects {
            api: Api::all_with(client, &PresetSpec::api_resource()),
            context,
        };
        match args.name {
            None => presets.list().await,
            Some(name) => presets.switch(&name).await,
        }
    })
}

/// The presets of a running lab.
struct PresetObjects {
    api: Api<DynamicObject>,
    context: String,
}

impl PresetObjects {
    fn failed(&self, error: &kube::Error) -> CommandError {
        lab_request_error(error, &self.context, "")
    }

    async fn objects(&self) -> Result<Vec<DynamicObject>, CommandError> {
        let list = self.api.list(&ListParams::default()).await;
        Ok(list.map_err(|error| self.failed(&error))?.items)
    }

    /// Prints a line for each preset, with `*` for the active one.
    async fn list(&self) -> Result<(), CommandError> {
        let objects = self.objects().await?;
        let width = objects.iter().map(|o| o.name_any().len()).max();
        let width = width.unwrap_or_default();
        let mut text = String::new();
        for object in &objects {
            let status = PresetStatus::of(object);
            let (mark, about) = match status.active {
                true => ("*", format!("{}: {}", status.state, status.summary)),
                false => (" ", summary(&status.description)),
            };
            text.push_str(&format!("{mark} {:<width$}  {about}\n", object.name_any()));
            for line in status.error_lines().iter().chain(&status.warning_lines()) {
                text.push_str(&format!("    {line}\n"));
            }
        }
        print_stdout(text.as_bytes())
    }

    /// Switches to a preset and waits until the lab has done so.
    async fn switch(&self, name: &str) -> Result<(), CommandError> {
        let patch = Patch::Merge(json!({"spec": PresetSpec::apply_request(Clock::real().now())}));
        let patched = self.api.patch(name, &PatchParams::default(), &patch).await;
        let requested = match patched {
            Ok(object) => object.metadata.generation.unwrap_or_default(),
            Err(error) if is_not_found(&error) => {
                let names: Vec<_> = self
                    .objects()
                    .await?
                    .iter()
                    .map(ResourceExt::name_any)
                    .collect();
                let message = format!(
                    "there is no preset {name:?}; the presets are {}",
                    names.join(", ")
                );
                return Err(CommandError::usage(message));
            }
            Err(error) => return Err(self.failed(&error)),
        };
        let clock = Clock::real();
        let deadline = clock.now() + TIMEOUT;
        while clock.now() < deadline {
            let object = self.api.get(name).await;
            let status = PresetStatus::of(&object.map_err(|error| self.failed(&error))?);
            if status.observed_generation < requested {
                clock.sleep(POLL_INTERVAL).await;
                continue;
            }
            for line in status.warning_lines() {
                tracing::warn!("{line}");
            }
            return match status.is_applied() {
                true => {
                    let line = format!("preset {name} is active: {}\n", status.summary);
                    print_stdout(line.as_bytes())
                }
                false => Err(CommandError::failed(status.error_lines().join("\n"))),
            };
        }
        Err(CommandError::failed(format!(
            "the lab has not switched within {} s; `kubectl get presets` shows its state",
            TIMEOUT.as_secs()
        )))
    }
}

/// The first line of a description.
fn summary(description: &str) -> String {
    description.lines().next().unwrap_or_default().to_owned()
}
