//! What several oracles need to know of a campaign.

use incumbent_core::Instant;
use incumbent_core::campaign::{Campaign, Event, Output, Term};

/// A term that was won or lost, where an output tells one.
pub(super) enum Told {
    Won(Term),
    Lost(Term),
}

pub(super) fn told(output: &Output) -> Option<Told> {
    match output {
        Output::Event(Event::Won(term)) => Some(Told::Won(*term)),
        Output::Event(Event::Lost { term, .. }) => Some(Told::Lost(*term)),
        _ => None,
    }
}

/// `sent + T − M`, by the campaign's own numbers.
pub(super) fn lease_end(campaign: &Campaign, sent: Instant) -> Instant {
    (sent + campaign.lease_time()).before(campaign.margin())
}
