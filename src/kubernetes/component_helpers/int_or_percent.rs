//! `IntOrString` values that are a number or a percentage.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// A number, or a percentage of `of` rounded up or down.
pub fn scaled_value_from_int_or_percent(value: &IntOrString, of: i32, up: bool) -> i32 {
    match value {
        IntOrString::Int(number) => *number,
        IntOrString::String(text) => {
            let percent = text.strip_suffix('%').and_then(|p| p.parse::<i64>().ok());
            let share = percent.unwrap_or(0).saturating_mul(i64::from(of));
            let rounded = if up {
                share.saturating_add(99).div_euclid(100)
            } else {
                share.div_euclid(100)
            };
            i32::try_from(rounded).unwrap_or(if rounded < 0 { i32::MIN } else { i32::MAX })
        }
    }
}
