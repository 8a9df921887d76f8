//! Tables of the visible rows. Columns that do not fit are left out by priority.

use ratatui::layout::Rect;
use ratatui::text::Span;

use super::{Canvas, spans_width};
use crate::state::{SortBy, TypedList};
use crate::text::{pad, truncate_middle, width as text_width};
use crate::theme::Role;

/// The areas of a list.
#[derive(Clone, Copy)]
pub(crate) struct ListArea {
    /// The column headings.
    pub(crate) heading: Rect,
    /// The visible rows.
    pub(crate) rows: Rect,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// Its heading.
    pub title: &'static str,
    /// Its minimum width.
    pub min: u16,
    /// Its maximum width.
    pub max: u16,
    /// Columns of a higher number are left out first.
    pub priority: u8,
    /// Whether its text is aligned to the right.
    pub right: bool,
    /// Whether it is left out unless all of its text fits.
    pub no_truncate: bool,
    /// Whether text is truncated in the middle, as for names.
    pub truncate_middle: bool,
    /// The width it gets before lower priorities get any.
    pub preferred: u16,
    /// Its minimum share of the table width, as 1/n; 0 for none.
    pub fraction: u16,
    /// Whether it is hidden.
    pub hidden: bool,
    /// The sort key that it shows.
    pub sort: Option<SortBy>,
}

impl Column {
    pub(crate) const fn new(title: &'static str, min: u16, max: u16, priority: u8) -> Self {
        Self {
            title,
            min,
            max,
            priority,
            right: false,
            no_truncate: false,
            truncate_middle: false,
            preferred: 0,
            fraction: 0,
            hidden: false,
            sort: None,
        }
    }

    /// A column that is left out unless all of its text fits.
    pub(crate) const fn no_truncate(self) -> Self {
        Self {
            no_truncate: true,
            ..self
        }
    }

    /// A column of names.
    pub(crate) const fn name(self) -> Self {
        Self {
            truncate_middle: true,
            ..self
        }
    }

    /// A column with a preferred width.
    pub(crate) const fn preferred(self, wish: u16) -> Self {
        Self {
            preferred: wish,
            ..self
        }
    }

    /// A column with a minimum share of the table width, as 1/n; 0 for none.
    pub(crate) const fn fraction(self, part: u16) -> Self {
        Self {
            fraction: part,
            ..self
        }
    }

    /// A column that is hidden under a condition.
    pub(crate) const fn hidden_if(self, hidden: bool) -> Self {
        Self { hidden, ..self }
    }

    pub(crate) const fn right(self) -> Self {
        Self {
            right: true,
            ..self
        }
    }

    pub(crate) const fn sort_by(self, sort: SortBy) -> Self {
        Self {
            sort: Some(sort),
            ..self
        }
    }
}

/// One cell.
pub(crate) type Cell = Vec<Span<'static>>;

/// Blanks between columns of narrow tables.
const NARROW: u16 = 1;
/// Blanks between columns of wide tables.
const GAP: u16 = 2;
/// Width from which a table is wide.
const WIDE_GAP_MIN_WIDTH: u16 = 100;
/// Blanks before the first column, for the mark of the selected row.
const MARGIN: u16 = 2;

/// Draws the headings and the visible rows. `row` is called for visible rows only and returns one
/// cell for each column, or `None` if the object is gone.
pub(crate) fn draw<R: 'static>(
    canvas: &mut Canvas<'_>,
    area: ListArea,
    columns: &[Column],
    list: TypedList<'_, R>,
    row: impl Fn(&Canvas<'_>, &R) -> Option<Vec<Cell>>,
) {
    let ListArea { heading, rows } = area;
    let cells: Vec<(usize, Vec<Cell>)> = list
        .visible_rows()
        .map(|(at, id)| (at, row(canvas, id).unwrap_or_default()))
        .collect();
    let list = list.state;
    let title = |column: &Column, canvas: &Canvas<'_>| {
        let sorted = list.sort.filter(|s| column.sort == Some(s.by));
        let sign = sorted.map_or("", |s| match s.reversed {
            true => canvas.glyphs.descending,
            false => canvas.glyphs.ascending,
        });
        format!("{}{sign}", column.title)
    };
    let needed: Vec<u16> = columns
        .iter()
        .enumerate()
        .map(|(i, column)| {
            let heading = text_width(&title(column, canvas)) as u16;
            let widest = cells
                .iter()
                .filter_map(|(_, c)| c.get(i))
                .map(|c| spans_width(c));
            let widest = widest.max().unwrap_or(0).min(column.max.into()) as u16;
            widest.max(column.min.min(column.max)).max(heading)
        })
        .collect();
    let gap = if rows.width < WIDE_GAP_MIN_WIDTH {
        NARROW
    } else {
        GAP
    };
    let widths = column_widths(columns, &needed, rows.width.saturating_sub(MARGIN + 1), gap);
    let mut x = rows.x + MARGIN;
    for (column, width) in columns.iter().zip(&widths) {
        let Some(width) = *width else { continue };
        let title = pad(&title(column, canvas), width.into(), column.right);
        canvas.text(x, heading.y, width, &title, Role::Heading);
        x += width + gap;
    }
    for ((at, cells), y) in cells.iter().zip(rows.top()..rows.bottom()) {
        let mut x = rows.x + MARGIN;
        for ((column, width), cell) in columns.iter().zip(&widths).zip(cells) {
            let Some(width) = *width else { continue };
            let free = usize::from(width).saturating_sub(spans_width(cell)) as u16;
            let shift = if column.right { free } else { 0 };
            match cell.first() {
                Some(first) if column.truncate_middle && spans_width(cell) > width.into() => {
                    let text =
                        truncate_middle(&first.content, width.into(), canvas.glyphs.ellipsis);
                    canvas.styled(x, y, width, &text, first.style);
                }
                _ => {
                    canvas.spans(x + shift, y, width - shift, cell);
                }
            }
            x += width + gap;
        }
        if *at == list.selected_index {
            let line = Rect {
                y,
                height: 1,
                ..rows
            };
            canvas.text(rows.x, y, 1, canvas.glyphs.highlight, Role::Bold);
            canvas.select(line);
        }
    }
    canvas.scrollbar(rows, list.offset, list.rows.len());
}

/// The width of each column, `None` for those left out. By priority, each column gets its minimum
/// first; the rest goes to columns that need more.
fn column_widths(columns: &[Column], needed: &[u16], max_width: u16, gap: u16) -> Vec<Option<u16>> {
    let mut order: Vec<usize> = (0..columns.len()).filter(|i| !columns[*i].hidden).collect();
    order.sort_by_key(|i| columns[*i].priority);
    let mut widths = vec![None; columns.len()];
    let mut left = max_width;
    for &i in &order {
        let before = if widths.iter().any(Option::is_some) {
            gap
        } else {
            0
        };
        let column = &columns[i];
        let least = match column.fraction {
            _ if column.no_truncate => needed[i],
            0 => column.min.max(column.preferred).min(needed[i]),
            part => column.min.max(max_width / part).min(needed[i]),
        };
        if least + before <= left {
            widths[i] = Some(least);
            left -= least + before;
        } else if before == 0 {
            widths[i] = Some(left);
            left = 0;
        } else {
            break;
        }
    }
    for &i in &order {
        if let Some(width) = &mut widths[i] {
            let more = needed[i].saturating_sub(*width).min(left);
            *width += more;
            left -= more;
        }
    }
    widths
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COLUMNS: [Column; 3] = [
        Column::new("NAME", 6, 20, 0),
        Column::new("STATE", 5, 5, 2),
        Column::new("WHY", 8, 60, 1),
    ];

    #[test]
    fn columns_are_dropped_by_rank() {
        assert_eq!(
            column_widths(&COLUMNS, &[10, 5, 30], 100, 2),
            [Some(10), Some(5), Some(30)]
        );
        assert_eq!(
            column_widths(&COLUMNS, &[10, 5, 30], 30, 2),
            [Some(10), Some(5), Some(11)]
        );
        assert_eq!(
            column_widths(&COLUMNS, &[10, 5, 30], 18, 2),
            [Some(8), None, Some(8)]
        );
        assert_eq!(
            column_widths(&COLUMNS, &[10, 5, 30], 7, 2),
            [Some(7), None, None]
        );
        assert_eq!(
            column_widths(&COLUMNS, &[10, 5, 30], 3, 2),
            [Some(3), None, None]
        );
    }

    proptest! {
        #[test]
        fn columns_fit_into_the_width(needed in prop::collection::vec(0u16..80, 3), max_width in 0u16..200) {
            let widths = column_widths(&COLUMNS, &needed, max_width, GAP);
            let shown: Vec<u16> = widths.into_iter().flatten().collect();
            let gaps = GAP * (shown.len().saturating_sub(1)) as u16;
            prop_assert!(shown.iter().sum::<u16>() + gaps <= max_width);
        }
    }
}
