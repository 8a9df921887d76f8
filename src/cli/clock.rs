//! `kueue-lab clock`

use std::fmt::Write;
use std::time::Duration;

use jiff::SignedDuration;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::kubeconfig_args::KubeconfigArgs;
use super::lab_request_error::lab_request_error;
use super::output::print_stdout;
use super::{CommandError, logging, runtime, speed};
use kueue_lab_clock::{AGE_TOLERANCE, Clock};
use kueue_lab_controller_runtime::Api;
use kueue_lab_lab::{CLOCK, ClockSpec, ClockStatus};
use kueue_lab_reason::StopCondition;
use kueue_lab_reason::resources::ResourceFormatter;

/// How long the lab may take to answer a request.
const TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

const EXAMPLES: &str = "\
Examples:
  kueue-lab clock                     lab time, and the heads of a paused scheduling cycle
  kueue-lab clock pause
  kueue-lab clock step                to the next scheduling cycle; one that waits runs first
  kueue-lab clock until preemption    pauses before the cycle that preempts a workload
  kueue-lab clock speed 10
  kueue-lab clock resume
  kubectl get clock lab -o yaml       the same state as an object";

/// Show, pause, step or speed up the time of a running lab.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Option<ClockAction>,
    /// The output format.
    #[arg(
        long,
        short,
        global = true,
        value_name = "FORMAT",
        default_value = "text"
    )]
    output: Format,
    #[command(flatten)]
    target: KubeconfigArgs,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// The status of the Clock object.
    Json,
}

#[derive(Clone, Copy, Debug, clap::Subcommand)]
enum ClockAction {
    /// Stop lab time: no controller, kubelet, lease or timeout of the lab moves; requests are served.
    Pause,
    /// Continue lab time.
    Resume,
    /// Run to the next scheduling cycle and pause before it; one that waits already runs first.
    Step(WaitArgs),
    /// Run to an event and pause: before the cycle of an admission or preemption, after an eviction or finish.
    Until {
        /// cycle, admission, preemption, eviction or finish.
        #[arg(value_name = "EVENT")]
        event: StopCondition,
        #[command(flatten)]
        wait: WaitArgs,
    },
    /// Set the speed in lab seconds per second, from 0.01 to 10000; 0 pauses.
    Speed {
        /// The speed, such as 10 or 0.5.
        #[arg(value_name = "N", value_parser = parse_speed)]
        speed: f64,
    },
}

#[derive(Clone, Copy, Debug, clap::Args)]
struct WaitArgs {
    /// Return at once; by default the command waits until the clock is paused.
    #[arg(long)]
    no_wait: bool,
    /// The longest wait, in seconds; then the clock is paused where it is, and the exit code is 1.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
}

/// Parses a speed, or 0.
fn parse_speed(text: &str) -> Result<f64, speed::ParseSpeedError> {
    match text {
        "0" => Ok(0.0),
        text => speed::parse(text),
    }
}

pub(super) fn run(args: Args) -> Result<(), CommandError> {
    logging::to_stderr();
    runtime()?.block_on(async {
        let (client, context) = args.target.connect().await?;
        let clock = ClockObject {
            api: Api::all_with(client, &ClockSpec::api_resource()),
            context,
        };
        let (spec, wait) = match args.action {
            None => (None, None),
            Some(ClockAction::Pause) => (Some(json!({"paused": true, "until": null})), None),
            Some(ClockAction::Resume) => (Some(json!({"paused": false, "until": null})), None),
            Some(ClockAction::Speed { speed }) => (Some(json!({"speed": speed})), None),
            Some(ClockAction::Step(wait)) => (Some(run_until(StopCondition::Cycle)), Some(wait)),
            Some(ClockAction::Until { event, wait }) => (Some(run_until(event)), Some(wait)),
        };
        let mut status = match spec {
            Some(spec) => clock.request(&spec).await?,
            None => clock.status().await?,
        };
        let mut timed_out = false;
        if let Some(wait) = wait.filter(|wait| !wait.no_wait) {
            (status, timed_out) = clock.wait_until_paused(wait.timeout).await?;
        }
        print(&status, args.output)?;
        match timed_out {
            true => Err(CommandError::failed(
                "the event did not occur within the timeout",
            )),
            false => Ok(()),
        }
    })
}

/// The spec that runs the clock to an event.
fn run_until(event: StopCondition) -> Value {
    json!({"paused": false, "until": event})
}

/// The clock of a running lab.
struct ClockObject {
    api: Api<DynamicObject>,
    context: String,
}

impl ClockObject {
    fn failed(&self, error: &kube::Error) -> CommandError {
        lab_request_error(error, &self.context, "")
    }

    async fn status(&self) -> Result<ClockStatus, CommandError> {
        let object = self.api.get(CLOCK).await;
        Ok(ClockStatus::of(
            &object.map_err(|error| self.failed(&error))?,
        ))
    }

    /// Changes the spec, and waits until the lab has carried it out.
    async fn request(&self, spec: &Value) -> Result<ClockStatus, CommandError> {
        let patch = Patch::Merge(json!({"spec": spec}));
        let patched = self.api.patch(CLOCK, &PatchParams::default(), &patch).await;
        let patched = patched.map_err(|error| self.failed(&error))?;
        let requested = patched.metadata.generation.unwrap_or_default();
        let answers = |status: &ClockStatus| status.observed_generation >= requested;
        let Some(status) = self.poll(Some(TIMEOUT), answers).await? else {
            let message = format!("the lab does not answer within {} s", TIMEOUT.as_secs());
            return Err(CommandError::failed(message));
        };
        match status.error {
            Some(error) => Err(CommandError::failed(error)),
            None => Ok(status),
        }
    }

    /// Waits until the clock is paused, or pauses it after a timeout. Returns whether that was so.
    async fn wait_until_paused(
        &self,
        timeout: Option<u64>,
    ) -> Result<(ClockStatus, bool), CommandError> {
        let timeout = timeout.map(Duration::from_secs);
        match self.poll(timeout, |status| status.state.paused).await? {
            Some(status) => Ok((status, false)),
            None => {
                let status = self
                    .request(&json!({"paused": true, "until": null}))
                    .await?;
                Ok((status, true))
            }
        }
    }

    /// Reads the status until it is as wanted; `None` after the timeout.
    async fn poll(
        &self,
        timeout: Option<Duration>,
        is_wanted: impl Fn(&ClockStatus) -> bool,
    ) -> Result<Option<ClockStatus>, CommandError> {
        let clock = Clock::real();
        let start = clock.now();
        loop {
            let status = self.status().await?;
            if is_wanted(&status) {
                return Ok(Some(status));
            }
            let passed = clock.now().duration_since(start).unsigned_abs();
            if timeout.is_some_and(|timeout| passed >= timeout) {
                return Ok(None);
            }
            clock.sleep(POLL_INTERVAL).await;
        }
    }
}

fn print(status: &ClockStatus, format: Format) -> Result<(), CommandError> {
    let text = match format {
        Format::Text => text(status),
        Format::Json => {
            let json = serde_json::to_string_pretty(status).map_err(CommandError::failed)?;
            format!("{json}\n")
        }
    };
    print_stdout(text.as_bytes())
}

fn text(status: &ClockStatus) -> String {
    let state = &status.state;
    let now = state.now(Clock::real().now());
    let mut text = format!("lab time {now:.0}, {}\n", status.summary);
    if let Some(offset) = offset_text(now.duration_since(Clock::real().now())) {
        let _ = writeln!(text, "{offset}");
    }
    if !state.heads.is_empty() {
        text.push_str("heads of the next scheduling cycle, in order:\n");
    } else if state.paused {
        text.push_str("no workload is the head of a ClusterQueue now\n");
    }
    for (n, head) in state.heads.iter().enumerate() {
        let outcome = head.outcome.text(&ResourceFormatter::default());
        let _ = writeln!(
            text,
            "  {} {} of {}, priority {}: {outcome}",
            n + 1,
            head.workload,
            head.cluster_queue,
            head.priority
        );
    }
    text
}

/// How far lab time is from the time of this machine, unless that is negligible.
fn offset_text(ahead: SignedDuration) -> Option<String> {
    if ahead.abs() < AGE_TOLERANCE {
        return None;
    }
    let duration = kueue_lab_duration::human_duration(ahead.abs().as_secs());
    Some(if ahead.is_positive() {
        format!(
            "lab time is {duration} ahead of this machine: kubectl describe prints <invalid> for newer ages"
        )
    } else {
        format!(
            "lab time is {duration} behind this machine: kubectl describe prints ages that are {duration} too long"
        )
    })
}
