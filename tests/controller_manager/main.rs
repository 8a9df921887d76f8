//! The built-in controllers on the embedded API server, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cluster_fixture;
mod clusterrole;
mod cronjob;
mod daemonset;
mod deployments;
mod disruption;
mod endpointslice;
mod garbagecollector;
mod horizontal;
mod jobs;
mod namespace;
mod persistentvolume;
mod podgc;
mod resourcequota;
mod scale;
mod statefulset;
mod ttlafterfinished;
