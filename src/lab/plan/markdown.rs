//! A plan as Markdown, for pull requests.

use std::fmt::Write as _;

use super::cluster_plan::ClusterPlan;
use super::text::{pair, plan_text};

/// A summary for a pull request: tables of effects and quota, and the whole plan as details.
pub fn markdown(plan: &ClusterPlan) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "### kueue-lab plan for {}\n", escape(&plan.cluster));
    for note in &plan.notes {
        let _ = writeln!(text, "* {}", escape(note));
    }
    if !plan.notes.is_empty() {
        text.push('\n');
    }
    if !plan.has_changes() {
        let _ = writeln!(text, "No changes.");
        return text;
    }
    let _ = writeln!(text, "{}\n", plan.summary());
    if !plan.effects.is_empty() {
        let _ = writeln!(
            text,
            "| object | job | effect | by | why |\n|---|---|---|---|---|"
        );
        for effect in &plan.effects {
            let why = [&effect.reason, &effect.message, &effect.candidates];
            let why = why.map(String::as_str);
            let why: Vec<&str> = why.into_iter().filter(|text| !text.is_empty()).collect();
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} |",
                escape(&effect.object),
                escape(&effect.job),
                effect.kind,
                escape(&effect.by),
                escape(&why.join(": "))
            );
        }
        text.push('\n');
    }
    let quota = || plan.cohorts.iter().chain(&plan.quota);
    if quota().next().is_some() {
        let head = "| cohort | ClusterQueue | flavor | resource | nominal | used | borrowed |";
        let _ = writeln!(text, "{head}\n|---|---|---|---|---|---|---|");
        for change in quota() {
            let before = change.cohort_before.as_ref().unwrap_or(&change.cohort);
            let cohort = match (before == &change.cohort, before.as_str()) {
                (true, cohort) => cohort.to_owned(),
                (false, _) => pair(&[before.clone(), change.cohort.clone()]),
            };
            let queue = match change.cluster_queue.as_str() {
                "" => "(all)",
                queue => queue,
            };
            let names: [&str; 4] = [&cohort, queue, &change.flavor, &change.resource];
            let names = names.map(escape).join(" | ");
            let (nominal, used) = (pair(&change.nominal), pair(&change.used));
            let borrowed = pair(&change.borrowed);
            let _ = writeln!(text, "| {names} | {nominal} | {used} | {borrowed} |");
        }
        text.push('\n');
    }
    let all = plan_text(plan).replace("```", "'''");
    let _ = writeln!(
        text,
        "<details><summary>Plan</summary>\n\n```\n{all}```\n\n</details>"
    );
    text
}

/// A text in a cell of a table.
fn escape(text: &str) -> String {
    text.replace('|', "\\|")
        .replace('<', "&lt;")
        .replace('\n', " ")
}
