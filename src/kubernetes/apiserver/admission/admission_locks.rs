//! [`AdmissionLocks`]: locks from the check of a write against other objects until it is stored.

use std::hash::{DefaultHasher, Hash, Hasher};

use parking_lot::{Mutex, MutexGuard};

/// The number of locks that the namespaces share.
const QUOTA_LOCKS: usize = 32;

/// The locks of a server.
#[derive(Default)]
pub(crate) struct AdmissionLocks {
    /// Held while the usage of the quotas of a namespace is checked.
    quotas: [Mutex<()>; QUOTA_LOCKS],
    /// Held while cluster IPs and node ports are allocated.
    services: Mutex<()>,
}

/// The locks of one write.
pub(crate) struct AdmissionGuard<'a> {
    _services: Option<MutexGuard<'a, ()>>,
    _quotas: Option<MutexGuard<'a, ()>>,
}

impl AdmissionLocks {
    /// Acquires the locks of a write: the allocations of Services, and the quotas of a namespace.
    pub(crate) fn lock(
        &self,
        allocates_service: bool,
        quotas_of: Option<&str>,
    ) -> AdmissionGuard<'_> {
        // Always in this order.
        let services = allocates_service.then(|| self.services.lock());
        let quotas = quotas_of.map(|namespace| {
            let mut hasher = DefaultHasher::new();
            namespace.hash(&mut hasher);
            self.quotas[hasher.finish() as usize % QUOTA_LOCKS].lock()
        });
        AdmissionGuard {
            _services: services,
            _quotas: quotas,
        }
    }
}
