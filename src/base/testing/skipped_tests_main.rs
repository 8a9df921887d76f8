//! Prints at the end of `cargo test` which tests were skipped: a test target of the package that cargo runs last.

fn main() {
    if let Some(summary) = kueue_lab_testing::skipped_summary() {
        println!("\n{summary}\n");
    }
}
