//! Container logs. Only the program and start time of each container instance are stored; lines are
//! computed when a log is read.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use jiff::Timestamp;
use kube::api::LogParams;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::simulated_container::after;
use kueue_lab_clock::Clock;
use kueue_lab_container_program::{Program, ProgramEvent};

/// Maximum number of lines at the start of an answer; older ones count as rotated.
const LINES: usize = 10_000;

/// Which log to read.
#[derive(Clone, Debug, Default)]
pub struct LogQuery {
    /// UID of the pod.
    pub uid: String,
    /// Name of the container.
    pub container: String,
    /// The query options; their container and `since_time` are unset.
    pub options: LogParams,
}

/// The error of reading a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The container has not run on a node of this lab.
    #[error("the container has not started")]
    NotStarted,
    /// The container has no previous instance.
    #[error("previous terminated container not found")]
    NoPrevious,
}

/// One instance of a container.
#[derive(Clone)]
struct ContainerInstance {
    program: Arc<Program>,
    started: Timestamp,
    ended: watch::Sender<Option<Timestamp>>,
}

/// The logs of all containers. Clones share them.
#[derive(Clone)]
pub struct LogStore {
    clock: Clock,
    /// By pod uid.
    instances: Arc<Mutex<HashMap<String, ContainerInstances>>>,
}

/// The current instance of each container, and the previous one.
type ContainerInstances = BTreeMap<String, (ContainerInstance, Option<ContainerInstance>)>;

impl LogStore {
    /// An empty store.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            instances: Arc::default(),
        }
    }

    /// Records the start of a container.
    pub(super) fn container_started(
        &self,
        uid: &str,
        container: &str,
        program: Arc<Program>,
        started: Timestamp,
    ) {
        let run = ContainerInstance {
            program,
            started,
            ended: watch::channel(None).0,
        };
        let mut runs = self.instances.lock();
        let pod = runs.entry(uid.to_string()).or_default();
        let before = pod.remove(container).map(|(run, _)| run);
        pod.insert(container.to_string(), (run, before));
    }

    /// Records the end of a container.
    pub(super) fn container_terminated(&self, uid: &str, container: &str, at: Timestamp) {
        if let Some((run, _)) = self
            .instances
            .lock()
            .get(uid)
            .and_then(|p| p.get(container))
        {
            run.ended.send_if_modified(|ended| {
                let first = ended.is_none();
                ended.get_or_insert(at);
                first
            });
        }
    }

    /// Changes when the current instance of a container ends; closed when its pod is deleted.
    pub(super) fn ended(
        &self,
        uid: &str,
        container: &str,
    ) -> Option<watch::Receiver<Option<Timestamp>>> {
        let instances = self.instances.lock();
        let (instance, _) = instances.get(uid)?.get(container)?;
        Some(instance.ended.subscribe())
    }

    /// Removes the logs of a deleted pod.
    pub(super) fn forget(&self, uid: &str) {
        self.instances.lock().remove(uid);
    }

    /// Reads a log as a stream of text. With `follow` the stream ends with the container.
    ///
    /// # Errors
    /// There is no such log.
    pub fn read(&self, query: &LogQuery) -> Result<BoxStream<'static, Bytes>, LogError> {
        let runs = self.instances.lock();
        let pod = runs.get(&query.uid).ok_or(LogError::NotStarted)?;
        let (present, before) = pod.get(&query.container).ok_or(LogError::NotStarted)?;
        let options = &query.options;
        let run = if options.previous {
            before.clone().ok_or(LogError::NoPrevious)?
        } else {
            present.clone()
        };
        drop(runs);
        let (text, read) = self.current_lines(&run, options);
        let left = byte_limit(options).map(|limit| limit.saturating_sub(text.len()));
        let first = futures::stream::iter((!text.is_empty()).then_some(text));
        if !options.follow || options.previous || left == Some(0) {
            return Ok(first.boxed());
        }
        let rest = follow(self.clock.clone(), run, read, options.timestamps);
        let rest = rest.scan(left, |left, mut piece: Bytes| {
            if let Some(left) = left {
                piece.truncate(*left);
                *left -= piece.len();
            }
            futures::future::ready((!piece.is_empty()).then_some(piece))
        });
        Ok(first.chain(rest).boxed())
    }

    /// The lines until now, and how many moments of the program they took.
    fn current_lines(&self, run: &ContainerInstance, options: &LogParams) -> (Bytes, usize) {
        let until = run.ended.borrow().unwrap_or_else(|| self.clock.now());
        let since = options.since_seconds.and_then(|seconds| {
            let back = jiff::SignedDuration::from_secs(seconds);
            self.clock.now().checked_sub(back).ok()
        });
        let tail = options
            .tail_lines
            .and_then(|lines| usize::try_from(lines).ok());
        let keep = tail.unwrap_or(LINES).min(LINES);
        let mut lines = VecDeque::new();
        let mut read = 0;
        for event in run.program.events() {
            let ProgramEvent::Line(at, line) = event else {
                break;
            };
            let at = after(run.started, at);
            if at > until {
                break;
            }
            read += 1;
            if since.is_some_and(|since| at < since) {
                continue;
            }
            if lines.len() >= keep {
                lines.pop_front();
            }
            if keep > 0 {
                lines.push_back((at, line));
            }
        }
        let mut text = String::new();
        for (at, line) in lines {
            write_line(&mut text, at, line, options.timestamps);
        }
        let mut text = Bytes::from(text);
        if let Some(limit) = byte_limit(options) {
            text.truncate(limit);
        }
        (text, read)
    }
}

fn byte_limit(options: &LogParams) -> Option<usize> {
    options
        .limit_bytes
        .and_then(|bytes| usize::try_from(bytes).ok())
}

fn write_line(text: &mut String, at: Timestamp, line: &str, timestamps: bool) {
    if timestamps {
        text.push_str(&format!("{at:.9} "));
    }
    text.push_str(line);
    text.push('\n');
}

/// Streams the lines after the first `read` events until the container ends.
fn follow(
    clock: Clock,
    run: ContainerInstance,
    read: usize,
    timestamps: bool,
) -> impl futures::Stream<Item = Bytes> + Send {
    let ended = run.ended.subscribe();
    futures::stream::unfold((clock, run, ended, read), move |state| async move {
        let (clock, run, mut ended, read) = state;
        let next = run.program.events().nth(read);
        let line = match next {
            Some(ProgramEvent::Line(at, line)) => Some((after(run.started, at), line.to_string())),
            _ => None,
        };
        let written = async {
            match &line {
                Some((at, _)) => clock.sleep_until(*at).await,
                None => std::future::pending().await,
            }
        };
        let over = async {
            // The sender lives in `run`.
            let over = ended.wait_for(Option::is_some).await;
            over.ok().and_then(|at| *at)
        };
        let stop = tokio::select! {
            biased;
            () = written => None,
            at = over => Some(at),
        };
        let (at, line) = line?;
        // Includes a line written at the very end.
        if let Some(end) = stop
            && end.is_none_or(|end| at > end)
        {
            return None;
        }
        let mut text = String::new();
        write_line(&mut text, at, &line, timestamps);
        Some((Bytes::from(text), (clock, run, ended, read + 1)))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use kueue_lab_clock::virtual_runtime;
    use kueue_lab_container_program::Step;

    fn ticking() -> Arc<Program> {
        Arc::new(Program::new(vec![
            Step::Print("begin".into()),
            Step::Loop(vec![
                Step::Wait(Duration::from_secs(1)),
                Step::Print("tick".into()),
            ]),
        ]))
    }

    async fn text(stream: BoxStream<'static, Bytes>) -> String {
        let pieces: Vec<Bytes> = stream.collect().await;
        String::from_utf8(pieces.concat()).unwrap()
    }

    fn query(options: LogParams) -> LogQuery {
        LogQuery {
            uid: "u".into(),
            container: "c".into(),
            options,
        }
    }

    #[test]
    fn logs_grow_with_time_and_honor_limits() {
        virtual_runtime().unwrap().block_on(async {
            let clock = Clock::starting_at("2026-03-02T12:00:00Z".parse().unwrap());
            let logs = LogStore::new(clock.clone());
            assert_eq!(
                logs.read(&query(LogParams::default())).err(),
                Some(LogError::NotStarted)
            );
            logs.container_started("u", "c", ticking(), clock.now());
            clock.sleep(Duration::from_millis(2_500)).await;
            let all = text(logs.read(&query(LogParams::default())).unwrap()).await;
            assert_eq!(all, "begin\ntick\ntick\n");
            let last = query(LogParams {
                tail_lines: Some(1),
                timestamps: true,
                ..LogParams::default()
            });
            assert_eq!(
                text(logs.read(&last).unwrap()).await,
                "2026-03-02T12:00:02.000000000Z tick\n"
            );
            let few = query(LogParams {
                limit_bytes: Some(3),
                ..LogParams::default()
            });
            assert_eq!(text(logs.read(&few).unwrap()).await, "beg");
            let previous = query(LogParams {
                previous: true,
                ..LogParams::default()
            });
            assert_eq!(logs.read(&previous).err(), Some(LogError::NoPrevious));
        });
    }

    #[test]
    fn following_ends_with_the_container() {
        virtual_runtime().unwrap().block_on(async {
            let clock = Clock::starting_at("2026-03-02T12:00:00Z".parse().unwrap());
            let logs = LogStore::new(clock.clone());
            logs.container_started("u", "c", ticking(), clock.now());
            let follow = query(LogParams {
                follow: true,
                ..LogParams::default()
            });
            let stream = logs.read(&follow).unwrap();
            let ending = async {
                clock.sleep(Duration::from_millis(3_500)).await;
                logs.container_terminated("u", "c", clock.now());
            };
            let (all, ()) = tokio::join!(text(stream), ending);
            assert_eq!(all, "begin\ntick\ntick\ntick\n");
        });
    }
}
