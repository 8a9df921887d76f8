//! [`OrderedWatch`]: a value whose changes wake tasks in the order in which they wait.
//!
//! `tokio::sync::watch` wakes its receivers in a random order, and runs in virtual time must be
//! reproducible.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// A value that tasks wait for. Clones share it, and each remembers the version that it has seen.
pub struct OrderedWatch<T> {
    shared: Arc<Shared<T>>,
    /// The version that this handle has seen.
    seen: u64,
}

struct Shared<T> {
    value: Mutex<Versioned<T>>,
    changed: Notify,
}

struct Versioned<T> {
    value: T,
    version: u64,
}

impl<T> Clone for OrderedWatch<T> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            seen: self.seen,
        }
    }
}

impl<T: Clone> OrderedWatch<T> {
    /// A value that this handle has seen.
    pub fn new(value: T) -> Self {
        Self {
            shared: Arc::new(Shared {
                value: Mutex::new(Versioned { value, version: 0 }),
                changed: Notify::new(),
            }),
            seen: 0,
        }
    }

    /// The current value.
    pub fn get(&self) -> T {
        self.shared.value.lock().value.clone()
    }

    /// The current value, which this handle has seen then.
    pub fn get_and_mark_seen(&mut self) -> T {
        let current = self.shared.value.lock();
        self.seen = current.version;
        current.value.clone()
    }

    /// Another handle, which has seen the current value.
    pub fn subscribe(&self) -> Self {
        let mut other = self.clone();
        other.mark_seen();
        other
    }

    /// Records that this handle has seen the current value.
    pub fn mark_seen(&mut self) {
        self.seen = self.shared.value.lock().version;
    }

    /// The number of values that replaced the first one, up to the value that this handle has seen.
    pub fn version(&self) -> u64 {
        self.seen
    }

    /// Replaces the value and wakes all tasks that wait.
    pub fn replace(&self, value: T) {
        {
            let mut current = self.shared.value.lock();
            current.value = value;
            current.version += 1;
        }
        self.shared.changed.notify_waiters();
    }

    /// Waits until the value was replaced since this handle has seen it, and marks it as seen.
    pub async fn changed(&mut self) {
        loop {
            // Before the check, so that no notification is lost.
            let changed = self.shared.changed.notified();
            let version = self.shared.value.lock().version;
            if version != self.seen {
                self.seen = version;
                return;
            }
            changed.await;
        }
    }

    /// Waits until a value fulfills a condition, and returns it.
    pub async fn wait_for(&self, condition: impl Fn(&T) -> bool) -> T {
        loop {
            let changed = self.shared.changed.notified();
            {
                let current = self.shared.value.lock();
                if condition(&current.value) {
                    return current.value.clone();
                }
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tasks_are_woken_in_the_order_in_which_they_wait() {
        let (value, order) = (OrderedWatch::new(0), Arc::new(Mutex::new(Vec::new())));
        let tasks: Vec<_> = (0..50)
            .map(|number| {
                let (mut value, order) = (value.clone(), order.clone());
                tokio::spawn(async move {
                    for _ in 0..3 {
                        value.changed().await;
                        order.lock().push(number);
                    }
                })
            })
            .collect();
        for round in 1..=3 {
            tokio::task::yield_now().await;
            value.replace(round);
            let woken = || order.lock().len() == 50 * round;
            while !woken() {
                tokio::task::yield_now().await;
            }
        }
        for task in tasks {
            task.await.unwrap();
        }
        let expected: Vec<i32> = (0..3).flat_map(|_| 0..50).collect();
        assert_eq!(*order.lock(), expected);
    }

    #[tokio::test]
    async fn a_handle_waits_for_values_that_it_has_not_seen() {
        let value = OrderedWatch::new(1);
        let (mut early, mut late) = (value.clone(), value.clone());
        value.replace(2);
        early.changed().await;
        late.mark_seen();
        let waiting = late.changed();
        assert!(futures::poll!(std::pin::pin!(waiting)).is_pending());
        assert_eq!(value.wait_for(|value| *value > 1).await, 2);
        assert_eq!(early.get_and_mark_seen(), 2);
    }
}
