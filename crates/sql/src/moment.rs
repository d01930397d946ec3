//! Dates and times in the proleptic Gregorian calendar: reading, spelling, parts.

/// Microseconds in a day.
pub(crate) const DAY: i64 = 86_400_000_000;

/// Days since 1970 of a date.
pub(crate) fn days(year: i64, month: u32, day: u32) -> Option<i32> {
    if !(1..=12).contains(&month) || day < 1 || day > month_days(year, month) {
        return None;
    }
    // Years begin in March, so that the leap day is the last.
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * i64::from((month + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    let of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    i32::try_from(era * 146_097 + of_era - 719_468).ok()
}

/// Year, month and day.
pub(crate) fn civil(days: i32) -> (i64, u32, u32) {
    let shifted = i64::from(days) + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = (of_year - (153 * month + 2) / 5 + 1).unsigned_abs() as u32;
    let month = (if month < 10 { month + 3 } else { month - 9 }).unsigned_abs() as u32;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn month_days(year: i64, month: u32) -> u32 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(is_leap),
        _ => 31,
    }
}

/// Reads `2024-02-29`.
pub(crate) fn date(text: &str) -> Option<i32> {
    let mut parts = text.trim().splitn(3, '-');
    let mut part = |most: usize| {
        let part = parts.next()?;
        let is_number = !part.is_empty() && part.len() <= most && part.bytes().all(|b| b.is_ascii_digit());
        if is_number { part.parse::<u32>().ok() } else { None }
    };
    let (year, month, day) = (part(6)?, part(2)?, part(2)?);
    days(i64::from(year), month, day)
}

/// Reads `12:30`, `12:30:15` or `12:30:15.25`.
pub(crate) fn time(text: &str) -> Option<i64> {
    let mut parts = text.trim().splitn(3, ':');
    let number = |part: &str, most: i64| {
        let is_number = (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        if is_number { part.parse::<i64>().ok().filter(|n| *n <= most) } else { None }
    };
    let hours = number(parts.next()?, 24)?;
    let minutes = number(parts.next()?, 59)?;
    let (seconds, micros) = match parts.next() {
        None => (0, 0),
        Some(part) => {
            let (seconds, fraction) = part.split_once('.').unwrap_or((part, ""));
            if !fraction.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            let six: String = fraction.chars().chain("000000".chars()).take(6).collect();
            let up = i64::from(fraction.as_bytes().get(6).is_some_and(|digit| *digit >= b'5'));
            (number(seconds, 59)?, six.parse::<i64>().ok()? + up)
        }
    };
    let total = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros;
    if total <= DAY { Some(total) } else { None }
}

/// Reads a date with or without a time, and without a zone.
pub(crate) fn timestamp(text: &str) -> Option<i64> {
    let text = text.trim();
    let (day, rest) = text.split_once([' ', 'T']).unwrap_or((text, ""));
    let micros = if rest.is_empty() { 0 } else { time(rest)? };
    Some(i64::from(date(day)?) * DAY + micros)
}

/// Reads a date and a time with a zone such as `+02` or `Z`; without one, the zone is UTC.
pub(crate) fn timestamp_tz(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Some(utc) = text.strip_suffix(['Z', 'z']) {
        return timestamp(utc);
    }
    let Some(at) = text.rfind(['+', '-']).filter(|at| text[..*at].contains(':')) else {
        return timestamp(text);
    };
    let sign = if text.as_bytes()[at] == b'-' { -1 } else { 1 };
    let zone = &text[at + 1..];
    let (hours, minutes) = zone.split_once(':').unwrap_or((zone, "0"));
    let (hours, minutes) = (hours.parse::<i64>().ok()?, minutes.parse::<i64>().ok()?);
    if hours > 15 || minutes > 59 {
        return None;
    }
    Some(timestamp(&text[..at])? - sign * (hours * 60 + minutes) * 60_000_000)
}

pub(crate) fn date_text(days: i32) -> String {
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}")
}

pub(crate) fn time_text(micros: i64) -> String {
    let (seconds, fraction) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if fraction == 0 { text } else { format!("{text}.{fraction:06}").trim_end_matches('0').to_owned() }
}

pub(crate) fn timestamp_text(micros: i64) -> String {
    let days = i32::try_from(micros.div_euclid(DAY)).unwrap_or(i32::MAX);
    format!("{} {}", date_text(days), time_text(micros.rem_euclid(DAY)))
}

#[cfg(test)]
mod tests {
    use super::{civil, date, date_text, days, time, time_text, timestamp, timestamp_text, timestamp_tz};

    #[test]
    fn every_day_of_four_centuries_is_read_as_it_is_spelled() {
        for day in -200_000..200_000 {
            let (year, month, of_month) = civil(day);
            assert_eq!(days(year, month, of_month), Some(day));
        }
        assert_eq!((date("2024-02-29"), date("2023-02-29"), date("x")), (Some(19_782), None, None));
        assert_eq!(date_text(19_782), "2024-02-29");
    }

    #[test]
    fn times_have_six_decimals_at_most() {
        assert_eq!(time_text(time("12:30:15.250").unwrap()), "12:30:15.25");
        assert_eq!((time("24:00:01"), time("12:60"), time("1")), (None, None, None));
        assert_eq!(timestamp_text(timestamp("1969-12-31 23:59").unwrap()), "1969-12-31 23:59:00");
        assert_eq!(timestamp_tz("2024-01-01 00:00:00+02"), timestamp("2023-12-31 22:00:00"));
    }
}
