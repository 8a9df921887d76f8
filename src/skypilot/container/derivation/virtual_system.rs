//! The system of a process that is derived: virtual time, and no other processes and machines.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use super::Timeline;
use crate::system::{ContainerProcess, Gpu, RequestError, System};

/// The exit code of a process that a signal ends, without the number of the signal.
const SIGNALLED: i32 = 128;

/// A system in virtual time. Requests have an empty response: other containers are not known.
pub(super) struct VirtualSystem {
    timeline: Arc<Timeline>,
    /// Tasks that the executor does not know yet.
    tasks: Mutex<Vec<BoxFuture<'static, ()>>>,
    command: Vec<String>,
    random: AtomicU64,
}

impl VirtualSystem {
    pub(super) fn new(timeline: Arc<Timeline>, command: Vec<String>) -> Self {
        Self {
            timeline,
            tasks: Mutex::default(),
            command,
            random: AtomicU64::new(1),
        }
    }

    /// Takes the tasks that were spawned since the last call.
    pub(super) fn take_tasks(&self) -> Vec<BoxFuture<'static, ()>> {
        std::mem::take(&mut *self.tasks.lock())
    }
}

/// A wait in virtual time.
struct Sleep<'a> {
    timeline: &'a Timeline,
    timer: (Duration, u64),
}

impl Future for Sleep<'_> {
    type Output = ();

    /// The executor polls all tasks when it has advanced the time.
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match self.timeline.now() >= self.timer.0 {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        self.timeline.remove_timer(self.timer);
    }
}

#[async_trait]
impl System for VirtualSystem {
    fn now(&self) -> Timestamp {
        let since = SignedDuration::try_from(self.timeline.now()).unwrap_or(SignedDuration::MAX);
        let now = Timestamp::UNIX_EPOCH.checked_add(since);
        now.unwrap_or(Timestamp::MAX)
    }

    async fn sleep(&self, time: Duration) {
        let timeline = &*self.timeline;
        let timer = timeline.add_timer(time);
        Sleep { timeline, timer }.await;
    }

    async fn request(&self, _: Request<Bytes>) -> Result<Response<Bytes>, RequestError> {
        Ok(Response::new(Bytes::new()))
    }

    async fn resolve(&self, _: &str) -> Vec<IpAddr> {
        Vec::new()
    }

    fn gpus(&self) -> Vec<Gpu> {
        Vec::new()
    }

    fn cpus(&self) -> u64 {
        1
    }

    fn main_process(&self) -> ContainerProcess {
        ContainerProcess {
            command: self.command.clone(),
            started: Timestamp::UNIX_EPOCH,
        }
    }

    fn signal(&self, signal: i32) {
        self.timeline.exit(SIGNALLED + signal);
    }

    /// The numbers of SplitMix64, so that each derivation has the same.
    fn random(&self) -> u64 {
        let state = self
            .random
            .fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^ (state >> 31)
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.tasks.lock().push(task);
    }

    async fn yield_now(&self) {}

    fn has_image(&self) -> bool {
        false
    }

    fn is_endless(&self, round: u32, mark: Option<&mut usize>) -> bool {
        self.timeline.is_endless(round, mark)
    }
}
