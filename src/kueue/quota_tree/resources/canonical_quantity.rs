//! The canonical text of integer amounts: decimal and binary suffixes.

/// The suffixes of the canonical decimal form, in steps of 1000 from nano.
pub const DECIMAL_SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY_SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// The canonical decimal form of a whole number.
pub(super) fn whole_to_si(value: i64) -> String {
    to_si(value, 3)
}

/// The canonical decimal form of a number of thousandths.
pub(super) fn milli_to_si(value: i64) -> String {
    to_si(value, 2)
}

/// The canonical form of a number with the suffix at `step`.
fn to_si(mut value: i64, mut step: usize) -> String {
    if value == 0 {
        return "0".to_owned();
    }
    while step + 1 < DECIMAL_SUFFIXES.len() && value % 1000 == 0 {
        value /= 1000;
        step += 1;
    }
    match DECIMAL_SUFFIXES[step] {
        "" => value.to_string(),
        suffix => format!("{value}{suffix}"),
    }
}

/// The canonical form of whole bytes: the largest power of 1024 that divides them, else the
/// canonical decimal form.
pub(super) fn to_binary_si(value: i64) -> String {
    if value.unsigned_abs() < 1024 || value % 1024 != 0 {
        return whole_to_si(value);
    }
    let (mut mantissa, mut step) = (value, 0);
    while step + 1 < BINARY_SUFFIXES.len() && mantissa % 1024 == 0 {
        mantissa /= 1024;
        step += 1;
    }
    format!("{mantissa}{}", BINARY_SUFFIXES[step])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_forms() {
        assert_eq!(to_binary_si(1536 << 20), "1536Mi");
        assert_eq!(to_binary_si(1_000_000), "1M");
        assert_eq!(to_binary_si(512), "512");
        assert_eq!(to_binary_si(1 << 40), "1Ti");
        assert_eq!(milli_to_si(1500), "1500m");
        assert_eq!(milli_to_si(-2000), "-2");
        assert_eq!(whole_to_si(15_000), "15k");
    }
}
