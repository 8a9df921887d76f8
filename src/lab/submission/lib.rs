//! What a user submits: the objects or SkyPilot tasks of a file, and the Workloads that Kueue constructs for them on a
//! cluster with these queues.
//!
//! [`construct_workloads`] starts a lab in virtual time, whose webhooks and controllers construct them.

mod construct_workloads;
mod create_object;
mod queue_objects;
mod submission;
mod submission_error;

pub use construct_workloads::{ConstructedWorkloads, construct_workloads};
pub use queue_objects::{priority_classes, queue_objects, unknown_local_queue};
pub use submission::{SourceFile, Submission, Submitted, SubmittedObject};
pub use submission_error::SubmissionError;
