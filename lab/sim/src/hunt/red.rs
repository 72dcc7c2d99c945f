//! A failed run as a file. The tests replay each such file, and require every invariant to hold.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use super::report::{Finding, quoted};
use crate::plan::Choice;
use crate::script::Script;

/// A run that failed, and how it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Red {
    /// The day on which the run was found, as `2026-11-26`.
    pub found: String,
    /// The run.
    pub choice: Choice,
    /// The invariant that did not hold.
    pub invariant: String,
    /// How the invariant was broken, and when in the run.
    pub says: String,
    /// The defect that caused the failure: `rule`, `world` or `oracle`, a colon, and one sentence. Empty until the
    /// defect is fixed.
    pub was: String,
}

impl Red {
    /// The file for the shortest run of a finding, found today.
    pub fn of(finding: &Finding) -> Self {
        let (choice, violation) = finding.shortest();
        let says = violation.to_string();
        // The second line is the invariant's statement.
        let says = says.lines().next().unwrap_or_default();
        Self {
            found: today(),
            choice: choice.clone(),
            invariant: violation.invariant.into(),
            says: says.into(),
            was: String::new(),
        }
    }

    /// The name of its file.
    pub fn file_name(&self) -> String {
        let invariant = self.invariant.to_lowercase().replace(", ", "-").replace(' ', "-");
        format!("{}-{invariant}-{}.toml", self.choice.store.name(), self.choice.seed)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Returns the line that cannot be read, or the missing key.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut values = [const { None }; KEYS.len()];
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let unread = || format!("cannot read the line {line:?}: a key, `=` and a text in double quotes");
            let (key, value) = line.split_once('=').ok_or_else(unread)?;
            let place = KEYS.iter().position(|known| *known == key.trim()).ok_or_else(unread)?;
            values[place] = Some(unquoted(value.trim()).ok_or_else(unread)?);
        }
        let [found, command, invariant, says, was] = values;
        let value = |value: Option<String>, key| value.ok_or_else(|| format!("there is no {key:?}"));
        Ok(Self {
            found: value(found, "found")?,
            choice: Choice::of_command(&value(command, "command")?)?,
            invariant: value(invariant, "invariant")?,
            says: value(says, "says")?,
            was: value(was, "was")?,
        })
    }
}

const KEYS: [&str; 5] = ["found", "command", "invariant", "says", "was"];

impl fmt::Display for Red {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let script = Script::of(&self.choice);
        writeln!(
            f,
            "# Found by `cargo xtask hunt`. The tests replay the run (lab/sim/tests/red.rs), and it must hold."
        )?;
        writeln!(f, "found = {}", quoted(&self.found))?;
        writeln!(f, "command = {}", quoted(&self.choice.command().replacen("incumbent", "cargo", 1)))?;
        writeln!(f, "invariant = {}", quoted(&self.invariant))?;
        writeln!(f, "says = {}", quoted(&self.says))?;
        writeln!(f, "# The defect, once it is fixed: rule, world or oracle, a colon, and a sentence.")?;
        writeln!(f, "was = {}", quoted(&self.was))?;
        writeln!(f, "\n# {}", script.world)?;
        script.faults.iter().try_for_each(|fault| writeln!(f, "# {fault}"))
    }
}

/// The text in quotes.
fn unquoted(quoted: &str) -> Option<String> {
    let mut chars = quoted.strip_prefix('"')?.strip_suffix('"')?.chars();
    let mut text = String::new();
    while let Some(char) = chars.next() {
        text.push(match char {
            '"' => return None,
            '\\' => match chars.next()? {
                'n' => '\n',
                'u' => {
                    let code: String = chars.by_ref().take(4).collect();
                    char::from_u32(u32::from_str_radix(&code, 16).ok()?)?
                }
                same @ ('"' | '\\') => same,
                _ => return None,
            },
            char => char,
        });
    }
    Some(text)
}

/// The present day, by the system's clock.
fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    day((since.as_secs() / 86_400) as i64)
}

/// The date this many days after 1 January 1970, in the Gregorian calendar.
fn day(days: i64) -> String {
    // Years are counted from March, so that a leap day is the last of its year.
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    format!("{:04}-{month:02}-{day:02}", year + era * 400)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;
    use crate::clock::START;
    use crate::oracle::Violation;

    fn red() -> Red {
        let violation = Violation::of_contract(START, "c0: \"a\\b\"".into());
        let choice = Choice { store: Store::Etcd, keep: Some(vec![0]), ..Choice::of_seed(5) };
        Red::of(&Finding { number: 3, choice, violation, shrunk: None })
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut red = red();
        assert_eq!(Red::read(&red.to_string()), Ok(red.clone()));
        red.was = "rule: a \"quoted\" text\nof two lines".into();
        assert_eq!(Red::read(&red.to_string()), Ok(red));
    }

    #[test]
    fn a_file_says_how_to_replay_it_and_which_faults_come() {
        let red = Red { found: "2026-11-26".into(), ..red() };
        assert_eq!(red.file_name(), "etcd-contract-5.toml");
        let text = red.to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines[1..5],
            [
                "found = \"2026-11-26\"",
                "command = \"cargo sim --seed 5 --seeds 1 --candidates 5 --store etcd --keep 0\"",
                "invariant = \"contract\"",
                "says = \"contract at 0.000000 s: c0: \\\"a\\\\b\\\"\"",
            ]
        );
        assert_eq!(lines[6], "was = \"\"");
        assert!(lines[8].starts_with("# 5 candidates, lease ") && lines[9].starts_with("#   0  "), "{text}");
    }

    #[test]
    fn a_file_with_another_line_or_without_a_key_is_refused() {
        let text = red().to_string();
        let more = Red::read(&format!("{text}why = \"x\"\n")).err().unwrap_or_default();
        assert!(more.starts_with("cannot read the line \"why = \\\"x\\\"\""), "{more}");
        let fewer: String =
            text.lines().filter(|line| !line.starts_with("found")).map(|line| format!("{line}\n")).collect();
        assert_eq!(Red::read(&fewer), Err("there is no \"found\"".into()));
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        let days = [0, 59, 11_016, 20_783, 19_782].map(day);
        assert_eq!(days, ["1970-01-01", "1970-03-01", "2000-02-29", "2026-11-26", "2024-02-29"]);
    }
}
