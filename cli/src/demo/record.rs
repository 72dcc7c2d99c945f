//! The file that a witness writes: a line of fixed width for every term, rewritten in place while the term lasts.

use std::fmt;
use std::io;
use std::path::Path;
use std::str::FromStr;

use incumbent::{Instant, Reason, Token};

/// The width of a line in bytes, including its newline.
pub(super) const WIDTH: usize = 33 + 4 * 21 + 1 + REASON + 1;

/// The longest code of a reason is `HANDLER_FAILED`.
const REASON: usize = 14;

/// One term, as its witness saw it; [`super::history::Stretch`] explains the fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) token: Token,
    pub(super) since: Instant,
    pub(super) seen: Instant,
    pub(super) deadline: Instant,
    pub(super) gone: Option<Instant>,
    pub(super) ended: Option<Reason>,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [since, seen, deadline, gone] =
            [self.since, self.seen, self.deadline, self.gone.unwrap_or_default()].map(Instant::as_nanos);
        let ended = self.ended.map_or("-", Reason::code);
        writeln!(f, "{} {since:020} {seen:020} {deadline:020} {gone:020} {ended:REASON$}", self.token)
    }
}

impl FromStr for Line {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split_ascii_whitespace();
        let mut part = || parts.next().ok_or(());
        let token = part()?.parse().map_err(drop)?;
        let mut instant = || part()?.parse().map(Instant::from_nanos).map_err(drop);
        let [since, seen, deadline, gone] = [instant()?, instant()?, instant()?, instant()?];
        let ended = reason(part()?)?;
        Ok(Self { token, since, seen, deadline, gone: (gone != Instant::ZERO).then_some(gone), ended })
    }
}

/// The reason of that code; none for `-`.
fn reason(code: &str) -> Result<Option<Reason>, ()> {
    let known = Reason::ALL.into_iter().find(|reason| reason.code() == code);
    if known.is_none() && code != "-" { Err(()) } else { Ok(known) }
}

/// Reads all lines of a file; none where nothing was written yet.
pub(super) fn read(path: &Path) -> io::Result<Vec<Line>> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text?,
    };
    // A line is one write within one page, but the reader of a live file may still see a part of it.
    let whole = text.lines().filter(|line| line.len() == WIDTH - 1);
    let damaged = |()| io::Error::new(io::ErrorKind::InvalidData, format!("{} is damaged", path.display()));
    whole.map(|line| line.parse().map_err(damaged)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use incumbent::incumbent_core::{Incarnation, Revision};

    fn line(ended: Option<Reason>) -> Line {
        Line {
            token: Token { incarnation: Incarnation(7), sequence: Revision(u64::MAX) },
            since: Instant::from_nanos(1),
            seen: Instant::from_nanos(u64::MAX),
            deadline: Instant::from_nanos(3),
            gone: ended.map(|_| Instant::from_nanos(4)),
            ended,
        }
    }

    #[test]
    fn every_line_has_the_same_width_and_reads_back() {
        for ended in Reason::ALL.map(Some).into_iter().chain([None]) {
            let text = line(ended).to_string();
            assert_eq!(text.len(), WIDTH, "{text}");
            assert_eq!(text.parse(), Ok(line(ended)));
        }
    }

    #[test]
    fn every_reason_is_in_the_table() {
        for reason in Reason::ALL {
            // A new reason fails to compile here; add it to the table as well.
            match reason {
                Reason::Resigned
                | Reason::HandedOver
                | Reason::Usurped
                | Reason::Deleted
                | Reason::Expired
                | Reason::Revoked
                | Reason::Unhealthy
                | Reason::HandlerFailed
                | Reason::StoreReset
                | Reason::Closed => {}
            }
        }
    }

    #[test]
    fn a_line_that_is_damaged_is_no_line() {
        for text in ["", "x", &line(None).to_string().replace(" -", " NO_REASON")] {
            assert_eq!(text.parse::<Line>(), Err(()));
        }
    }

    #[test]
    fn a_file_that_is_not_there_yet_has_no_lines() {
        assert_eq!(read(Path::new("/nowhere/at/all")).unwrap(), []);
    }
}
