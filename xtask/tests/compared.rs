//! The figures of docs/start/compared.md are those of docs/performance.md.

#![allow(clippy::expect_used, reason = "a test fails")]

use std::fs;
use std::path::Path;

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    fs::read_to_string(path).expect("a page")
}

/// The cells of the row with that name below a heading.
fn row(page: &str, heading: &str, name: &str) -> Vec<String> {
    let (_, section) = page.split_once(&format!("{heading}\n")).expect(heading);
    let (section, _) = section.split_once("\n#").unwrap_or((section, ""));
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let mut cells = rows.map(|line| line.split(" | ").map(|cell| cell.trim().to_owned()).collect::<Vec<_>>());
    cells.find(|cells| cells.first().is_some_and(|first| first == name)).expect(name)
}

#[test]
fn the_figures_of_the_comparison_are_those_that_were_measured() {
    let (compared, measured) = (page("start/compared.md"), page("performance.md"));
    // Each row's name in docs/start/compared.md, and its names in the tables of hand-overs, of crashes, and of pauses
    // and cuts.
    let rows = [
        (
            "incumbent on NATS, with markers",
            "incumbent on NATS",
            "incumbent on NATS, markers, T = 2 s",
            "incumbent on NATS, markers, T = 2 s",
        ),
        (
            "incumbent on etcd",
            "incumbent on etcd",
            "incumbent on etcd, T = 6 s",
            "incumbent on etcd, T = 6 s",
        ),
        (
            "incumbent on SQLite",
            "incumbent on SQLite",
            "incumbent on SQLite, T = 2 s",
            "incumbent on SQLite, T = 2 s",
        ),
        ("etcd's Go client", "etcd's Go client", "etcd's Go client, T = 6 s", "etcd's Go client, T = 6 s"),
        ("redsync", "redsync", "redsync, T = 2 s", "redsync, T = 2 s"),
        (
            "PostgreSQL advisory lock",
            "PostgreSQL advisory lock",
            "PostgreSQL advisory lock, no lease",
            "PostgreSQL advisory lock, no lease",
        ),
        (
            "Curator's LeaderLatch",
            "Curator's LeaderLatch",
            "Curator's LeaderLatch, T = 4 s",
            "Curator's LeaderLatch, T = 4 s",
        ),
    ];
    for (name, hand_over, crash, fault) in rows {
        let cut = if name == "incumbent on SQLite" {
            // A file has no network.
            "n/a".to_owned()
        } else {
            row(&measured, "### When the leader is cut off for two leases", fault)[6].clone()
        };
        let expected = [
            name.to_owned(),
            row(&measured, "### Hand-over", hand_over)[1].clone(),
            row(&measured, "### After a crash, with one lease", crash)[5].clone(),
            row(&measured, "### When the leader is stopped for two leases", fault)[6].clone(),
            cut,
        ];
        assert_eq!(row(&compared, "## Measured", name), expected);
    }
}
