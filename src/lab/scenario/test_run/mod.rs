//! Runs the cases of test files, each on its own lab in virtual time.

mod report_coverage;
mod report_json;
mod report_junit;
mod report_text;
mod run_case;
mod run_tests;
mod start_states;
mod unknown_field;

pub use report_coverage::{Coverage, coverage};
pub use report_json::json_report;
pub use report_junit::junit_report;
pub use report_text::{case_text, summary_text};
pub use run_case::{CaseFailure, CaseResult, Explain, LabFuture};
pub use run_tests::{TestOptions, run_tests};
pub use start_states::CaseStart;
