//! Public clients, unmodified, as users install them from package registries: the Python clients
//! `kubernetes` and `kr8s`, the JavaScript client `@kubernetes/client-node`, helm, and SkyPilot.
//!
//! The test cases are written in the language of the client, in `python/` and `javascript/`; each test
//! here runs one file of them on an embedded cluster of its own, or with
//! `KUEUE_LAB_TEST_KUBECONFIG=FILE` on the cluster of that file's current context, which must run pods.
//! The clients are installed below the target directory, in the versions of `requirements.txt` and
//! `package-lock.json`. Without `python3` or `npm`, or if they cannot be installed, a test is skipped; it fails
//! with `CI=true`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    dead_code,
    reason = "the binary is described once for all tests that need it"
)]

mod cluster;
mod helm;
mod javascript;
#[path = "../existing_cluster/lab_process.rs"]
mod lab_process;
mod package_directory;
mod python;
mod sky_client;
mod skypilot;
