//! Cron schedules as robfig/cron parses and evaluates them, the library of Kubernetes' CronJobs:
//! five fields, descriptors such as `@daily`, and `@every DURATION`.
//!
//! Used by the API server's validation and by the CronJob controller. Must not know either.

mod local_time;
mod next;
mod parse;
mod schedule;

pub use parse::ParseError;
pub use schedule::Schedule;
