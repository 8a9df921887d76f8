//! [`list_names`]: a list of names in a message.

/// The first `max` names and the number of the others: `a, b and 3 more`.
pub fn list_names<S: AsRef<str>>(names: &[S], max: usize) -> String {
    let named: Vec<&str> = names.iter().take(max).map(AsRef::as_ref).collect();
    let named = named.join(", ");
    match names.len().saturating_sub(max) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_the_others_follows_the_first_names() {
        let five = ["a", "b", "c", "d", "e"];
        assert_eq!(list_names(&five, 4), "a, b, c, d and 1 more");
        assert_eq!(list_names(&five, 5), "a, b, c, d, e");
        assert_eq!(list_names::<&str>(&[], 4), "");
    }
}
