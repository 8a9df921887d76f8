//! The limit of open file descriptors, and the part of them that the connections of a server may
//! use.

use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that the connections of clients leave to files and to connections to other servers.
const RESERVED: usize = 20;
/// Descriptors for connections, however low the limit is.
const MIN_DESCRIPTORS: usize = 8;
/// The highest soft limit that is set: enough for the connections of a server.
const MAX_SOFT_LIMIT: u64 = 10_240;

/// The listening servers of the process.
static SERVERS: AtomicUsize = AtomicUsize::new(0);

/// Raises the soft limit of open file descriptors towards the hard limit, as Go's runtime does.
/// Does nothing if it cannot be raised.
pub fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit
        .maximum
        .map_or(MAX_SOFT_LIMIT, |hard| hard.min(MAX_SOFT_LIMIT));
    if limit.current.is_some_and(|soft| soft < wanted) {
        let raised = Rlimit {
            current: Some(wanted),
            maximum: limit.maximum,
        };
        // Without a higher limit there are fewer connections.
        let _ = setrlimit(Resource::Nofile, raised);
    }
}

/// The part of the descriptors of one listening server: all servers of the process have the same.
#[derive(Debug)]
pub(crate) struct DescriptorShare {
    limit: usize,
}

impl DescriptorShare {
    pub(crate) fn new() -> Self {
        SERVERS.fetch_add(1, Ordering::Relaxed);
        let limit = getrlimit(Resource::Nofile).current;
        Self {
            limit: limit.map_or(usize::MAX, |soft| {
                usize::try_from(soft).unwrap_or(usize::MAX)
            }),
        }
    }

    /// The descriptors that connections may use.
    pub(crate) fn descriptors(&self) -> usize {
        let servers = SERVERS.load(Ordering::Relaxed).max(1);
        (self.limit.saturating_sub(RESERVED) / servers).max(MIN_DESCRIPTORS)
    }
}

impl Drop for DescriptorShare {
    fn drop(&mut self) {
        SERVERS.fetch_sub(1, Ordering::Relaxed);
    }
}
