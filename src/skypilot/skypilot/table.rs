//! The form of SkyPilot's tables.

use jiff::SignedDuration;

/// Aligns columns with two spaces; trims the ends of lines.
pub(crate) fn align(rows: &[Vec<String>]) -> String {
    let count = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..count)
        .map(|i| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0))
        .collect();
    let lines = rows.iter().map(|row| {
        let cells = row.iter().zip(&widths);
        let line: Vec<_> = cells
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        line.join("  ").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `24 secs ago`, `2 mins ago`.
pub(crate) fn format_ago(since: SignedDuration) -> String {
    let seconds = since.as_secs().max(0);
    let plural = |n: i64, unit: &str| match n {
        1 => format!("1 {unit} ago"),
        n => format!("{n} {unit}s ago"),
    };
    match seconds {
        0..10 => "a few secs ago".into(),
        10..60 => format!("{seconds} secs ago"),
        60..3600 => plural(seconds / 60, "min"),
        3600..86_400 => plural(seconds / 3600, "hr"),
        _ => plural(seconds / 86_400, "day"),
    }
}
