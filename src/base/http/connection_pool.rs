//! The open connections of a server, by what their clients have done: connections without a byte,
//! connections without a user, and authenticated ones have separate limits.
//!
//! A connection that makes progress is never closed for another one, which waits instead. One that
//! makes none gives way: of the address with the most of them, the one that waits for longest.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::Limits;
use crate::descriptors::DescriptorShare;
use crate::idle_connections::{IdleConnection, IdleConnections, client_address};

/// Connections without a byte of their client, at most. They need little memory.
const MAX_NEW: usize = 4096;
/// The time that a client has for its first byte, if there are too many of them.
const NEW_PATIENCE: Duration = Duration::from_millis(100);
/// The time that a client has for each step (ClientHello, end of the handshake, request) while
/// others wait.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same, if no connection of the server has made a step for as long.
const STALLED_PATIENCE: Duration = Duration::from_secs(1);
/// At least this part of `STALLED_PATIENCE` is for each connection that may be open, so that a small number
/// of connections changes as fast as a large one.
const STALLED_PATIENCE_PER_CONNECTION: Duration = Duration::from_millis(10);
/// The time without a request after which an authenticated connection may be closed for another.
const AUTHENTICATED_PATIENCE: Duration = Duration::from_secs(5);
/// The time until the limits are evaluated again without another event.
const RETRY: Duration = Duration::from_secs(1);

/// Limits of connections on which no request was authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnauthenticatedLimits {
    /// Connections of clients that have sent something, open at the same time, in addition to the
    /// authenticated ones. More wait until one of these ends or makes no progress.
    pub max_connections: usize,
    /// A connection is closed if none of its requests was authenticated within this time.
    pub timeout: Duration,
}

/// What the client of a connection has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Nothing, or it waits for the limit of the next class.
    New,
    /// It has sent bytes.
    Unauthenticated,
    /// It has sent the credentials of a user.
    Authenticated,
}

/// The connections of a server.
#[derive(Debug)]
pub(crate) struct ConnectionPool {
    max_authenticated: usize,
    max_unauthenticated: usize,
    share: DescriptorShare,
    state: Mutex<PoolState>,
    /// Notified when there is room for a further connection.
    accept: Notify,
    /// Notified when there is room for one that has sent bytes.
    start: Notify,
    /// The connections that wait for `start`, first come first served.
    line: Semaphore,
}

#[derive(Debug, Default)]
struct PoolState {
    next: u64,
    members: HashMap<u64, Member>,
    groups: [Group; 3],
    /// The last step of any connection.
    last_step: Option<Instant>,
}

/// The connections of a class.
#[derive(Debug, Default)]
struct Group {
    open: usize,
    /// Connections that close for another one and are not closed yet.
    closing: usize,
    idle: IdleConnections,
}

#[derive(Debug)]
struct Member {
    class: Class,
    address: IpAddr,
    /// The requests in flight.
    requests: usize,
    /// The last progress; `None` while it waits for the server.
    idle_since: Option<Instant>,
    closing: bool,
    signal: Arc<Signal>,
}

/// The signals of the pool to a connection.
#[derive(Debug, Default)]
struct Signal {
    closing: AtomicBool,
    wake: Notify,
    drain: CancellationToken,
    authenticated: CancellationToken,
}

/// The slot of a connection, in the extensions of each of its requests.
#[derive(Clone, Debug)]
pub struct ConnectionSlot(Arc<SlotInner>);

#[derive(Debug)]
struct SlotInner {
    pool: Arc<ConnectionPool>,
    id: u64,
    signal: Arc<Signal>,
}

/// A request in flight; its connection is not closed for another.
#[derive(Debug)]
pub(crate) struct RequestInFlight(Option<ConnectionSlot>);

impl Member {
    fn idle(&self, id: u64) -> Option<IdleConnection> {
        let address = self.address;
        let since = self.idle_since?;
        (!self.closing).then_some(IdleConnection { id, address, since })
    }
}

impl PoolState {
    fn group(&mut self, class: Class) -> &mut Group {
        &mut self.groups[class as usize]
    }

    /// Takes a connection out of its group, changes it, and puts it into its new one. It is not
    /// closed if it was to be.
    fn change(&mut self, id: u64, change: impl FnOnce(&mut Member)) {
        let Self {
            members, groups, ..
        } = self;
        let Some(member) = members.get_mut(&id) else {
            return;
        };
        let group = &mut groups[member.class as usize];
        match member.closing {
            true => group.closing -= 1,
            false => group.open -= 1,
        }
        if let Some(idle) = member.idle(id) {
            group.idle.remove(idle);
        }
        member.closing = false;
        member.signal.closing.store(false, Ordering::Relaxed);
        change(member);
        let group = &mut groups[member.class as usize];
        group.open += 1;
        if let Some(idle) = member.idle(id) {
            group.idle.insert(idle);
        }
    }

    /// Closes the connection that makes no progress for longest, if it is for `patience`.
    ///
    /// # Errors
    /// As [`IdleConnections::longest`].
    fn close_idle(&mut self, class: Class, patience: Duration) -> Result<(), Option<Instant>> {
        let group = self.group(class);
        let idle = group.idle.longest(Instant::now(), patience)?;
        group.idle.remove(idle);
        group.open -= 1;
        group.closing += 1;
        if let Some(member) = self.members.get_mut(&idle.id) {
            member.closing = true;
            match class {
                Class::Authenticated => member.signal.drain.cancel(),
                Class::New | Class::Unauthenticated => {
                    member.signal.closing.store(true, Ordering::Relaxed);
                    member.signal.wake.notify_one();
                }
            }
        }
        Ok(())
    }

    /// Notes that a connection has made a step.
    fn step(&mut self, id: u64) {
        let now = Instant::now();
        self.last_step = Some(now);
        self.change(id, |member| {
            member.idle_since = member.idle_since.map(|_| now);
        });
    }
}

impl ConnectionPool {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        let (authenticated, unauthenticated) = match limits.unauthenticated {
            Some(unauthenticated) => (limits.max_connections, unauthenticated.max_connections),
            None => (0, limits.max_connections),
        };
        Arc::new(Self {
            max_authenticated: authenticated,
            max_unauthenticated: unauthenticated.max(1),
            share: DescriptorShare::new(),
            state: Mutex::default(),
            accept: Notify::new(),
            start: Notify::new(),
            line: Semaphore::new(1),
        })
    }

    fn limit(&self, class: Class) -> usize {
        let limits = class_limits(
            self.share.descriptors(),
            self.max_authenticated,
            self.max_unauthenticated,
        );
        limits[class as usize]
    }

    /// A slot for a new connection.
    pub(crate) fn admit(self: &Arc<Self>, address: IpAddr) -> ConnectionSlot {
        let mut state = self.state.lock();
        let id = state.next;
        state.next += 1;
        let signal = Arc::new(Signal::default());
        let member = Member {
            class: Class::New,
            address: client_address(address),
            requests: 0,
            idle_since: Some(Instant::now()),
            closing: false,
            signal: signal.clone(),
        };
        let group = state.group(Class::New);
        group.open += 1;
        if let Some(idle) = member.idle(id) {
            group.idle.insert(idle);
        }
        state.members.insert(id, member);
        ConnectionSlot(Arc::new(SlotInner {
            pool: self.clone(),
            id,
            signal,
        }))
    }

    /// Whether a further connection may be accepted. Near the limit, connections without a byte are
    /// closed, and the time is that of the next one.
    pub(crate) fn accepts(&self) -> (bool, Option<Instant>) {
        let limit = self.limit(Class::New);
        let mut state = self.state.lock();
        let next = loop {
            if state.group(Class::New).open <= limit - (limit / 8).max(1) {
                break None;
            }
            match state.close_idle(Class::New, NEW_PATIENCE) {
                Ok(()) => {}
                Err(next) => break next.map(|since| since + NEW_PATIENCE),
            }
        };
        let group = state.group(Class::New);
        (group.open + group.closing < limit, next)
    }

    /// Completes when [`accepts`](Self::accepts) may have changed.
    pub(crate) async fn changed(&self) {
        self.accept.notified().await;
    }

    /// Closes a connection without progress: there is no file descriptor for a further one.
    pub(crate) fn free_descriptor(&self) {
        let mut state = self.state.lock();
        for class in [Class::New, Class::Unauthenticated, Class::Authenticated] {
            let patience = match class {
                Class::New => NEW_PATIENCE,
                Class::Unauthenticated => STALLED_PATIENCE,
                Class::Authenticated => AUTHENTICATED_PATIENCE,
            };
            if state.close_idle(class, patience).is_ok() {
                return;
            }
        }
    }

    /// Moves a connection whose client has sent bytes out of the new ones if there is room.
    ///
    /// # Errors
    /// There is none; when to try again at the latest.
    fn try_start(&self, id: u64) -> Result<(), Instant> {
        let limit = self.limit(Class::Unauthenticated);
        let mut state = self.state.lock();
        let now = Instant::now();
        let group = state.group(Class::Unauthenticated);
        if group.open + group.closing < limit {
            state.change(id, |member| {
                member.class = Class::Unauthenticated;
                member.idle_since = Some(now);
            });
            self.accept.notify_one();
            return Ok(());
        }
        if group.closing > 0 {
            return Err(now + RETRY);
        }
        let stalled = STALLED_PATIENCE_PER_CONNECTION * u32::try_from(limit).unwrap_or(u32::MAX);
        let stalled = stalled.min(STALLED_PATIENCE);
        let stalls_at = state.last_step.map_or(now, |step| step + stalled);
        let patience = if stalls_at <= now { stalled } else { PATIENCE };
        match state.close_idle(Class::Unauthenticated, patience) {
            Ok(()) | Err(None) => Err(now + RETRY),
            Err(Some(since)) => Err((since + PATIENCE).min(stalls_at.max(since + stalled))),
        }
    }
}

/// The limits of the classes if connections may use this number of file descriptors.
fn class_limits(descriptors: usize, authenticated: usize, unauthenticated: usize) -> [usize; 3] {
    let authenticated = authenticated.min(descriptors * 3 / 8);
    let part = if authenticated == 0 { 2 } else { 4 };
    let unauthenticated = unauthenticated.min((descriptors / part).max(4));
    let new = descriptors.saturating_sub(authenticated + unauthenticated);
    [new.clamp(2, MAX_NEW), unauthenticated, authenticated]
}

impl ConnectionSlot {
    /// Moves the connection to the authenticated ones. If these have no free slot, the one without
    /// a request for longest is closed, and so is this one after its requests.
    pub fn set_authenticated(&self) {
        let SlotInner { pool, id, signal } = &*self.0;
        if signal.authenticated.is_cancelled() {
            return;
        }
        let limit = pool.limit(Class::Authenticated);
        let mut state = pool.state.lock();
        let group = state.group(Class::Authenticated);
        if group.open + group.closing < limit {
            state.change(*id, |member| member.class = Class::Authenticated);
            signal.authenticated.cancel();
            pool.start.notify_one();
        } else {
            // No connection may be idle: then this one is the only one that ends.
            let _ = state.close_idle(Class::Authenticated, AUTHENTICATED_PATIENCE);
            signal.drain.cancel();
        }
    }

    /// The client has sent its first byte.
    pub(crate) fn received(&self) {
        let SlotInner { pool, id, .. } = &*self.0;
        pool.state
            .lock()
            .change(*id, |member| member.idle_since = None);
    }

    /// Waits until a connection whose client has sent bytes may be served.
    pub(crate) async fn start(&self) {
        let pool = &self.0.pool;
        // The semaphore is never closed.
        let _turn = pool.line.acquire().await;
        while let Err(retry) = pool.try_start(self.0.id) {
            tokio::select! {
                () = pool.start.notified() => {}
                () = tokio::time::sleep_until(retry) => {}
            }
        }
    }

    /// Notes a step of the handshake.
    pub(crate) fn step(&self) {
        self.0.pool.state.lock().step(self.0.id);
    }

    /// Notes a request; the connection is not closed for another while it is in flight.
    pub(crate) fn begin_request(&self) -> RequestInFlight {
        let mut state = self.0.pool.state.lock();
        state.last_step = Some(Instant::now());
        state.change(self.0.id, |member| {
            member.requests += 1;
            member.idle_since = None;
        });
        RequestInFlight(Some(self.clone()))
    }

    /// Whether the connection is to be closed for another.
    pub(crate) fn is_closing(&self) -> bool {
        self.0.signal.closing.load(Ordering::Relaxed)
    }

    /// Completes when the connection is to be closed for another.
    pub(crate) async fn closing(&self) {
        while !self.is_closing() {
            self.0.signal.wake.notified().await;
        }
    }

    /// The client has sent something before the connection was closed: it stays.
    pub(crate) fn keep(&self) {
        let mut state = self.0.pool.state.lock();
        state.change(self.0.id, |member| member.idle_since = Some(Instant::now()));
        drop(state);
        self.0.pool.start.notify_one();
        self.0.pool.accept.notify_one();
    }

    /// Completes when the connection is to end after its requests.
    pub(crate) async fn drained(&self) {
        self.0.signal.drain.cancelled().await;
    }

    /// Completes when the connection is authenticated.
    pub(crate) async fn authenticated(&self) {
        self.0.signal.authenticated.cancelled().await;
    }
}

impl RequestInFlight {
    /// The connection is handed to another protocol and stays in use until it is closed.
    pub(crate) fn upgrade(mut self) {
        self.0 = None;
    }
}

impl Drop for RequestInFlight {
    fn drop(&mut self) {
        let Some(slot) = &self.0 else { return };
        let mut state = slot.0.pool.state.lock();
        let PoolState {
            members, groups, ..
        } = &mut *state;
        let Some(member) = members.get_mut(&slot.0.id) else {
            return;
        };
        member.requests -= 1;
        if member.requests == 0 {
            member.idle_since = Some(Instant::now());
            if let Some(idle) = member.idle(slot.0.id) {
                groups[member.class as usize].idle.insert(idle);
            }
        }
    }
}

impl Drop for SlotInner {
    fn drop(&mut self) {
        let mut state = self.pool.state.lock();
        let Some(member) = state.members.remove(&self.id) else {
            return;
        };
        let group = state.group(member.class);
        match member.closing {
            true => group.closing -= 1,
            false => group.open -= 1,
        }
        if let Some(idle) = member.idle(self.id) {
            group.idle.remove(idle);
        }
        match member.class {
            Class::New => self.pool.accept.notify_one(),
            Class::Unauthenticated => self.pool.start.notify_one(),
            Class::Authenticated => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn pool(authenticated: usize, unauthenticated: usize) -> Arc<ConnectionPool> {
        ConnectionPool::new(&Limits {
            max_connections: authenticated,
            unauthenticated: Some(UnauthenticatedLimits {
                max_connections: unauthenticated,
                timeout: Duration::from_secs(1),
            }),
            header_timeout: Duration::from_secs(1),
            max_header_bytes: None,
            max_concurrent_streams: None,
            http2_ping_interval: None,
        })
    }

    async fn started(pool: &Arc<ConnectionPool>) -> ConnectionSlot {
        let slot = pool.admit(ADDRESS);
        slot.received();
        slot.start().await;
        slot
    }

    /// Whether a connection waits, after `time`.
    async fn waits(slot: &ConnectionSlot, time: Duration) -> bool {
        tokio::time::timeout(time, slot.start()).await.is_err()
    }

    fn open(pool: &ConnectionPool) -> [usize; 3] {
        let state = pool.state.lock();
        state.groups.each_ref().map(|g| g.open + g.closing)
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_makes_progress_is_not_closed_for_another() {
        let pool = pool(1, 2);
        let first = started(&pool).await;
        let second = started(&pool).await;
        let third = pool.admit(ADDRESS);
        third.received();
        // Each step is sooner than the patience.
        for _ in 0..100 {
            assert!(waits(&third, Duration::from_millis(10)).await);
            first.step();
            second.step();
        }
        assert!(!first.is_closing() && !second.is_closing());
        // Only one makes steps.
        let mut steps = 0;
        while !second.is_closing() {
            assert!(waits(&third, Duration::from_millis(10)).await);
            first.step();
            steps += 1;
            assert!(steps < 1000);
        }
        assert!(!first.is_closing());
        drop(second);
        third.start().await;
        assert_eq!(open(&pool), [0, 2, 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_in_flight_keeps_its_connection() {
        let pool = pool(1, 1);
        let first = started(&pool).await;
        let request = first.begin_request();
        let second = pool.admit(ADDRESS);
        second.received();
        assert!(waits(&second, Duration::from_secs(60)).await);
        assert!(!first.is_closing());
        // A request is authenticated: its connection leaves.
        first.set_authenticated();
        second.start().await;
        assert_eq!(open(&pool), [0, 1, 1]);
        drop((request, first, second));
        assert_eq!(open(&pool), [0, 0, 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_that_arrive_in_time_keep_the_connection() {
        let pool = pool(1, 1);
        let first = started(&pool).await;
        let second = pool.admit(ADDRESS);
        second.received();
        assert!(waits(&second, Duration::from_secs(10)).await);
        assert!(first.is_closing());
        first.keep();
        assert!(!first.is_closing());
        assert_eq!(open(&pool), [1, 1, 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_authenticated_connection_without_requests_ends_for_another() {
        let pool = pool(1, 2);
        let idle = started(&pool).await;
        drop(idle.begin_request());
        idle.set_authenticated();
        let early = started(&pool).await;
        early.set_authenticated();
        // It is in use, so the new one ends with its requests.
        assert!(!idle.0.signal.drain.is_cancelled() && early.0.signal.drain.is_cancelled());
        tokio::time::advance(AUTHENTICATED_PATIENCE).await;
        let late = started(&pool).await;
        late.set_authenticated();
        assert!(idle.0.signal.drain.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn connections_without_a_byte_give_way_and_others_do_not() {
        let pool = pool(1, 1);
        let limit = pool.limit(Class::New);
        let mut slots: Vec<ConnectionSlot> = Vec::new();
        for _ in 0..limit {
            let (accepts, _) = pool.accepts();
            assert!(accepts);
            slots.push(pool.admit(ADDRESS));
        }
        slots[0].received();
        let (accepts, next) = pool.accepts();
        assert!(!accepts && next.is_some());
        assert!(!slots.iter().any(ConnectionSlot::is_closing));
        tokio::time::advance(NEW_PATIENCE).await;
        pool.accepts();
        assert!(!slots[0].is_closing() && slots[1].is_closing());
        slots.remove(1);
        assert!(pool.accepts().0);
    }

    #[test]
    fn the_limits_follow_the_limit_of_file_descriptors() {
        assert_eq!(class_limits(10_220, 2048, 512), [4096, 512, 2048]);
        for descriptors in [12, 44, 1004] {
            let limits = class_limits(descriptors, 2048, 512);
            assert!(limits.iter().sum::<usize>() <= descriptors, "{limits:?}");
            assert!(limits.iter().all(|limit| *limit >= 2), "{limits:?}");
        }
        assert_eq!(class_limits(12, 0, 256), [6, 6, 0]);
    }
}
