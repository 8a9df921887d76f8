//! The columns of a table on a page.

use crate::text::{pad, truncate, truncate_middle, width, wrap};
use crate::theme::Role;

/// A cell of a table: text and role.
pub(crate) type TableCell = (String, Role);

/// The most columns of a cell.
const MAX_CELL: usize = 44;
/// The columns that names are truncated to at most.
const MIN_NAME: usize = 18;
/// The columns for which names are truncated, so that the last cell gets them.
const LAST_CELL: usize = 24;
/// The columns from which the last cell is wrapped instead of truncated.
const MIN_WRAPPED: usize = 8;

/// The widths and alignments of a table's columns.
pub(super) struct TableColumns {
    widths: Vec<usize>,
    right: Vec<bool>,
    /// Blanks between columns.
    gap: usize,
    /// Columns of the page.
    page: usize,
}

impl TableColumns {
    /// The columns of a table in `page` columns.
    pub(super) fn new(titles: &[&str], rows: &[Vec<TableCell>], page: usize) -> Self {
        let right: Vec<bool> = titles.iter().map(|title| title.starts_with('>')).collect();
        let widths = titles.iter().enumerate().map(|(i, title)| {
            let cells = rows.iter().filter_map(|row| row.get(i));
            let widest = cells.map(|(text, _)| width(text)).max().unwrap_or(0);
            widest
                .max(width(title.trim_start_matches('>')))
                .min(MAX_CELL)
        });
        let mut columns = Self {
            widths: widths.collect(),
            right,
            gap: 2,
            page,
        };
        if columns.missing() > 0 {
            columns.gap = 1;
        }
        columns.truncate_names();
        columns
    }

    /// The columns that the page lacks for the table with at most [`LAST_CELL`] for the last cell.
    fn missing(&self) -> usize {
        let Some((last, others)) = self.widths.split_last() else {
            return 0;
        };
        let others: usize = others.iter().map(|width| width + self.gap).sum();
        (others + (*last).min(LAST_CELL)).saturating_sub(self.page)
    }

    /// Narrows the widest columns that are aligned to the left until the table fits.
    fn truncate_names(&mut self) {
        while self.missing() > 0 {
            let last = self.widths.len().saturating_sub(1);
            let names = (0..last).filter(|i| !self.right[*i]);
            let Some(widest) = names.max_by_key(|i| self.widths[*i]) else {
                return;
            };
            let narrower = self.widths[widest].saturating_sub(self.missing());
            if self.widths[widest] <= MIN_NAME {
                return;
            }
            self.widths[widest] = narrower.max(MIN_NAME);
        }
    }

    /// The lines of a row.
    pub(super) fn lines(&self, row: &[TableCell], ellipsis: &str) -> Vec<Vec<TableCell>> {
        let mut left = self.page;
        let mut first: Vec<TableCell> = Vec::new();
        let mut more = Vec::new();
        for (i, (text, role)) in row.iter().enumerate() {
            let (Some(wide), Some(right)) = (self.widths.get(i), self.right.get(i)) else {
                break;
            };
            if left == 0 {
                break;
            }
            if i + 1 < self.widths.len() {
                let shown = truncate_middle(text, (*wide).min(left), ellipsis);
                let cell = format!("{}{}", pad(&shown, *wide, *right), " ".repeat(self.gap));
                left = left.saturating_sub(width(&cell));
                first.push((cell, *role));
                continue;
            }
            if *right {
                let shown = truncate(text, left, ellipsis);
                first.push((pad(&shown, (*wide).min(left), true), *role));
            } else if left < MIN_WRAPPED {
                first.push((truncate(text, left, ellipsis).into_owned(), *role));
            } else {
                let mut parts = wrap(text, left).into_iter();
                first.extend(parts.next().map(|part| (part, *role)));
                let indent = " ".repeat(self.page - left);
                more.extend(parts.map(|part| vec![(format!("{indent}{part}"), *role)]));
            }
        }
        let mut lines = vec![first];
        lines.append(&mut more);
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(titles: &[&str], row: &[&str], page: usize) -> Vec<String> {
        let row: Vec<TableCell> = row.iter().map(|t| ((*t).to_owned(), Role::Text)).collect();
        let columns = TableColumns::new(titles, std::slice::from_ref(&row), page);
        let lines = columns.lines(&row, "…").into_iter();
        lines
            .map(|line| line.into_iter().map(|(text, _)| text).collect())
            .collect()
    }

    #[test]
    fn a_table_that_fits_has_two_blanks_between_columns() {
        let lines = text(&["A", ">NUMBER", "B"], &["one", "2", "three"], 40);
        assert_eq!(lines, ["one       2  three"]);
    }

    #[test]
    fn the_last_column_is_never_cut() {
        let titles = ["RESOURCE", "FLAVOR", ">REQUESTS", "VERDICT"];
        let row = ["cpu", "ondemand", "81", "never: at most 9"];
        assert_eq!(
            text(&titles, &row, 44),
            ["cpu      ondemand       81 never: at most 9"]
        );
        assert_eq!(
            text(&titles, &row, 38),
            [
                "cpu      ondemand       81 never: at",
                "                           most 9"
            ]
        );
    }

    #[test]
    fn long_names_are_truncated_before_the_last_column() {
        let titles = ["WORKLOAD", ">AGE", "RESERVED"];
        let row = [
            "team-a/job-sample-job-5zsm9-9800f",
            "24s",
            "3 cpu, 600Mi memory",
        ];
        assert_eq!(
            text(&titles, &row, 48),
            ["team-a/job-sampl…9-9800f 24s 3 cpu, 600Mi memory"]
        );
    }
}
