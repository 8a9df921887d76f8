//! The numbers of `seq`.

/// Maximum number of values of `seq`.
const NUMBERS: usize = 10_000;

/// The values of `seq LAST`, `seq FIRST LAST` or `seq FIRST STEP LAST`.
pub fn seq(arguments: &[&str]) -> Vec<i64> {
    let numbers: Vec<i64> = arguments.iter().filter_map(|a| a.parse().ok()).collect();
    let (first, step, last) = match numbers[..] {
        [last] => (1, 1, last),
        [first, last] => (first, 1, last),
        [first, step, last] if step != 0 => (first, step, last),
        _ => return Vec::new(),
    };
    let past = |n: &i64| if step > 0 { *n <= last } else { *n >= last };
    std::iter::successors(Some(first), |n| n.checked_add(step))
        .take_while(past)
        .take(NUMBERS)
        .collect()
}
