//! Cron schedules: whether a text is one, in the words of the parser Kubernetes uses.

/// Checks a schedule of five fields, `@daily` and the like, or `@every DURATION`.
///
/// # Errors
/// Says what is wrong.
pub fn validate(schedule: &str) -> Result<(), String> {
    let mut spec = schedule;
    if let Some(rest) = spec
        .strip_prefix("TZ=")
        .or_else(|| spec.strip_prefix("CRON_TZ="))
    {
        spec = rest
            .split_once(' ')
            .map(|(_, rest)| rest.trim())
            .unwrap_or_default();
    }
    if spec.is_empty() {
        return Err("empty spec string".into());
    }
    if spec.starts_with('@') {
        return descriptor(spec);
    }
    let fields: Vec<&str> = spec.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let shown = fields.join(" ");
        return Err(format!(
            "expected exactly 5 fields, found {}: [{shown}]",
            fields.len()
        ));
    }
    fields
        .iter()
        .zip(FIELDS)
        .try_for_each(|(text, field)| validate_field(text, field))
}

/// Lowest and highest value of a field, and names for values.
type Field = (u32, u32, &'static [&'static str]);

const MONTHS: &[&str] = &[
    "", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const FIELDS: [Field; 5] = [
    (0, 59, &[]),
    (0, 23, &[]),
    (1, 31, &[]),
    (1, 12, MONTHS),
    (0, 6, DAYS),
];

fn descriptor(spec: &str) -> Result<(), String> {
    const KNOWN: [&str; 8] = [
        "@yearly",
        "@annually",
        "@monthly",
        "@weekly",
        "@daily",
        "@midnight",
        "@hourly",
        "@reboot",
    ];
    if KNOWN[..7].contains(&spec) {
        return Ok(());
    }
    match spec.strip_prefix("@every ") {
        Some(duration) if is_duration(duration) => Ok(()),
        Some(_) => Err(format!(
            "failed to parse duration {spec}: time: invalid duration"
        )),
        None => Err(format!("unrecognized descriptor: {spec}")),
    }
}

fn is_duration(text: &str) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        let number = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let unit = &rest[number..];
        let units = ["ns", "us", "ms", "s", "m", "h"];
        let Some(unit) = units
            .iter()
            .filter(|u| unit.starts_with(**u))
            .max_by_key(|u| u.len())
        else {
            return false;
        };
        if number == 0 {
            return false;
        }
        rest = &rest[number + unit.len()..];
    }
    !text.is_empty()
}

fn validate_field(text: &str, field: Field) -> Result<(), String> {
    text.split(',')
        .try_for_each(|range| validate_range(range, field))
}

fn validate_range(text: &str, (min, max, names): Field) -> Result<(), String> {
    let parts: Vec<&str> = text.split('/').collect();
    let bounds: Vec<&str> = parts
        .first()
        .copied()
        .unwrap_or_default()
        .split('-')
        .collect();
    let value = |s: &str| -> Result<u32, String> {
        let named = names
            .iter()
            .position(|n| !n.is_empty() && *n == s.to_lowercase());
        match named {
            Some(n) => Ok(n as u32),
            None => number(s),
        }
    };
    let (start, mut end) = match bounds.as_slice() {
        ["*" | "?"] => (min, max),
        [one] => {
            let n = value(one)?;
            (n, n)
        }
        [first, last] => (value(first)?, value(last)?),
        _ => return Err(format!("too many hyphens: {text}")),
    };
    let step = match parts.as_slice() {
        [_] => 1,
        [_, step] => {
            if bounds.len() == 1 {
                end = max;
            }
            number(step)?
        }
        _ => return Err(format!("too many slashes: {text}")),
    };
    match () {
        () if start < min => Err(format!(
            "beginning of range ({start}) below minimum ({min}): {text}"
        )),
        () if end > max => Err(format!(
            "end of range ({end}) above maximum ({max}): {text}"
        )),
        () if start > end => Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {text}"
        )),
        () if step == 0 => Err(format!("step of range should be a positive number: {text}")),
        () => Ok(()),
    }
}

fn number(s: &str) -> Result<u32, String> {
    match s.parse::<i64>() {
        Ok(n) if n < 0 => Err(format!("negative number ({n}) not allowed: {s}")),
        Ok(n) => u32::try_from(n).map_err(|e| e.to_string()),
        Err(_) => Err(format!(
            "failed to parse int from {s}: strconv.Atoi: parsing {s:?}: invalid syntax"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::validate;

    #[test]
    fn schedules() {
        for fine in [
            "* * * * *",
            "*/5 * * * *",
            "0 0 1 1 *",
            "1-5,7 0 ? jan-mar SUN",
            "@daily",
            "@every 1h30m",
        ] {
            assert_eq!(validate(fine), Ok(()), "{fine}");
        }
        for (bad, why) in [
            ("whenever", "expected exactly 5 fields, found 1: [whenever]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            (
                "a * * * *",
                "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax",
            ),
            (
                "*/0 * * * *",
                "step of range should be a positive number: */0",
            ),
            ("@never", "unrecognized descriptor: @never"),
            (
                "5-1 * * * *",
                "beginning of range (5) beyond end of range (1): 5-1",
            ),
        ] {
            assert_eq!(validate(bad), Err(why.into()), "{bad}");
        }
    }
}
