//! [`RateLimit`]: what a client does again and again writes a few lines to the log and their number.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Context, Filter};

/// The time for which lines of one cause are counted.
const PERIOD: Duration = Duration::from_secs(5);
/// Lines of one cause within the period: of code that serves clients or reconciles their objects, which may be
/// as many as they like.
const LINES_OF_CLIENTS: u32 = 10;
/// The same, of the other code of the lab, such as the errors of a preset.
const LINES: u32 = 200;
/// The lab's own crates.
const OWN_CRATES: &str = "kueue_lab";
/// Those that serve clients or reconcile their objects.
const OF_CLIENTS: [&str; 10] = [
    "kueue_lab_apiserver",
    "kueue_lab_autoscaler",
    "kueue_lab_controller",
    "kueue_lab_controller_manager",
    "kueue_lab_controller_runtime",
    "kueue_lab_http",
    "kueue_lab_kubelet",
    "kueue_lab_operators",
    "kueue_lab_scheduler",
    "kueue_lab_webhooks",
];
/// The target of the lines with the number of suppressed lines, which have no limit.
const SUMMARY: &str = "kueue_lab::suppressed";
/// The length of the example in a summary, in characters.
const EXAMPLE: usize = 160;

/// A filter by targets and levels that limits the lines of each cause, which is the place in the code
/// that writes them. Debug and trace lines, which are off by default, are not limited.
pub(super) struct RateLimit {
    targets: Targets,
    causes: Arc<Causes>,
}

/// The lines of the last period by cause.
#[derive(Default)]
struct Causes(Mutex<HashMap<Identifier, Lines>>);

struct Lines {
    since: Instant,
    count: u32,
    suppressed: u64,
}

/// What happens to a line.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Written,
    /// It is the first one that is suppressed.
    Suppressed {
        is_first: bool,
    },
}

impl RateLimit {
    pub(super) fn new(targets: Targets) -> Self {
        let causes = Arc::default();
        Self { targets, causes }
    }
}

impl Causes {
    fn observe(&self, cause: Identifier, limit: u32, now: Instant) -> Outcome {
        let mut causes = self.0.lock();
        let lines = match causes.entry(cause) {
            Entry::Occupied(known) => {
                let lines = known.into_mut();
                // A period with suppressed lines ends with its summary.
                if lines.suppressed == 0 && now.duration_since(lines.since) >= PERIOD {
                    (lines.since, lines.count) = (now, 0);
                }
                lines
            }
            Entry::Vacant(new) => new.insert(Lines {
                since: now,
                count: 0,
                suppressed: 0,
            }),
        };
        if lines.count < limit {
            lines.count += 1;
            return Outcome::Written;
        }
        lines.suppressed += 1;
        let is_first = lines.suppressed == 1;
        Outcome::Suppressed { is_first }
    }

    /// Ends the period of a cause; the number of its suppressed lines.
    fn end(&self, cause: &Identifier) -> u64 {
        let ended = self.0.lock().remove(cause);
        ended.map_or(0, |lines| lines.suppressed)
    }
}

/// The lines of a target that are written in a period.
fn limit_of(target: &str) -> u32 {
    let is_of = |name: &&str| target.starts_with(*name);
    match target.starts_with(OWN_CRATES) && !OF_CLIENTS.iter().any(is_of) {
        true => LINES,
        false => LINES_OF_CLIENTS,
    }
}

/// The text of an event, as far as it is an example.
#[derive(Default)]
struct Example(String);

impl Visit for Example {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let separator = if self.0.is_empty() { "" } else { " " };
        // Writing to a String does not fail.
        let _ = match field.name() {
            "message" => write!(self.0, "{separator}{value:?}"),
            name => write!(self.0, "{separator}{name}={value:?}"),
        };
    }
}

/// Writes the number of suppressed lines at the end of the period. Without a thread for it the next
/// period has no lines of the cause either, so the period ends at once.
fn summarize(causes: &Arc<Causes>, event: &Event<'_>) {
    let cause = event.metadata().callsite();
    let mut example = Example::default();
    event.record(&mut example);
    let example: String = example.0.chars().take(EXAMPLE).collect();
    let target = event.metadata().target().to_owned();
    let of_thread = causes.clone();
    let at_end = {
        let cause = cause.clone();
        move || {
            std::thread::sleep(PERIOD);
            let count = of_thread.end(&cause);
            tracing::warn!(target: SUMMARY, "{count} more lines as \"{example}\" ({target}) were suppressed");
        }
    };
    let thread = std::thread::Builder::new().name("suppressed-lines".into());
    if thread.spawn(at_end).is_err() {
        causes.end(&cause);
    }
}

impl<S: Subscriber> Filter<S> for RateLimit {
    fn enabled(&self, metadata: &Metadata<'_>, context: &Context<'_, S>) -> bool {
        Filter::<S>::enabled(&self.targets, metadata, context)
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        Filter::<S>::callsite_enabled(&self.targets, metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Filter::<S>::max_level_hint(&self.targets)
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        let metadata = event.metadata();
        if *metadata.level() > Level::INFO || metadata.target() == SUMMARY {
            return true;
        }
        let limit = limit_of(metadata.target());
        let outcome = self
            .causes
            .observe(metadata.callsite(), limit, Instant::now());
        if outcome == (Outcome::Suppressed { is_first: true }) {
            summarize(&self.causes, event);
        }
        outcome == Outcome::Written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_clients_cause_have_a_lower_limit() {
        assert_eq!(limit_of("h2::proto::streams::recv"), LINES_OF_CLIENTS);
        assert_eq!(limit_of("kueue_lab_http::server"), LINES_OF_CLIENTS);
        assert_eq!(
            limit_of("kueue_lab_controller::event_recorder"),
            LINES_OF_CLIENTS
        );
        assert_eq!(limit_of("kueue_lab_presets::reloader"), LINES);
        assert_eq!(limit_of("kueue_lab::cli::up"), LINES);
    }

    #[test]
    fn lines_above_the_limit_are_counted_until_the_period_ends() {
        let causes = Causes::default();
        let metadata = tracing::metadata!(
            name: "event",
            target: "t",
            level: Level::WARN,
            fields: &[],
            callsite: &CALLSITE,
            kind: tracing::metadata::Kind::EVENT
        );
        let cause = metadata.callsite();
        let start = Instant::now();
        let observe = |at| causes.observe(cause.clone(), 2, at);
        for _ in 0..2 {
            assert_eq!(observe(start), Outcome::Written);
        }
        for (is_first, at) in [(true, start), (false, start), (false, start + PERIOD * 2)] {
            assert_eq!(observe(at), Outcome::Suppressed { is_first });
        }
        assert_eq!(causes.end(&cause), 3);
        assert_eq!(observe(start), Outcome::Written);
        assert_eq!(observe(start), Outcome::Written);
        // Without a suppressed line a period ends without a summary.
        assert_eq!(observe(start + PERIOD), Outcome::Written);
    }

    static CALLSITE: TestCallsite = TestCallsite;

    struct TestCallsite;

    impl tracing::Callsite for TestCallsite {
        fn set_interest(&self, _: Interest) {}

        fn metadata(&self) -> &Metadata<'_> {
            unreachable!("no event is dispatched")
        }
    }
}
