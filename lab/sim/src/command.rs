//! The command that repeats a run, and its parsing.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use crate::kind::Store;
use crate::plan::Choice;

impl Choice {
    /// The `cargo sim` command that repeats this run.
    pub fn command(&self) -> String {
        let Self { seed, store, candidates, faults, peers, plain, keep, lasts } = self;
        let mut command = format!("cargo sim --seed {seed} --seeds 1 --candidates {candidates}");
        if *store != Store::Nats {
            command += &format!(" --store {}", store.name());
        }
        if let Some(faults) = faults {
            command += &format!(" --faults {}", list(faults));
        }
        if *peers > 0 {
            command += &format!(" --go-peers {peers}");
        }
        if *plain {
            command += " --plain";
        }
        if let Some(keep) = keep {
            command += &format!(" --keep {}", list(keep));
        }
        if let Some(lasts) = lasts {
            // A command takes whole seconds.
            command += &format!(" --lasts {}", lasts.as_millis().div_ceil(1_000));
        }
        command
    }

    /// The run that a [command](Self::command) repeats.
    ///
    /// # Errors
    /// Returns the word that is not part of such a command.
    pub fn of_command(command: &str) -> Result<Self, String> {
        let mut words = command.split_whitespace().skip_while(|word| *word != "sim").skip(1);
        let mut choice = Self::of_seed(0);
        while let Some(option) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{option} has no value"));
            match option {
                "--seed" => choice.seed = number(value()?)?,
                "--seeds" => match value()? {
                    "1" => {}
                    more => return Err(format!("--seeds {more} asks for more than one run")),
                },
                "--candidates" => choice.candidates = number(value()?)?,
                "--store" => choice.store = value()?.parse()?,
                "--faults" => choice.faults = Some(listed(value()?)?),
                "--go-peers" => choice.peers = number(value()?)?,
                "--plain" => choice.plain = true,
                "--keep" => choice.keep = Some(listed(value()?)?),
                "--lasts" => choice.lasts = Some(Duration::from_secs(number(value()?)?)),
                unknown => return Err(format!("{unknown:?} is not an option of a run")),
            }
        }
        Ok(choice)
    }
}

fn list<T: Display>(items: &[T]) -> String {
    let words: Vec<_> = items.iter().map(T::to_string).collect();
    if words.is_empty() { "none".into() } else { words.join(",") }
}

fn listed<T: FromStr<Err: Display>>(text: &str) -> Result<Vec<T>, String> {
    match text {
        "none" => Ok(Vec::new()),
        _ => text.split(',').map(|word| word.parse().map_err(|error: T::Err| error.to_string())).collect(),
    }
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number in range"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;

    #[test]
    fn every_choice_is_read_from_its_command() {
        let choices = [
            Choice::of_seed(5),
            Choice { candidates: 9, plain: true, keep: Some(Vec::new()), ..Choice::of_seed(u64::MAX) },
            Choice {
                store: Store::Kafka,
                faults: Some(vec![Kind::Loss, Kind::FailOver]),
                peers: 2,
                keep: Some(vec![3, 17]),
                lasts: Some(Duration::from_secs(95)),
                ..Choice::of_seed(1)
            },
            Choice { store: Store::Etcd, faults: Some(Vec::new()), ..Choice::of_seed(2) },
        ];
        for choice in choices {
            assert_eq!(Choice::of_command(&choice.command()), Ok(choice.clone()), "{}", choice.command());
        }
    }

    #[test]
    fn a_command_is_one_line_with_what_differs_from_the_defaults() {
        assert_eq!(Choice::of_seed(5).command(), "cargo sim --seed 5 --seeds 1 --candidates 5");
        let choice = Choice {
            store: Store::Etcd,
            faults: Some(vec![Kind::Loss, Kind::Delay]),
            lasts: Some(Duration::from_secs(95)),
            ..Choice::of_seed(5)
        };
        assert_eq!(
            choice.command(),
            "cargo sim --seed 5 --seeds 1 --candidates 5 --store etcd --faults loss,delay --lasts 95"
        );
    }

    #[test]
    fn a_command_with_another_option_or_of_many_runs_is_refused() {
        let refused = |command| Choice::of_command(command).err().unwrap_or_default();
        assert_eq!(refused("cargo sim --seed 5 --jobs 2"), "\"--jobs\" is not an option of a run");
        assert_eq!(refused("cargo sim --seeds 20"), "--seeds 20 asks for more than one run");
        assert_eq!(refused("cargo sim --seed"), "--seed has no value");
        assert_eq!(refused("cargo sim --seed -1"), "\"-1\" is not a number in range");
    }
}
