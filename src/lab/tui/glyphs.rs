//! The glyphs of the UI, in Unicode and in ASCII.

use ratatui::symbols::border;

/// A set of glyphs, each one column wide unless noted.
#[derive(Debug)]
pub struct Glyphs {
    /// Whether output is limited to ASCII.
    pub ascii: bool,
    /// Truncated text.
    pub ellipsis: &'static str,
    /// Marks the selected row.
    pub highlight: &'static str,
    /// Marks an unfolded branch.
    pub expanded: &'static str,
    /// Marks a folded branch.
    pub collapsed: &'static str,
    /// Part of a bar: quota in use, within the nominal quota.
    pub used: &'static str,
    /// Part of a bar: quota in use, borrowed.
    pub borrowed: &'static str,
    /// Part of a bar: quota lent to others.
    pub lent: &'static str,
    /// Part of a bar: unused quota.
    pub free: &'static str,
    /// Part of a bar: quota that can be borrowed.
    pub borrowable: &'static str,
    /// In a bar: the end of the nominal quota.
    pub nominal_mark: &'static str,
    /// A device in use.
    pub device_used: &'static str,
    /// A device not in use.
    pub device_free: &'static str,
    /// A vertical line.
    pub vertical: &'static str,
    /// An arrow; up to two columns.
    pub arrow: &'static str,
    /// Sorted in ascending order.
    pub ascending: &'static str,
    /// Sorted in descending order.
    pub descending: &'static str,
    /// Active.
    pub active: &'static str,
    /// Inactive.
    pub inactive: &'static str,
    /// Done.
    pub done: &'static str,
    /// Failed.
    pub failed: &'static str,
    /// Infinity; up to three columns.
    pub infinity: &'static str,
    /// The thumb of a scroll bar.
    pub thumb: &'static str,
    /// Corners of boxes.
    pub border: border::Set<'static>,
}

/// Glyphs for terminals with UTF-8.
pub(crate) const UNICODE: Glyphs = Glyphs {
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

/// Glyphs for other terminals.
pub(crate) const ASCII: Glyphs = Glyphs {
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

/// Whether the locale uses UTF-8: the first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set and not
/// empty decides.
pub(crate) fn utf8_locale(var: impl Fn(&str) -> Option<String>) -> bool {
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
