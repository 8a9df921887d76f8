//! Styles, as one table of roles. Colour is never the only carrier of meaning: each role goes with a
//! word or a glyph, and the plain column of the table has no colours.
//!
//! Only the sixteen colours of the terminal palette are used, so that the user's palette sets the
//! contrast. No two states differ only by red and green.

use ratatui::style::{Color, Modifier, Style};

/// The role of a piece of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Ordinary text.
    Text,
    /// Less important text.
    Dim,
    /// More important text.
    Bold,
    /// Column headings.
    Heading,
    /// Titles of sections and boxes.
    Title,
    /// The tab of the open view.
    ActiveTab,
    /// The other tabs.
    InactiveTab,
    /// The selected row.
    Selected,
    /// A key, in hints and help.
    Key,
    /// Lines and borders.
    Line,
    /// Healthy, done.
    Success,
    /// Pending.
    Waiting,
    /// In progress.
    InProgress,
    /// Evicted, or a warning.
    Warning,
    /// Failed, or an error.
    Error,
    /// Finished or inactive.
    Finished,
    /// Quota in use, within the nominal quota.
    Used,
    /// Quota in use, borrowed.
    Borrowed,
    /// Quota lent to others.
    Lent,
    /// Unused quota.
    Free,
    /// Text in the prompt.
    Input,
    /// A match of the search in a page.
    Match,
}

/// A line of the table: the role, its style with colours, its style without.
type Entry = (Role, Color, Modifier, Modifier);

const NONE: Modifier = Modifier::empty();
const BOLD: Modifier = Modifier::BOLD;
const DIM: Modifier = Modifier::DIM;

const TABLE: [Entry; 22] = [
    (Role::Text, Color::Reset, NONE, NONE),
    (Role::Dim, Color::Reset, DIM, DIM),
    (Role::Bold, Color::Reset, BOLD, BOLD),
    (
        Role::Heading,
        Color::Reset,
        Modifier::UNDERLINED,
        Modifier::UNDERLINED,
    ),
    (Role::Title, Color::Cyan, BOLD, BOLD),
    (
        Role::ActiveTab,
        Color::Reset,
        Modifier::REVERSED,
        Modifier::REVERSED,
    ),
    (Role::InactiveTab, Color::Reset, NONE, NONE),
    (
        Role::Selected,
        Color::Reset,
        Modifier::REVERSED,
        Modifier::REVERSED,
    ),
    (Role::Key, Color::Cyan, NONE, BOLD),
    (Role::Line, Color::Reset, DIM, DIM),
    (Role::Success, Color::Cyan, NONE, NONE),
    (Role::Waiting, Color::Yellow, NONE, NONE),
    (Role::InProgress, Color::Blue, BOLD, NONE),
    (Role::Warning, Color::Magenta, BOLD, BOLD),
    (Role::Error, Color::Red, BOLD, BOLD),
    (Role::Finished, Color::Reset, DIM, DIM),
    (Role::Used, Color::Cyan, NONE, NONE),
    (Role::Borrowed, Color::Yellow, NONE, NONE),
    (Role::Lent, Color::Magenta, NONE, NONE),
    (Role::Free, Color::Reset, DIM, DIM),
    (
        Role::Input,
        Color::Reset,
        Modifier::UNDERLINED,
        Modifier::UNDERLINED,
    ),
    (
        Role::Match,
        Color::Yellow,
        Modifier::REVERSED,
        Modifier::REVERSED,
    ),
];

/// The styles of all roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    colours: bool,
}

impl Theme {
    /// The theme with or without colours.
    pub fn new(colours: bool) -> Self {
        Self { colours }
    }

    /// The style of a role.
    pub fn style(self, role: Role) -> Style {
        let Some((_, colour, bright, plain)) = TABLE.iter().find(|(r, ..)| *r == role) else {
            return Style::new();
        };
        if self.colours {
            let style = Style::new().add_modifier(*bright);
            if *colour == Color::Reset {
                style
            } else {
                style.fg(*colour)
            }
        } else {
            Style::new().add_modifier(*plain)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_is_used_without_colors() {
        for (role, ..) in TABLE {
            let style = Theme::new(false).style(role);
            assert_eq!((style.fg, style.bg), (None, None), "{role:?}");
        }
    }

    #[test]
    fn every_role_is_in_the_table_once() {
        for (role, ..) in TABLE {
            assert_eq!(TABLE.iter().filter(|(r, ..)| *r == role).count(), 1);
        }
    }
}
