//! The CronJob controller: creates Jobs on a schedule.

mod cronjob_controller;
mod sync_cron_job;

pub(crate) use cronjob_controller::start;
