//! The lines that the programs write while they work, and the check of these lines.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

/// The time on a clock that all processes of this machine share. The programs read the same clock.
pub(crate) fn now() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(now.tv_nsec).unwrap_or_default())
}

/// One line, `work TOKEN PID SECONDS`: process PID led with that token at that time.
///
/// A program reads the clock first, then asks whether its term is current, and writes the line if it is. So the term
/// was current at the time in the line, even if the process was stopped between these steps.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) token: String,
    pub(crate) pid: u32,
    pub(crate) at: Duration,
}

/// Reads the complete lines of a file. The file need not exist yet.
pub(crate) fn read(path: &Path) -> Result<Vec<Step>> {
    let text = fs::read_to_string(path).unwrap_or_default();
    // A process that is killed may leave half a line.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(parse).collect()
}

fn parse(line: &str) -> Result<Step> {
    let words: Vec<&str> = line.split(' ').collect();
    let ["work", token, pid, at] = words[..] else { bail!("{line:?} is not a line of work") };
    let at: f64 = at.parse().with_context(|| format!("the time in {line:?}"))?;
    let at = Duration::try_from_secs_f64(at).with_context(|| format!("the time in {line:?}"))?;
    Ok(Step {
        token: token.into(),
        pid: pid.parse().with_context(|| format!("the process in {line:?}"))?,
        at,
    })
}

/// The work of one process in one term.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) token: String,
    pub(crate) pid: u32,
    pub(crate) first: Duration,
    pub(crate) last: Duration,
}

/// All spans, by their beginning.
pub(crate) fn spans(steps: &[Step]) -> Vec<Span> {
    let mut spans = Vec::<Span>::new();
    for step in steps {
        match spans.iter_mut().find(|span| span.pid == step.pid && span.token == step.token) {
            // Threads may write their lines in another order than they read the clock.
            Some(span) => {
                span.first = span.first.min(step.at);
                span.last = span.last.max(step.at);
            }
            None => {
                spans.push(Span { token: step.token.clone(), pid: step.pid, first: step.at, last: step.at })
            }
        }
    }
    spans.sort_by_key(|span| span.first);
    spans
}

/// Checks that the work of each span ended before that of the next began, and that tokens grew.
pub(crate) fn check(spans: &[Span]) -> Result<()> {
    for pair in spans.windows(2) {
        let [before, after] = pair else { continue };
        ensure!(
            before.last < after.first,
            "two were at work at once, for {:?}: {before:?} and {after:?}",
            before.last.min(after.last).saturating_sub(after.first)
        );
        ensure!(before.token < after.token, "the token did not grow: {before:?}, then {after:?}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(token: &str, pid: u32, milliseconds: u64) -> Step {
        Step { token: token.into(), pid, at: Duration::from_millis(milliseconds) }
    }

    fn checked(steps: &[Step]) -> Result<(), String> {
        check(&spans(steps)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_line_is_read_and_half_a_line_at_the_end_is_left_out() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "work 1-2 77 5.25\nwork 1-2 7").unwrap();
        assert_eq!(read(file.path()).unwrap(), [step("1-2", 77, 5250)]);
    }

    #[test]
    fn a_line_of_another_form_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for line in ["work 1 2", "idle 1 2 3", "work 1 x 3", "work 1 2 -3", "work 1 2 3 4"] {
            fs::write(file.path(), format!("{line}\n")).unwrap();
            assert!(read(file.path()).is_err(), "{line}");
        }
    }

    #[test]
    fn terms_that_follow_each_other_pass_also_in_one_process() {
        let steps = [step("1", 7, 10), step("1", 7, 20), step("2", 8, 21), step("3", 8, 30)];
        assert_eq!(checked(&steps), Ok(()));
    }

    #[test]
    fn a_line_of_an_earlier_term_after_the_first_of_a_later_one_is_found() {
        let steps = [step("1", 7, 10), step("2", 8, 20), step("1", 7, 25), step("2", 8, 40)];
        assert!(checked(&steps).unwrap_err().starts_with("two were at work at once, for 5ms"));
    }

    #[test]
    fn two_at_work_at_the_same_instant_are_found() {
        let steps = [step("1", 7, 10), step("2", 8, 10)];
        assert!(checked(&steps).unwrap_err().starts_with("two were at work at once, for 0ns"));
    }

    #[test]
    fn one_token_in_two_processes_is_found() {
        let steps = [step("1", 7, 10), step("1", 8, 20)];
        assert!(checked(&steps).unwrap_err().starts_with("the token did not grow"));
    }
}
