//! The committed corpora, and mutations of them: bounded, and the same every time.

use incumbent_fuzz::{campaign, corpus, records, secrets, selectors};

#[test]
fn a_campaign_with_invented_inputs_keeps_every_invariant() {
    corpus::explore("campaign", campaign::run, 3_000);
}

#[test]
fn no_url_shows_a_secret_or_panics() {
    corpus::explore("urls", secrets::url, 30_000);
}

#[test]
fn no_two_texts_that_look_the_same_select_two_elections_in_silence() {
    corpus::explore("selectors", selectors::run, 3_000);
}

#[test]
fn no_context_shows_a_secret_or_panics() {
    corpus::explore("contexts", secrets::context, 30_000);
}

#[test]
fn records_read_back_and_any_message_or_answer_is_read() {
    corpus::explore("records", records::run, 30_000);
}

#[test]
fn the_corpora_stay_small() {
    let sizes = ["campaign", "urls", "selectors", "contexts", "records"]
        .map(|target| corpus::of(target).iter().map(|(_, input)| input.len()).collect::<Vec<_>>())
        .concat();
    let (inputs, bytes) = (sizes.len(), sizes.iter().sum::<usize>());
    assert!(
        inputs <= 300 && bytes <= 300_000,
        "{inputs} inputs, {bytes} bytes; `cargo fuzz cmin` makes them fewer"
    );
}
