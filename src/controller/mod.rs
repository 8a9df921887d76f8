//! The admission controller around the engine: watches the cluster through a `kube::Client`, feeds
//! [`crate::admission`], writes its decisions back. Knows `admission` and `api`; must not know which
//! kind of cluster it runs on.
