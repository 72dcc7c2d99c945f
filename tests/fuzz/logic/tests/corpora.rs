//! The committed corpora, and mutations of them: bounded, and the same every time.

use incumbent_fuzz::{campaign, contexts, corpus, records, urls};

#[test]
fn a_campaign_that_is_told_nonsense_keeps_what_must_hold() {
    corpus::explore("campaign", campaign::run, 3_000);
}

#[test]
fn no_url_shows_a_secret_or_panics() {
    corpus::explore("urls", urls::run, 30_000);
}

#[test]
fn no_context_shows_a_secret_or_panics() {
    corpus::explore("contexts", contexts::run, 30_000);
}

#[test]
fn records_read_back_and_whatever_is_found_or_answered_is_read() {
    corpus::explore("records", records::run, 30_000);
}

#[test]
fn the_corpora_stay_small() {
    let sizes = ["campaign", "urls", "contexts", "records"]
        .map(|target| corpus::of(target).iter().map(|(_, input)| input.len()).collect::<Vec<_>>())
        .concat();
    let (files, bytes) = (sizes.len(), sizes.iter().sum::<usize>());
    assert!(
        files <= 300 && bytes <= 300_000,
        "{files} files, {bytes} bytes; `cargo fuzz cmin` makes them fewer"
    );
}
