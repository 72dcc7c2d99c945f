//! Turns the texts that mutants replace into switches: `if` the mutant is on, the replacement, `else` the original
//! text.

use std::fmt::Write;
use std::ops::Range;

use anyhow::{Result, bail};

/// An edit of one source file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice<'a> {
    /// The mutant's number: its index in the table.
    pub(crate) number: usize,
    pub(crate) mutant: &'a str,
    pub(crate) text: &'a str,
    pub(crate) replacement: &'a str,
}

/// A text that at least one mutant replaces.
struct Place<'a> {
    range: Range<usize>,
    choices: Vec<Choice<'a>>,
}

/// Returns the source of `file` with a switch for every choice. `is` is the path of the function that returns true if a
/// mutant is on.
///
/// # Errors
/// If a text is not in the source exactly once, or if two texts overlap and neither contains the other.
pub(crate) fn install(source: &str, file: &str, choices: &[Choice<'_>], is: &str) -> Result<String> {
    let mut places: Vec<Place<'_>> = Vec::new();
    for choice in choices {
        let found: Vec<usize> = source.match_indices(choice.text).map(|(at, _)| at).collect();
        let [start] = found[..] else {
            bail!(
                "mutant {:?}: its text occurs {} times in {file}, and must occur exactly once: {:?}; \
                 write the present text into lab/mutants/mutants.toml",
                choice.mutant,
                found.len(),
                choice.text
            );
        };
        let range = start..start + choice.text.len();
        match places.iter_mut().find(|place| place.range == range) {
            Some(place) => place.choices.push(*choice),
            None => places.push(Place { range, choices: vec![*choice] }),
        }
    }
    // An outer text comes before those within it.
    places.sort_by_key(|place| (place.range.start, usize::MAX - place.range.end));
    for (outer, inner) in places.iter().zip(places.iter().skip(1)) {
        let apart = inner.range.start >= outer.range.end;
        if !apart && inner.range.end > outer.range.end {
            let of = |place: &Place<'_>| place.choices.first().map_or("", |choice| choice.mutant).to_owned();
            bail!("mutants {:?} and {:?}: their texts overlap in {file}", of(outer), of(inner));
        }
    }
    Ok(render(source, 0..source.len(), &places, is))
}

/// Returns the part of the source in `range`, with its switches. `places` are the places inside that range, outer ones
/// first.
fn render(source: &str, range: Range<usize>, places: &[Place<'_>], is: &str) -> String {
    let (mut text, mut at, mut rest) = (String::new(), range.start, places);
    while let Some((place, others)) = rest.split_first() {
        let within = others.iter().take_while(|other| other.range.start < place.range.end).count();
        let (inner, after) = others.split_at(within);
        text += &source[at..place.range.start];
        text += &switch(place, &render(source, place.range.clone(), inner, is), is);
        (at, rest) = (place.range.end, after);
    }
    text + &source[at..range.end]
}

fn switch(place: &Place<'_>, sound: &str, is: &str) -> String {
    let mut text = String::new();
    for Choice { number, mutant, replacement, .. } in &place.choices {
        // Writing into a string never fails.
        let _ = write!(text, "if {is}({number} /* {mutant} */) {{ {replacement} }} else ");
    }
    text += &format!("{{ {sound} }}");
    let original = place.choices.first().map_or("", |choice| choice.text);
    // Statements stay as they are. An expression may be an operand, so it gets parentheses.
    if original.ends_with([';', '}']) { text } else { format!("({text})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice<'a>(number: usize, text: &'a str, replacement: &'a str) -> Choice<'a> {
        Choice { number, mutant: "m", text, replacement }
    }

    fn switched(source: &str, choices: &[Choice<'_>]) -> String {
        install(source, "f.rs", choices, "is").unwrap()
    }

    #[test]
    fn an_expression_becomes_a_choice_of_two() {
        assert_eq!(
            switched("let a = b + c;", &[choice(7, "b + c", "b")]),
            "let a = (if is(7 /* m */) { b } else { b + c });"
        );
    }

    #[test]
    fn a_statement_may_be_left_out() {
        assert_eq!(
            switched("a(); b();", &[choice(0, "a();", "")]),
            "if is(0 /* m */) {  } else { a(); } b();"
        );
    }

    #[test]
    fn several_mutants_may_replace_one_text() {
        assert_eq!(
            switched("x", &[choice(0, "x", "y"), choice(1, "x", "z")]),
            "(if is(0 /* m */) { y } else if is(1 /* m */) { z } else { x })"
        );
    }

    #[test]
    fn a_text_within_a_text_is_switched_too() {
        assert_eq!(
            switched("f(a, b)", &[choice(1, "b", "c"), choice(0, "f(a, b)", "g()")]),
            "(if is(0 /* m */) { g() } else { f(a, (if is(1 /* m */) { c } else { b })) })"
        );
    }

    #[test]
    fn a_text_that_is_not_there_exactly_once_names_the_mutant_and_the_file() {
        for source in ["", "a a"] {
            let error = install(source, "f.rs", &[choice(0, "a", "b")], "is").unwrap_err().to_string();
            assert!(error.contains("\"m\"") && error.contains("f.rs"), "{error}");
        }
    }

    #[test]
    fn texts_that_overlap_in_part_are_refused() {
        let error = install("abc", "f.rs", &[choice(0, "ab", ""), choice(1, "bc", "")], "is").unwrap_err();
        assert!(error.to_string().contains("overlap"), "{error}");
    }
}
