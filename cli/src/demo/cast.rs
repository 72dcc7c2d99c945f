//! The candidates' names.

const NAMES: [&str; 26] = [
    "ada", "ben", "cleo", "dara", "emil", "fay", "gus", "hana", "ivo", "june", "karl", "lena", "milo",
    "nora", "otto", "pia", "quinn", "rosa", "sven", "tess", "umar", "vera", "walt", "xenia", "yuri", "zoe",
];

/// Returns this many names, all different.
pub(super) fn names(count: usize) -> Vec<String> {
    let name = |index: usize| match (NAMES[index % NAMES.len()], index / NAMES.len()) {
        (name, 0) => name.to_owned(),
        (name, round) => format!("{name}-{}", round + 1),
    };
    (0..count).map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_candidates_share_a_name() {
        let names = names(60);
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), 60);
        assert_eq!((names[0].as_str(), names[26].as_str()), ("ada", "ada-2"));
    }
}
