//! The evidence of a term, and the file for it: a line of fixed width for every term, rewritten in place while the term
//! lasts, so that it survives the kill of its process.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::str::FromStr;

use incumbent::{Instant, Reason, Token};

use crate::probe::{Held, Reading};

/// The width of a line in bytes, including its newline.
const WIDTH: usize = 33 + 4 * 21 + 1 + REASON + 1;

/// The longest code of a reason is `HANDLER_FAILED`.
const REASON: usize = 14;

/// The evidence of a [probe](crate::probe) for one term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The fencing token of the term.
    pub token: Token,
    /// Read after the first answer that it leads.
    pub since: Instant,
    /// Read before the last answer that it leads.
    pub seen: Instant,
    /// The latest deadline that was read before such an answer.
    pub deadline: Instant,
    /// Read before the first different answer that followed.
    pub gone: Option<Instant>,
    /// The reported reason of its end.
    pub ended: Option<Reason>,
}

impl Evidence {
    /// The exclusive end of the time in which the candidate proved that it led; see [`history`](crate::history).
    pub fn proven_until(&self) -> Instant {
        let by_the_clock =
            self.ended == Some(Reason::Expired) && self.gone.is_some_and(|gone| gone >= self.deadline);
        if by_the_clock { self.seen.max(self.deadline) } else { self.seen }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [since, seen, deadline, gone] =
            [self.since, self.seen, self.deadline, self.gone.unwrap_or_default()].map(Instant::as_nanos);
        let ended = self.ended.map_or("-", Reason::code);
        writeln!(f, "{} {since:020} {seen:020} {deadline:020} {gone:020} {ended:REASON$}", self.token)
    }
}

/// A line that does not belong to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedLine;

impl FromStr for Evidence {
    type Err = MalformedLine;

    fn from_str(text: &str) -> Result<Self, MalformedLine> {
        let mut parts = text.split_ascii_whitespace();
        let mut part = || parts.next().ok_or(MalformedLine);
        let token = part()?.parse().map_err(|_| MalformedLine)?;
        let mut instant = || part()?.parse().map(Instant::from_nanos).map_err(|_| MalformedLine);
        let [since, seen, deadline, gone] = [instant()?, instant()?, instant()?, instant()?];
        let ended = reason(part()?)?;
        Ok(Self { token, since, seen, deadline, gone: (gone != Instant::ZERO).then_some(gone), ended })
    }
}

/// The reason with that code; none for `-`.
pub(crate) fn reason(code: &str) -> Result<Option<Reason>, MalformedLine> {
    let known = Reason::ALL.into_iter().find(|reason| reason.code() == code);
    if known.is_none() && code != "-" { Err(MalformedLine) } else { Ok(known) }
}

/// Reads all lines of a file; none if nothing was written yet.
///
/// # Errors
/// A file that cannot be read, or is damaged.
pub fn read(path: &Path) -> io::Result<Vec<Evidence>> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text?,
    };
    // A line is a single write within one page, but a reader of a live file may still see part of it.
    let whole = text.lines().filter(|line| line.len() == WIDTH - 1);
    let damaged =
        |MalformedLine| io::Error::new(io::ErrorKind::InvalidData, format!("{} is damaged", path.display()));
    whole.map(|line| line.parse().map_err(damaged)).collect()
}

/// The evidence of one candidate's answers so far, term by term.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// Index of the term in which the last reading was true.
    open: Option<usize>,
    all: Vec<Evidence>,
}

impl Terms {
    /// Adds an answer. Returns the index of the first term that it changed.
    pub fn note(&mut self, reading: Reading) -> Option<usize> {
        let Reading { before, leads, after } = reading;
        let last = self.open.take();
        if let Some((index, held)) = last.zip(leads)
            && let term = &mut self.all[index]
            && term.token == held.token
        {
            term.seen = before;
            term.deadline = term.deadline.max(held.deadline);
            self.open = last;
            return last;
        }
        if let Some(index) = last {
            self.all[index].gone = Some(before);
        }
        let Some(Held { token, deadline, .. }) = leads else { return last };
        self.open = Some(self.all.len());
        self.all.push(Evidence { token, since: after, seen: before, deadline, gone: None, ended: None });
        last.or(self.open)
    }

    /// Adds the reported end of a term. Returns its index.
    pub fn ended(&mut self, token: Token, reason: Reason) -> Option<usize> {
        let index = self.all.iter().rposition(|term| term.token == token)?;
        self.all[index].ended = Some(reason);
        Some(index)
    }

    /// All terms, in the order in which they began.
    pub fn into_all(self) -> Vec<Evidence> {
        self.all
    }
}

/// The terms of one candidate, and a file with a line for each of them.
#[derive(Debug)]
pub struct Record {
    file: File,
    terms: Terms,
}

impl Record {
    /// Creates a new file.
    ///
    /// # Errors
    /// It exists, or cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        Ok(Self { file, terms: Terms::default() })
    }

    /// Adds an answer.
    pub fn note(&mut self, reading: Reading) {
        let changed = self.terms.note(reading);
        self.write(changed);
    }

    /// Adds the reported end of a term.
    pub fn ended(&mut self, token: Token, reason: Reason) {
        let changed = self.terms.ended(token, reason);
        self.write(changed);
    }

    /// Writes the line of the term with that index and all later ones.
    fn write(&self, from: Option<usize>) {
        let Some(from) = from else { return };
        let lines: String = self.terms.all[from..].iter().map(ToString::to_string).collect();
        if let Err(error) = self.file.write_all_at(lines.as_bytes(), (from * WIDTH) as u64) {
            tracing::error!(%error, "the evidence cannot be written to its file");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incumbent::incumbent_core::{Incarnation, Revision};

    fn line(ended: Option<Reason>) -> Evidence {
        Evidence {
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
            // A new reason fails to compile here; add it to the table too.
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
            assert_eq!(text.parse::<Evidence>(), Err(MalformedLine));
        }
    }

    #[test]
    fn a_file_that_is_not_there_yet_has_no_lines() {
        assert_eq!(read(Path::new("/nowhere/at/all")).unwrap(), []);
    }

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    fn token(sequence: u64) -> Token {
        Token { incarnation: Incarnation(1), sequence: Revision(sequence) }
    }

    fn reading(leads: Option<u64>, before: u64, deadline: u64) -> Reading {
        let held = |sequence| Held { token: token(sequence), deadline: at(deadline), later: at(deadline) };
        Reading { before: at(before), leads: leads.map(held), after: at(before + 2) }
    }

    fn record() -> (Record, tempfile::NamedTempFile) {
        let file = tempfile::NamedTempFile::new().unwrap();
        (Record { file: file.reopen().unwrap(), terms: Terms::default() }, file)
    }

    #[test]
    fn a_proof_reaches_from_after_the_first_true_reading_to_before_the_last() {
        let (mut record, _file) = record();
        for (leads, before, deadline) in [(None, 10, 0), (Some(1), 20, 90), (Some(1), 30, 95), (None, 40, 0)]
        {
            record.note(reading(leads, before, deadline));
        }
        record.ended(token(1), Reason::Deleted);
        let expected = Evidence {
            token: token(1),
            since: at(22),
            seen: at(30),
            deadline: at(95),
            gone: Some(at(40)),
            ended: Some(Reason::Deleted),
        };
        assert_eq!(record.terms.all, [expected]);
    }

    #[test]
    fn another_token_begins_another_term_though_no_reading_was_false() {
        let (mut record, _file) = record();
        record.note(reading(Some(1), 20, 90));
        record.note(reading(Some(2), 30, 95));
        let terms: Vec<_> = record.terms.all.iter().map(|term| (term.token, term.since, term.seen)).collect();
        assert_eq!(terms, [(token(1), at(22), at(20)), (token(2), at(32), at(30))]);
        assert_eq!(record.terms.all[0].gone, Some(at(30)));
    }

    #[test]
    fn the_file_holds_the_same_as_the_record() {
        let (mut record, file) = record();
        record.note(reading(Some(1), 20, 90));
        record.note(reading(None, 30, 0));
        record.note(reading(Some(7), 40, 120));
        record.note(reading(Some(7), 50, 130));
        record.ended(token(1), Reason::Expired);
        assert_eq!(read(file.path()).unwrap(), record.terms.all);
    }
}
