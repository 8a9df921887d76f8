//! The signs the UI draws with, once for terminals that can and once in ASCII.

use ratatui::symbols::border;

/// A set of signs, each one column wide unless said otherwise.
#[derive(Debug)]
pub struct Glyphs {
    /// Whether only ASCII may be written.
    pub ascii: bool,
    /// Where text was cut.
    pub ellipsis: &'static str,
    /// In front of the selected row.
    pub highlight: &'static str,
    /// In front of an open branch.
    pub expanded: &'static str,
    /// In front of a closed branch.
    pub collapsed: &'static str,
    /// Part of a bar: used, within one's own.
    pub used: &'static str,
    /// Part of a bar: used, borrowed.
    pub borrowed: &'static str,
    /// Part of a bar: one's own, used by others.
    pub lent: &'static str,
    /// Part of a bar: one's own, unused.
    pub free: &'static str,
    /// Part of a bar: could be borrowed.
    pub borrowable: &'static str,
    /// In a bar: where one's own ends.
    pub nominal_mark: &'static str,
    /// A device in use.
    pub device_used: &'static str,
    /// A device not in use.
    pub device_free: &'static str,
    /// A horizontal line.
    pub horizontal: &'static str,
    /// A vertical line.
    pub vertical: &'static str,
    /// From one to the other; may be two columns.
    pub arrow: &'static str,
    /// Sorted, smallest first.
    pub ascending: &'static str,
    /// Sorted, largest first.
    pub descending: &'static str,
    /// Something in force.
    pub active: &'static str,
    /// Something not in force.
    pub inactive: &'static str,
    /// Done.
    pub done: &'static str,
    /// Failed.
    pub failed: &'static str,
    /// Without end; may be three columns.
    pub infinity: &'static str,
    /// The thumb of a scroll bar.
    pub thumb: &'static str,
    /// Edges of boxes.
    pub border: border::Set<'static>,
}

/// For terminals with Unicode.
pub const UNICODE: Glyphs = Glyphs {
    ascii: false,
    ellipsis: "…",
    highlight: "▶",
    expanded: "▾",
    collapsed: "▸",
    used: "█",
    borrowed: "▓",
    lent: "░",
    free: "·",
    borrowable: " ",
    nominal_mark: "│",
    device_used: "■",
    device_free: "□",
    horizontal: "─",
    vertical: "│",
    arrow: "→",
    ascending: "▲",
    descending: "▼",
    active: "●",
    inactive: "○",
    done: "✓",
    failed: "✗",
    infinity: "∞",
    thumb: "┃",
    border: border::ROUNDED,
};

/// For all others.
pub const ASCII: Glyphs = Glyphs {
    ascii: true,
    ellipsis: "~",
    highlight: ">",
    expanded: "v",
    collapsed: ">",
    used: "#",
    borrowed: "+",
    lent: "-",
    free: ".",
    borrowable: " ",
    nominal_mark: "|",
    device_used: "#",
    device_free: ".",
    horizontal: "-",
    vertical: "|",
    arrow: "->",
    ascending: "^",
    descending: "v",
    active: "*",
    inactive: "o",
    done: "+",
    failed: "x",
    infinity: "inf",
    thumb: "#",
    border: border::Set {
        top_left: "+",
        top_right: "+",
        bottom_left: "+",
        bottom_right: "+",
        vertical_left: "|",
        vertical_right: "|",
        horizontal_top: "-",
        horizontal_bottom: "-",
    },
};

/// Whether a locale, as the environment names it, writes UTF-8. The first of `LC_ALL`, `LC_CTYPE`
/// and `LANG` that is set and not empty decides; without any the answer is no.
pub fn utf8_locale(var: impl Fn(&str) -> Option<String>) -> bool {
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| var(name).filter(|value| !value.is_empty()))
        .is_some_and(|value| {
            let value = value.to_ascii_lowercase();
            value.contains("utf-8") || value.contains("utf8")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_variable_decides() {
        let env = |pairs: &'static [(&str, &str)]| {
            move |name: &str| {
                let found = pairs.iter().find(|(n, _)| *n == name);
                found.map(|(_, v)| (*v).to_owned())
            }
        };
        assert!(utf8_locale(env(&[("LANG", "en_US.UTF-8")])));
        assert!(utf8_locale(env(&[("LC_ALL", ""), ("LANG", "C.utf8")])));
        assert!(!utf8_locale(env(&[
            ("LC_ALL", "C"),
            ("LANG", "en_US.UTF-8")
        ])));
        assert!(!utf8_locale(env(&[])));
    }
}
