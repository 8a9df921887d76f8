//! The extension API servers in other processes, by group version.

use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::RemoteApiService;

/// The extension API servers. Reading them takes no lock.
#[derive(Default)]
pub(crate) struct RemoteApiServices {
    /// Sorted by priority.
    services: ArcSwap<Vec<Arc<RemoteApiService>>>,
    change: Mutex<()>,
}

impl RemoteApiServices {
    /// All of them, by descending group priority and version priority.
    pub(crate) fn all(&self) -> Arc<Vec<Arc<RemoteApiService>>> {
        self.services.load_full()
    }

    /// The server of a group version.
    pub(crate) fn find(&self, group: &str, version: &str) -> Option<Arc<RemoteApiService>> {
        let services = self.services.load();
        let mut services = services.iter();
        let found = services.find(|s| s.group == group && s.version == version);
        found.cloned()
    }

    /// Whether an APIService is still the one with this name.
    pub(crate) fn contains(&self, service: &Arc<RemoteApiService>) -> bool {
        self.services.load().iter().any(|s| Arc::ptr_eq(s, service))
    }

    /// Sets or removes the APIService `name`. Returns it if its checks have to start.
    pub(crate) fn set(
        &self,
        name: &str,
        service: Option<RemoteApiService>,
    ) -> Option<Arc<RemoteApiService>> {
        let _changing = self.change.lock();
        let mut services = Vec::clone(&self.services.load());
        let present = services.iter().position(|s| s.name == name);
        let service = match (present.map(|at| &services[at]), service) {
            (Some(present), Some(service)) if present.is_same_target(&service) => return None,
            (None, None) => return None,
            (_, service) => service.map(Arc::new),
        };
        if let Some(at) = present {
            services.remove(at);
        }
        services.extend(service.clone());
        services.sort_by_key(|s| {
            let priority = (-s.group_priority, -s.version_priority);
            (priority, s.name.clone())
        });
        self.services.store(Arc::new(services));
        service
    }
}
