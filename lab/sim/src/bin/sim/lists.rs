//! Lists on the command line: kinds of faults, places in a script.

use std::str::FromStr;

use incumbent_sim::{Kind, Store};

/// The value of `--faults`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Faults {
    /// List the kinds.
    Help,
    /// All of them.
    All,
    /// Only these.
    Named(Vec<Kind>),
}

impl Faults {
    /// The kinds that the list names; `None` for all kinds.
    pub(super) fn kinds(self) -> Option<Vec<Kind>> {
        match self {
            Self::Help | Self::All => None,
            Self::Named(kinds) => Some(kinds),
        }
    }
}

impl FromStr for Faults {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "help" => Ok(Self::Help),
            "all" => Ok(Self::All),
            "none" => Ok(Self::Named(Vec::new())),
            _ => {
                let kinds = text.split(',').map(|name| name.trim().parse().map_err(|_| unknown(name)));
                kinds.collect::<Result<_, _>>().map(Self::Named)
            }
        }
    }
}

fn unknown(name: &str) -> String {
    let names: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    format!("there is no fault {name:?}; the faults are: {}", names.join(", "))
}

/// The value of `--store`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Simulated(pub(super) Store);

impl FromStr for Simulated {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// The value of `--keep`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Keep(pub(super) Vec<usize>);

impl FromStr for Keep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "none" {
            return Ok(Self(Vec::new()));
        }
        let place = |word: &str| {
            let number = word.trim().parse::<usize>();
            number.map_err(|_| format!("{word:?} is not a place: give numbers, or `none`"))
        };
        text.split(',').map(place).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_named_or_all_or_none() {
        assert_eq!("help".parse(), Ok(Faults::Help));
        assert_eq!("all".parse::<Faults>().map(Faults::kinds), Ok(None));
        assert_eq!("none".parse(), Ok(Faults::Named(Vec::new())));
        assert_eq!("loss, fail-over".parse(), Ok(Faults::Named(vec![Kind::Loss, Kind::FailOver])));
    }

    #[test]
    fn a_fault_that_is_not_there_is_refused_with_those_there_are() {
        let refused = "loss,rain".parse::<Faults>().err().unwrap_or_default();
        assert!(
            refused.starts_with("there is no fault \"rain\"; the faults are: loss, delay, "),
            "{refused}"
        );
    }

    #[test]
    fn a_store_is_one_of_those_that_are_simulated() {
        assert_eq!("etcd".parse(), Ok(Simulated(Store::Etcd)));
        assert_eq!("kafka".parse(), Ok(Simulated(Store::Kafka)));
        let refused = "sqlite".parse::<Simulated>().err().unwrap_or_default();
        assert_eq!(refused, "\"sqlite\" is not simulated: the stores are nats, etcd and kafka");
    }

    #[test]
    fn places_are_numbers_or_none() {
        assert_eq!("none".parse(), Ok(Keep(Vec::new())));
        assert_eq!("3,17".parse(), Ok(Keep(vec![3, 17])));
        assert_eq!("3,x".parse::<Keep>(), Err("\"x\" is not a place: give numbers, or `none`".into()));
    }
}
