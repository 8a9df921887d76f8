//! Completion index lists in text form, such as `1,3-5,7`.

/// A text that is not a list of completion indexes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseIndexesError {
    /// An index is not a number.
    #[error("cannot convert string to integer for index: {0:?}")]
    NotANumber(String),
    /// An index is not below the number of completions.
    #[error("too large index: {0:?}")]
    TooLarge(String),
    /// Indexes do not increase.
    #[error("non-increasing order, previous: {previous}, current: {current}")]
    Order {
        /// The index before.
        previous: i64,
        /// The index.
        current: i64,
    },
    /// An interval has more than two parts.
    #[error(
        "the fragment {0:?} violates the requirement that an index interval can have at most two parts separated by '-'"
    )]
    Interval(String),
}

/// Returns the number of completion indexes in the list.
///
/// # Errors
/// The list is malformed, not increasing, or has an index of `completions` or above.
pub(crate) fn count(text: &str, completions: i64) -> Result<i64, ParseIndexesError> {
    let mut total = 0;
    let mut last: Option<i64> = None;
    for (first, end) in intervals(text, completions)? {
        if let Some(last) = last
            && last >= first
        {
            return Err(ParseIndexesError::Order {
                previous: last,
                current: first,
            });
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

/// Returns the intervals of the list as (first, last) index pairs.
///
/// # Errors
/// An interval is malformed.
pub(crate) fn intervals(
    text: &str,
    completions: i64,
) -> Result<Vec<(i64, i64)>, ParseIndexesError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    text.split(',')
        .map(|interval| parse(interval, completions))
        .collect()
}

fn parse(interval: &str, completions: i64) -> Result<(i64, i64), ParseIndexesError> {
    let index = |s: &str| -> Result<i64, ParseIndexesError> {
        let n: i64 = s
            .parse()
            .map_err(|_| ParseIndexesError::NotANumber(s.to_owned()))?;
        if n >= completions {
            return Err(ParseIndexesError::TooLarge(s.to_owned()));
        }
        Ok(n)
    };
    let parts: Vec<&str> = interval.split('-').collect();
    match parts.as_slice() {
        [one] => index(one).map(|n| (n, n)),
        [first, last] => {
            let (first, last) = (index(first)?, index(last)?);
            if first >= last {
                return Err(ParseIndexesError::Order {
                    previous: first,
                    current: last,
                });
            }
            Ok((first, last))
        }
        _ => Err(ParseIndexesError::Interval(interval.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_indexes() {
        assert_eq!(count("", 5), Ok(0));
        assert_eq!(count("0,2-4", 5), Ok(4));
        assert!(count("5", 5).is_err_and(|e| e.to_string() == "too large index: \"5\""));
        assert!(
            count("3,1", 5)
                .is_err_and(|e| e.to_string() == "non-increasing order, previous: 3, current: 1")
        );
        assert!(count("1-2-3", 5).is_err() && count("x", 5).is_err() && count("3-1", 5).is_err());
    }
}
