//! [`StartedParts`]: the stack of the started parts of a lab, which stops them in reverse order.

use std::future::Future;

use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;

/// The started parts of a lab, the last one on top. A start that fails and a lab that stops end them from the top.
#[derive(Default)]
pub(crate) struct StartedParts(Mutex<Vec<Stop>>);

/// How a part stops.
enum Stop {
    /// Waits until the part has stopped.
    Wait(BoxFuture<'static, ()>),
    /// Blocks until the part has stopped, also when the deadline of the stop is over.
    Always(Box<dyn FnOnce() + Send>),
}

impl StartedParts {
    /// Adds a part that `stop` stops. Nothing is stopped when the deadline is over before.
    pub(crate) fn push(&self, stop: impl Future<Output = ()> + Send + 'static) {
        self.0.lock().push(Stop::Wait(stop.boxed()));
    }

    /// Adds a part that `stop` stops, whatever has not stopped before.
    pub(crate) fn push_always(&self, stop: impl FnOnce() + Send + 'static) {
        self.0.lock().push(Stop::Always(Box::new(stop)));
    }

    /// Stops all parts in reverse order of their start.
    pub(crate) async fn stop(&self) {
        self.stop_until(std::future::pending()).await;
    }

    /// Like [`stop`](Self::stop), but waits for parts until `deadline` completes only. Returns whether all parts have
    /// stopped.
    pub(crate) async fn stop_until(&self, deadline: impl Future<Output = ()>) -> bool {
        let mut deadline = std::pin::pin!(deadline);
        let mut is_in_time = true;
        loop {
            let Some(stop) = self.0.lock().pop() else {
                return is_in_time;
            };
            match stop {
                Stop::Always(stop) => stop(),
                Stop::Wait(stop) if is_in_time => tokio::select! {
                    biased;
                    () = stop => {}
                    () = &mut deadline => is_in_time = false,
                },
                Stop::Wait(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Parts `a`, `b` and `c`, of which `b` stops in any case; and the list of those that have stopped.
    fn parts(c: impl Future<Output = ()> + Send + 'static) -> (StartedParts, Arc<Mutex<String>>) {
        let (parts, stopped) = (StartedParts::default(), Arc::new(Mutex::new(String::new())));
        let (a, b) = (stopped.clone(), stopped.clone());
        parts.push(async move { a.lock().push('a') });
        parts.push_always(move || b.lock().push('b'));
        let of_c = stopped.clone();
        parts.push(async move {
            c.await;
            of_c.lock().push('c');
        });
        (parts, stopped)
    }

    #[tokio::test]
    async fn parts_stop_in_reverse_order_and_once() {
        let (parts, stopped) = parts(tokio::task::yield_now());
        parts.stop().await;
        parts.stop().await;
        assert_eq!(*stopped.lock(), "cba");
    }

    #[tokio::test]
    async fn what_must_stop_does_also_after_the_deadline() {
        let (parts, stopped) = parts(std::future::pending());
        assert!(!parts.stop_until(std::future::ready(())).await);
        assert_eq!(*stopped.lock(), "b");
    }

    #[tokio::test]
    async fn parts_that_stop_at_once_stop_before_the_deadline() {
        let (parts, stopped) = parts(std::future::ready(()));
        assert!(parts.stop_until(std::future::ready(())).await);
        assert_eq!(*stopped.lock(), "cba");
    }
}
