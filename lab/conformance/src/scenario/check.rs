//! Checks that a schema cannot express: names in a step must exist.

use std::collections::BTreeSet;

use super::{Need, Scenario, Step};

impl Scenario {
    pub(super) fn check(&self) -> Result<(), String> {
        let needed: BTreeSet<Need> = self.steps.iter().filter_map(Step::need).collect();
        if needed != self.needs {
            let names =
                |needs: &BTreeSet<Need>| format!("{:?}", needs.iter().map(|n| n.name()).collect::<Vec<_>>());
            return Err(format!("needs is {}, and the steps need {}", names(&self.needs), names(&needed)));
        }
        for step in &self.steps {
            match step {
                Step::Kill { candidate } if self.shares(candidate) => {
                    return Err(format!("{step}: others of its connection would die with {candidate:?}"));
                }
                Step::FinishWork { candidate } | Step::FailWork { candidate }
                    if self.candidates.get(candidate).is_some_and(|of| !of.works) =>
                {
                    return Err(format!("{step}: {candidate:?} has no work"));
                }
                _ => {}
            }
        }
        let mut known = Known::default();
        known.candidates.extend(self.candidates.keys().map(String::as_str));
        for (at, step) in self.steps.iter().enumerate() {
            known.check(step).map_err(|wrong| format!("step {}, {step}: {wrong}", at + 1))?;
        }
        Ok(())
    }

    fn shares(&self, id: &str) -> bool {
        let connection = self.candidates.get(id).map(|candidate| candidate.connection(id));
        let others = self.candidates.iter().filter(|(other, _)| *other != id);
        others.into_iter().any(|(other, candidate)| Some(candidate.connection(other)) == connection)
    }
}

/// The names that are known before a step.
#[derive(Default)]
struct Known<'a> {
    /// The candidates of the scenario, and the other names that steps have given to winners so far.
    candidates: BTreeSet<&'a str>,
    campaigning: BTreeSet<&'a str>,
    dead: BTreeSet<&'a str>,
    observers: BTreeSet<&'a str>,
    marks: BTreeSet<&'a str>,
}

impl<'a> Known<'a> {
    fn check(&mut self, step: &'a Step) -> Result<(), String> {
        for candidate in step.candidates() {
            if !self.candidates.contains(candidate) {
                return Err(format!("there is no candidate {candidate:?}"));
            }
            let begins = matches!(step, Step::Campaign { .. });
            if self.dead.contains(candidate) {
                return Err(format!("{candidate:?} was killed"));
            }
            if !begins && !self.campaigning.contains(candidate) {
                return Err(format!("{candidate:?} does not campaign yet"));
            }
        }
        if let Some(moment) = step.moments().into_iter().find(|moment| !self.marks.contains(&*moment.mark)) {
            return Err(format!("there is no mark {:?} yet", moment.mark));
        }
        match step {
            Step::Campaign { candidate, .. } => drop(self.campaigning.insert(candidate)),
            Step::Kill { candidate } => drop(self.dead.insert(candidate)),
            Step::Mark { mark } => new(&mut self.marks, mark, "mark")?,
            Step::Observe { observer, .. } => new(&mut self.observers, observer, "observer")?,
            Step::ExpectAnyWon { alias, .. } => {
                new(&mut self.candidates, alias, "candidate")?;
                self.campaigning.insert(alias);
            }
            Step::ExpectObserved { observer, .. } if !self.observers.contains(&**observer) => {
                return Err(format!("there is no observer {observer:?} yet"));
            }
            _ => {}
        }
        Ok(())
    }
}

fn new<'a>(known: &mut BTreeSet<&'a str>, name: &'a str, what: &str) -> Result<(), String> {
    if known.insert(name) { Ok(()) } else { Err(format!("there is a {what} {name:?} already")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(needs: &str, steps: &str) -> Result<Scenario, String> {
        Scenario::parse(&format!(
            r#"{{"$schema": "", "name": "n", "purpose": "", "shows": [], "needs": [{needs}],
                 "lease_ms": 2000, "candidates": {{"a": {{}}, "b": {{}}}}, "steps": [{steps}]}}"#
        ))
    }

    #[test]
    fn names_in_a_step_must_exist() {
        let campaign = r#"{"do": "campaign", "candidate": "a"}"#;
        for (steps, wrong) in [
            (r#"{"do": "campaign", "candidate": "c"}"#.to_string(), r#"there is no candidate "c""#),
            (r#"{"do": "resign", "candidate": "b"}"#.to_string(), r#""b" does not campaign yet"#),
            (
                r#"{"do": "expect_observed", "observer": "o", "leader": null}"#.to_string(),
                r#"no observer "o" yet"#,
            ),
            (
                format!(
                    r#"{campaign}, {{"do": "expect_won", "candidate": "a", "before": {{"mark": "m", "leases": 1}}}}"#
                ),
                r#"step 2, {"do":"expect_won","candidate":"a","before":{"mark":"m","leases":1.0}}: there is no mark "m" yet"#,
            ),
            (
                r#"{"do": "mark", "mark": "m"}, {"do": "mark", "mark": "m"}"#.to_string(),
                r#"a mark "m" already"#,
            ),
        ] {
            let refused = scenario("", &steps).unwrap_err();
            assert!(refused.contains(wrong), "{refused}");
        }
    }

    #[test]
    fn the_dead_do_nothing() {
        let steps = r#"{"do": "campaign", "candidate": "a"}, {"do": "kill", "candidate": "a"},
                       {"do": "resign", "candidate": "a"}"#;
        assert!(scenario(r#""kill""#, steps).unwrap_err().ends_with(r#""a" was killed"#));
    }

    #[test]
    fn no_candidate_dies_with_another() {
        let text = r#"{"$schema": "", "name": "n", "purpose": "", "shows": [], "needs": ["kill"], "lease_ms": 2000,
            "candidates": {"a": {"connection": "b"}, "b": {}}, "steps": [{"do": "kill", "candidate": "a"}]}"#;
        assert!(Scenario::parse(text).unwrap_err().contains("would die with"));
    }

    #[test]
    fn only_who_works_finishes() {
        let refused = scenario("", r#"{"do": "fail_work", "candidate": "a"}"#).unwrap_err();
        assert_eq!(refused, r#"{"do":"fail_work","candidate":"a"}: "a" has no work"#);
    }

    #[test]
    fn the_needs_are_those_of_the_steps() {
        let refused = scenario(r#""network""#, r#"{"do": "delete_key"}"#).unwrap_err();
        assert_eq!(refused, r#"needs is ["network"], and the steps need ["operator"]"#);
    }

    #[test]
    fn unknown_verbs_and_fields_are_refused() {
        assert!(scenario("", r#"{"do": "dance"}"#).unwrap_err().contains("unknown variant `dance`"));
        let refused = scenario("", r#"{"do": "resign", "candidate": "a", "to": "b"}"#).unwrap_err();
        assert!(refused.contains("unknown field `to`"), "{refused}");
        let refused = scenario(r#""reset""#, r#"{"do": "reset_store", "to": "b"}"#).unwrap_err();
        assert!(refused.contains("unknown field `to`"), "{refused}");
    }

    #[test]
    fn a_winner_is_known_by_its_new_name() {
        let steps = r#"{"do": "campaign", "candidate": "a"},
            {"do": "expect_any_won", "candidates": ["a"], "as": "next"}, {"do": "resign", "candidate": "next"}"#;
        assert!(scenario("", steps).is_ok());
    }
}
