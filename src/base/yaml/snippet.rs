//! The source line of a problem, for the terminal.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::Position;

/// The line of `text` at a position, with its number and carets below the word at the column. Empty
/// if the text has no such line.
pub fn source_snippet(text: &str, at: Position) -> String {
    let number = at.line as usize;
    let Some(line) = number.checked_sub(1).and_then(|i| text.lines().nth(i)) else {
        return String::new();
    };
    let column = at.column.saturating_sub(1) as usize;
    let start = line
        .char_indices()
        .nth(column)
        .map_or(line.len(), |(offset, _)| offset);
    let rest = &line[start..];
    let word = rest
        .split([' ', ':', ',', '}', ']'])
        .next()
        .unwrap_or_default();
    let length = word
        .len()
        .max(rest.chars().next().map_or(0, char::len_utf8));
    let annotation = AnnotationKind::Primary.span(start..start + length);
    let snippet = Snippet::source(line)
        .line_start(number)
        .annotation(annotation);
    Renderer::plain().render(&[Group::with_level(Level::ERROR).element(snippet)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_at_the_position_is_marked() {
        let text = "spec:\n  cohrt: x\n  ä: [b, cd]\n";
        let snippet = |line, column| source_snippet(text, Position { line, column });
        assert_eq!(snippet(2, 3), "  |\n2 |   cohrt: x\n  |   ^^^^^");
        assert_eq!(snippet(3, 10), "  |\n3 |   ä: [b, cd]\n  |          ^^");
        assert_eq!(snippet(1, 6), "  |\n1 | spec:\n  |      ^");
        assert_eq!(snippet(9, 1), "");
    }
}
