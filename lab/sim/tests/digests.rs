//! The same seed gives the same run on every machine and in every build, because the digests of traces are recorded.
//!
//! If the rules, the model or the drawing were changed on purpose, the test prints the new file. Otherwise a difference
//! is a bug.

use incumbent_sim::{Choice, Kind, Store, run_traced};

/// Computes the FNV-1a digest of a text. The function is written out here so that no update of a library changes it.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Returns the line of a run: its seed, the number of candidates, whether they have the default settings, and the
/// length and digest of the trace.
fn line(choice: &Choice) -> String {
    let trace = run_traced(choice, true, false).trace;
    let settings = if choice.plain { "plain" } else { "drawn" };
    format!(
        "{:>3} {:>3} {settings} {:>9} {:016x}\n",
        choice.seed,
        choice.candidates,
        trace.len(),
        digest(&trace)
    )
}

#[test]
fn the_digest_is_fnv_1a() {
    assert_eq!(digest(""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(digest("foobar"), 0x8594_4171_f739_67e8);
}

#[test]
fn the_traces_of_some_seeds_are_those_written_down() {
    let plain = (0..24).map(|seed| Choice { plain: true, ..Choice::of_seed(seed) });
    let drawn = (0..24).map(Choice::of_seed);
    let many = [60, 300].map(|candidates| Choice {
        candidates,
        faults: Some(vec![Kind::Crash, Kind::Loss]),
        ..Choice::of_seed(1)
    });
    let came: String = plain.chain(drawn).chain(many).map(|choice| line(&choice)).collect();
    let written = include_str!("digests.txt");
    assert!(came == written, "lab/sim/tests/digests.txt would be:\n{came}");
}

/// Returns the lines of some seeds on one store.
fn lines_on(store: Store) -> String {
    let plain = (0..12).map(|seed| Choice { plain: true, ..Choice::of_seed(seed) });
    let drawn = (0..24).map(Choice::of_seed);
    let foreign = (0..6).map(|seed| Choice { peers: 2, ..Choice::of_seed(seed) });
    plain.chain(drawn).chain(foreign).map(|choice| line(&Choice { store, ..choice })).collect()
}

#[test]
fn the_traces_of_some_seeds_on_an_etcd_are_those_written_down() {
    let came = lines_on(Store::Etcd);
    assert!(came == include_str!("digests-etcd.txt"), "lab/sim/tests/digests-etcd.txt would be:\n{came}");
}

#[test]
fn the_traces_of_some_seeds_on_kafka_are_those_written_down() {
    let came = lines_on(Store::Kafka);
    assert!(came == include_str!("digests-kafka.txt"), "lab/sim/tests/digests-kafka.txt would be:\n{came}");
}
