//! The open connections of a server whose clients authenticate: authenticated connections and
//! others have separate slots.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// Limits of connections on which no request was authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnauthenticatedLimits {
    /// Connections open at the same time, in addition to the authenticated ones. A further one
    /// closes the oldest.
    pub max_connections: usize,
    /// A connection is closed if none of its requests was authenticated within this time.
    pub timeout: Duration,
}

/// The connections of a server.
#[derive(Debug)]
pub(crate) struct ConnectionPool {
    max_unauthenticated: usize,
    max_authenticated: usize,
    state: Mutex<PoolState>,
}

#[derive(Debug, Default)]
struct PoolState {
    next: u64,
    authenticated: usize,
    /// The unauthenticated connections by age, oldest first, and how to close them.
    unauthenticated: BTreeMap<u64, CancellationToken>,
}

/// The slot of a connection, in the extensions of each of its requests.
#[derive(Clone, Debug)]
pub struct ConnectionSlot(Arc<SlotInner>);

#[derive(Debug)]
struct SlotInner {
    pool: Arc<ConnectionPool>,
    id: u64,
    evicted: CancellationToken,
    authenticated: CancellationToken,
}

impl ConnectionPool {
    pub(crate) fn new(limits: UnauthenticatedLimits, max_authenticated: usize) -> Arc<Self> {
        Arc::new(Self {
            max_unauthenticated: limits.max_connections.max(1),
            max_authenticated,
            state: Mutex::default(),
        })
    }

    /// A slot for a new connection. Closes the oldest unauthenticated connection if there are too
    /// many.
    pub(crate) fn admit(self: &Arc<Self>) -> ConnectionSlot {
        let evicted = CancellationToken::new();
        let mut state = self.state.lock();
        let id = state.next;
        state.next += 1;
        while state.unauthenticated.len() >= self.max_unauthenticated {
            let Some((_, oldest)) = state.unauthenticated.pop_first() else {
                break;
            };
            oldest.cancel();
        }
        state.unauthenticated.insert(id, evicted.clone());
        ConnectionSlot(Arc::new(SlotInner {
            pool: self.clone(),
            id,
            evicted,
            authenticated: CancellationToken::new(),
        }))
    }
}

impl ConnectionSlot {
    /// Moves the connection to the authenticated ones. If these have no free slot, it keeps the
    /// limits of the others.
    pub fn set_authenticated(&self) {
        let slot = &self.0;
        if slot.authenticated.is_cancelled() {
            return;
        }
        let mut state = slot.pool.state.lock();
        if state.authenticated < slot.pool.max_authenticated
            && state.unauthenticated.remove(&slot.id).is_some()
        {
            state.authenticated += 1;
            slot.authenticated.cancel();
        }
    }

    /// Completes when the connection is evicted for another one.
    pub(crate) async fn evicted(&self) {
        self.0.evicted.cancelled().await;
    }

    /// Completes when the connection is authenticated.
    pub(crate) async fn authenticated(&self) {
        self.0.authenticated.cancelled().await;
    }
}

impl Drop for SlotInner {
    fn drop(&mut self) {
        let mut state = self.pool.state.lock();
        match self.authenticated.is_cancelled() {
            true => state.authenticated -= 1,
            false => drop(state.unauthenticated.remove(&self.id)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_further_connection_closes_the_oldest_one_that_is_not_authenticated() {
        let limits = UnauthenticatedLimits {
            max_connections: 2,
            timeout: Duration::from_secs(1),
        };
        let pool = ConnectionPool::new(limits, 1);
        let slots: Vec<_> = (0..2).map(|_| pool.admit()).collect();
        slots[0].set_authenticated();
        let third = pool.admit();
        let fourth = pool.admit();
        let is_evicted = |slot: &ConnectionSlot| slot.0.evicted.is_cancelled();
        assert!(!is_evicted(&slots[0]) && is_evicted(&slots[1]));
        // There is one authenticated slot.
        third.set_authenticated();
        let fifth = pool.admit();
        assert!(is_evicted(&third) && !is_evicted(&fourth));
        drop(slots);
        fourth.set_authenticated();
        drop((fourth, fifth, third));
        let state = pool.state.lock();
        assert_eq!((state.authenticated, state.unauthenticated.len()), (0, 0));
    }
}
