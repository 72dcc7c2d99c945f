//! The results of tests in the JUnit files that most runners write.

use std::time::Duration;

use anyhow::{Context, Result};

/// A test in a JUnit file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) name: String,
    /// The message, if it failed.
    pub(super) failure: Option<String>,
    pub(super) took: Duration,
    /// The reason why the test, although it passed, tested nothing.
    pub(super) idle: Option<String>,
}

/// The end of the line in which a test reports that this machine lacks what the test needs.
const NOTHING: &str = ": nothing to test";

/// Reads the tests of a JUnit file that ran. Skipped tests did not run.
pub(super) fn cases(junit: &str) -> Result<Vec<Case>> {
    let document = roxmltree::Document::parse(junit).context("the JUnit file is not XML")?;
    let cases = document.descendants().filter(|node| node.has_tag_name("testcase"));
    let ran = cases.filter(|case| !case.children().any(|node| node.has_tag_name("skipped")));
    let outcome = |case: roxmltree::Node<'_, '_>| {
        let name = |attribute| case.attribute(attribute).unwrap_or_default();
        let took = Duration::try_from_secs_f64(name("time").parse().unwrap_or(0.0)).unwrap_or_default();
        let name = format!("{} {}", name("classname"), name("name"));
        Case { name, failure: failure(case), took, idle: idle(case) }
    };
    Ok(ran.map(outcome).collect())
}

/// Finds the reason why a test tested nothing in the test's output.
fn idle(case: roxmltree::Node<'_, '_>) -> Option<String> {
    let printed =
        case.children().filter(|node| matches!(node.tag_name().name(), "system-out" | "system-err"));
    let reason = |text: &str| text.lines().find_map(|line| line.strip_suffix(NOTHING)).map(str::to_owned);
    printed.filter_map(|node| node.text()).find_map(reason)
}

/// The message of a failed test in a JUnit file; `None` if the test passed.
fn failure(case: roxmltree::Node<'_, '_>) -> Option<String> {
    let node = case.children().find(|node| node.has_tag_name("failure") || node.has_tag_name("error"))?;
    let text = node.text().map(str::trim).filter(|text| !text.is_empty());
    let printed = || {
        let output = case.children().find(|node| node.has_tag_name("system-out"))?.text()?;
        // A test that does not use Rust's own harness has its message below its name.
        output.split_once(" ----\n").map(|(_, message)| message)
    };
    Some(text.or_else(|| node.attribute("message")).or_else(printed).unwrap_or("no message").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_tests_did_not_run_and_errors_count_as_failed() {
        let junit = r#"<testsuites><testsuite name="pytest" tests="4">
            <testcase classname="tests.a" name="one" time="1.500"/>
            <testcase classname="tests.a" name="two"><failure message="no"/></testcase>
            <testcase classname="tests.b" name="three"><error message="no">
                never
            </error></testcase>
            <testcase classname="tests.b" name="four"><skipped message="not here"/></testcase>
        </testsuite></testsuites>"#;
        let cases = cases(junit).unwrap();
        let expected = [
            ("tests.a one", None, 1500),
            ("tests.a two", Some("no"), 0),
            ("tests.b three", Some("never"), 0),
        ];
        let expected = expected.map(|(name, failure, took)| {
            let took = Duration::from_millis(took);
            Case { name: name.to_owned(), failure: failure.map(str::to_owned), took, idle: None }
        });
        assert_eq!(cases, expected);
    }

    #[test]
    fn a_test_that_found_nothing_to_test_has_the_reason() {
        let junit = "<testsuite><testcase classname=\"cli\" name=\"a\"><system-out>running 1 test\n</system-out>\
            <system-err>no container can be had here: nothing to test\n</system-err></testcase></testsuite>";
        let idle = cases(junit).unwrap().remove(0).idle;
        assert_eq!(idle.as_deref(), Some("no container can be had here"));
    }

    #[test]
    fn a_failure_without_a_text_has_what_its_test_printed_below_its_name() {
        let case = "<testcase><failure/><system-out>running 1 test\n\n---- etcd::a ----\na failed at step 7\n</system-out>\
            </testcase>";
        let document = roxmltree::Document::parse(case).unwrap();
        assert_eq!(failure(document.root_element()).as_deref(), Some("a failed at step 7\n"));
    }
}
