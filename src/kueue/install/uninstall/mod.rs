//! Uninstall: deletes all installed objects, resumes suspended jobs, ungates pods, and removes
//! Kueue's gates from pod templates.
//!
//! The order matters: webhooks and the API of explanations first, since their server may have stopped; then the controller,
//! which would suspend jobs again; then jobs and pods, while their Workloads still show which ones
//! a user stopped; then finalizers that only the controller would remove; then the CRDs with all
//! their objects.

mod delete_resources;
mod leader_check;
mod pod_templates;
mod report;
mod resume_jobs;
mod uninstaller;

pub use report::UninstallReport;
