//! Completion index lists in text form, such as `1,3-5,7`.

/// Returns the number of completion indexes in the list.
///
/// # Errors
/// The list is malformed, not increasing, or has an index of `completions` or above.
pub(crate) fn count(text: &str, completions: i64) -> Result<i64, String> {
    let mut total = 0;
    let mut last: Option<i64> = None;
    for (first, end) in intervals(text, completions)? {
        if let Some(last) = last
            && last >= first
        {
            return Err(format!(
                "non-increasing order, previous: {last}, current: {first}"
            ));
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

/// Returns the intervals of the list as (first, last) index pairs.
///
/// # Errors
/// Describes the first malformed interval.
pub(crate) fn intervals(text: &str, completions: i64) -> Result<Vec<(i64, i64)>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    text.split(',')
        .map(|interval| parse(interval, completions))
        .collect()
}

fn parse(interval: &str, completions: i64) -> Result<(i64, i64), String> {
    let index = |s: &str| -> Result<i64, String> {
        let n: i64 = s
            .parse()
            .map_err(|_| format!("cannot convert string to integer for index: {s:?}"))?;
        if n >= completions {
            return Err(format!("too large index: {s:?}"));
        }
        Ok(n)
    };
    let parts: Vec<&str> = interval.split('-').collect();
    match parts.as_slice() {
        [one] => index(one).map(|n| (n, n)),
        [first, last] => {
            let (first, last) = (index(first)?, index(last)?);
            if first >= last {
                return Err(format!(
                    "non-increasing order, previous: {first}, current: {last}"
                ));
            }
            Ok((first, last))
        }
        _ => Err(format!(
            "the fragment {interval:?} violates the requirement that an index interval can have at most two parts separated by '-'"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_indexes() {
        assert_eq!(count("", 5), Ok(0));
        assert_eq!(count("0,2-4", 5), Ok(4));
        assert!(count("5", 5).is_err_and(|e| e == "too large index: \"5\""));
        assert!(
            count("3,1", 5).is_err_and(|e| e == "non-increasing order, previous: 3, current: 1")
        );
        assert!(count("1-2-3", 5).is_err() && count("x", 5).is_err() && count("3-1", 5).is_err());
    }
}
