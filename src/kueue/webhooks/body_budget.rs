//! [`BodyBudget`]: the bytes of all request bodies that are in memory.
//!
//! Clients of webhooks are not authenticated. When the budget is used up, a body waits until others
//! are handled, and the one that has made no progress for longest is given up.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The time without progress after which a body is given up for another.
const PATIENCE: Duration = Duration::from_millis(200);

/// The bytes of all bodies.
#[derive(Debug)]
pub(super) struct BodyBudget {
    limit: usize,
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct State {
    held: usize,
    next: u64,
    /// The bodies that are not complete.
    incomplete: HashMap<u64, Incomplete>,
}

#[derive(Debug)]
struct Incomplete {
    last_progress: Instant,
    given_up: CancellationToken,
}

/// The bytes of one body, until it is dropped.
#[derive(Debug)]
pub(super) struct BodyBytes {
    budget: Arc<BodyBudget>,
    id: u64,
    held: usize,
    given_up: CancellationToken,
}

/// The status and text of a body that is not read.
pub(super) type BodyError = (StatusCode, String);

impl BodyBudget {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            state: Mutex::default(),
            freed: Notify::new(),
        })
    }

    fn begin(self: &Arc<Self>) -> BodyBytes {
        let mut state = self.state.lock();
        let id = state.next;
        state.next += 1;
        let given_up = CancellationToken::new();
        let incomplete = Incomplete {
            last_progress: Instant::now(),
            given_up: given_up.clone(),
        };
        state.incomplete.insert(id, incomplete);
        BodyBytes {
            budget: self.clone(),
            id,
            held: 0,
            given_up,
        }
    }

    /// Reads a body of at most `limit` bytes, which is not above the budget. Its bytes count until the
    /// second value is dropped.
    ///
    /// # Errors
    /// 413 above the limit, 429 if it is given up for another, 400 if the client stops sending.
    pub(super) async fn read<B>(
        self: &Arc<Self>,
        body: B,
        limit: usize,
    ) -> Result<(Bytes, BodyBytes), BodyError>
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Unpin,
    {
        let mut held = self.begin();
        let given_up = held.given_up.clone();
        let read = async {
            let mut body = Limited::new(body, limit.min(self.limit));
            let mut bytes = BytesMut::new();
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| match error.is::<LengthLimitError>() {
                    true => (
                        StatusCode::PAYLOAD_TOO_LARGE,
                        format!("a review must have at most {limit} bytes"),
                    ),
                    false => (StatusCode::BAD_REQUEST, error.to_string()),
                })?;
                if let Ok(data) = frame.into_data() {
                    held.extend(data.len()).await;
                    bytes.extend_from_slice(&data);
                }
            }
            held.complete();
            Ok((bytes.freeze(), held))
        };
        tokio::select! {
            biased;
            read = read => read,
            () = given_up.cancelled() => Err((
                StatusCode::TOO_MANY_REQUESTS,
                "the bodies of all requests are above the limit, and this one makes no progress".into(),
            )),
        }
    }
}

impl BodyBytes {
    /// Waits until the budget has room.
    async fn extend(&mut self, length: usize) {
        while !self.try_extend(length) {
            tokio::select! {
                () = self.budget.freed.notified() => {}
                () = tokio::time::sleep(PATIENCE) => {}
            }
        }
    }

    fn try_extend(&mut self, length: usize) -> bool {
        let mut state = self.budget.state.lock();
        let now = Instant::now();
        if state.held + length <= self.budget.limit {
            state.held += length;
            self.held += length;
            if let Some(own) = state.incomplete.get_mut(&self.id) {
                own.last_progress = now;
            }
            return true;
        }
        let others = state.incomplete.iter().filter(|(id, _)| **id != self.id);
        let longest = others.min_by_key(|(_, other)| other.last_progress);
        if let Some((_, longest)) = longest
            && longest.last_progress + PATIENCE <= now
        {
            longest.given_up.cancel();
        }
        false
    }

    fn complete(&self) {
        let mut state = self.budget.state.lock();
        state.incomplete.remove(&self.id);
    }
}

impl Drop for BodyBytes {
    fn drop(&mut self) {
        let mut state = self.budget.state.lock();
        state.held -= self.held;
        state.incomplete.remove(&self.id);
        drop(state);
        self.budget.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http_body_util::{Full, StreamBody};
    use hyper::body::Frame;
    use tokio::sync::mpsc;

    use super::*;

    type Sender = mpsc::UnboundedSender<Bytes>;

    /// A body whose sender does not end it.
    fn open_body(
        length: usize,
    ) -> (
        Sender,
        impl Body<Data = Bytes, Error = Infallible> + Unpin + Send,
    ) {
        let (sender, receiver) = mpsc::unbounded_channel();
        sender.send(Bytes::from(vec![0; length])).unwrap();
        let frames = futures::stream::unfold(receiver, |mut receiver| async move {
            let data: Bytes = receiver.recv().await?;
            Some((Ok::<_, Infallible>(Frame::data(data)), receiver))
        });
        (sender, StreamBody::new(Box::pin(frames)))
    }

    fn full(length: usize) -> Full<Bytes> {
        Full::new(Bytes::from(vec![0; length]))
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_without_progress_give_way_and_complete_ones_do_not() {
        let budget = BodyBudget::new(100);
        let (_first, body) = open_body(60);
        let stalled = tokio::spawn({
            let budget = budget.clone();
            async move { budget.read(body, 100).await.map(|_| ()) }
        });
        tokio::task::yield_now().await;
        let (bytes, held) = budget.read(full(50), 100).await.unwrap();
        assert_eq!(bytes.len(), 50);
        let (status, _) = stalled.await.unwrap().unwrap_err();
        assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
        // A complete body keeps its bytes until it is handled; the next one waits for it.
        let next = budget.read(full(60), 100);
        tokio::pin!(next);
        let waited = tokio::time::timeout(Duration::from_secs(10), &mut next).await;
        assert!(waited.is_err());
        drop(held);
        let (_, held) = next.await.unwrap();
        assert_eq!(budget.state.lock().held, 60);
        drop(held);
        assert_eq!(budget.state.lock().held, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn two_bodies_that_wait_for_each_other_end() {
        let budget = BodyBudget::new(100);
        let (first, body) = open_body(50);
        let (second, other) = open_body(50);
        let read = |body| {
            let budget = budget.clone();
            tokio::spawn(async move { budget.read(body, 100).await.is_ok() })
        };
        let reads = [read(body), read(other)];
        while budget.state.lock().held < 100 {
            tokio::task::yield_now().await;
        }
        for sender in [first, second] {
            sender.send(Bytes::from(vec![0; 10])).unwrap();
        }
        let read = futures::future::try_join_all(reads).await.unwrap();
        assert_eq!(read.iter().filter(|ok| **ok).count(), 1);
    }

    #[tokio::test]
    async fn a_body_above_its_limit_is_refused() {
        let budget = BodyBudget::new(100);
        let (status, text) = budget.read(full(11), 10).await.unwrap_err();
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(text, "a review must have at most 10 bytes");
        assert_eq!(budget.state.lock().held, 0);
    }
}
