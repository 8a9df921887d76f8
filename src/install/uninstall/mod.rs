//! The way back: everything that was installed goes, and what Kueue held back can run.
//!
//! The order matters. Webhooks go first, since nobody may answer them any more; then whoever runs
//! the controller, since it would hold everything back again; then jobs and pods are let go, while
//! their Workloads still tell which ones somebody stopped on purpose; then finalizers, which only
//! the controller would take off; then the kinds, and all objects of them.

mod delete_resources;
mod leader_check;
mod report;
mod resume_jobs;
mod uninstaller;

pub use report::UninstallReport;
