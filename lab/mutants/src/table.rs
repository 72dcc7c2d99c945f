//! The table of mutants, `mutants.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

/// The environment variable that names the active mutant of a process. The variable is read when a switch is first
/// reached.
pub(crate) const SWITCH: &str = "INCUMBENT_MUTANT";

/// The name of the control, in which nothing is broken.
pub(crate) const NONE: &str = "none";

/// A broken rule, and the edits of the sources that break it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Mutant {
    /// The name, as a command line spells it.
    pub(crate) name: String,
    /// The broken rule, in a sentence.
    pub(crate) breaks: String,
    /// The programs that are known to have this error, or the rule that is left out.
    pub(crate) known_from: String,
    /// The edits, at least one.
    #[serde(rename = "edit")]
    pub(crate) edits: Vec<Edit>,
}

/// A text of a source file, and its replacement while the mutant is on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    /// The file, from the root of the workspace.
    pub(crate) file: String,
    /// An expression or whole statements, which the file contains exactly once.
    pub(crate) text: String,
    /// The replacement.
    pub(crate) replacement: String,
}

/// Every mutant, in the order of the table.
#[allow(clippy::expect_used, reason = "the line above says why")]
pub(crate) static ALL: LazyLock<Vec<Mutant>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Table {
        mutant: Vec<Mutant>,
    }
    // The table is part of this program, and a test reads it.
    toml::from_str::<Table>(include_str!("../mutants.toml"))
        .expect("mutants.toml is a table of mutants")
        .mutant
});

/// The mutant of this name; `None` for the control.
pub(crate) fn find(name: &str) -> anyhow::Result<Option<&'static Mutant>> {
    if name == NONE {
        return Ok(None);
    }
    let found = ALL.iter().find(|mutant| mutant.name == name);
    found.map(Some).ok_or_else(|| anyhow::anyhow!("there is no mutant {name:?}; --list prints all of them"))
}

/// The name of a mutant, or of the control.
pub(crate) fn name_of(mutant: Option<&Mutant>) -> &str {
    mutant.map_or(NONE, |mutant| &mutant.name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_mutant_has_a_name_of_its_own_and_an_edit() {
        let names: BTreeSet<&str> = ALL.iter().map(|mutant| mutant.name.as_str()).collect();
        assert_eq!(names.len(), ALL.len());
        assert!(!names.contains(NONE));
        assert!(ALL.iter().all(|mutant| !mutant.edits.is_empty()));
    }

    #[test]
    fn an_edit_changes_its_text() {
        for mutant in ALL.iter() {
            assert!(mutant.edits.iter().all(|edit| edit.text != edit.replacement), "{}", mutant.name);
        }
    }
}
