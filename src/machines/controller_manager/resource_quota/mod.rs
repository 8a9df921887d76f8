//! The resource quota controller: `status.used` of ResourceQuotas. (The API server's ResourceQuota
//! admission plugin enforces them.)

mod resource_quota_controller;
mod usage;

pub(super) use resource_quota_controller::start;
