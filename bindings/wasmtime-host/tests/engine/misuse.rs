//! Odd input is an error value or has a harmless meaning; it never traps.

use oorandom::Rand64;

use crate::settings::defaults;
use crate::support::{Instance, compiled, message};
use crate::wit::candidates::{Answered, Input, Inspection, Misuse, Output, Wrote};
use crate::wit::events::Event;
use crate::wit::records::{Kind, Message};
use crate::wit::settings::{BackOff, CampaignSettings, Preset, WinDelay};
use crate::wit::stores::{Applied, Capabilities, Outcome, StoreInfo};
use crate::wit::types::{Fault, Nonce};

const NONCE: Nonce = Nonce { high: 0, low: 7 };

fn capabilities() -> Capabilities {
    Capabilities {
        own_lease: true,
        lease_step: 1_000_000,
        shortest: 100_000_000,
        longest: 3_600_000_000_000,
        granularity: 0,
        expiry_pushed: true,
        incarnation_acked: true,
        fail_over: 0,
    }
}

fn store_info() -> StoreInfo {
    StoreInfo { incarnation: 7, age: None, never_used: true, max_age: None, newest: None }
}

#[test]
fn an_answer_to_nothing_that_was_asked_is_an_error_value() {
    let mut instance = Instance::new(&compiled());
    let candidate = instance.create(&defaults("a"), capabilities(), store_info(), 0, NONCE, 1, 0).unwrap();
    let wrote = Input::Wrote(Wrote { attempt: 9, outcome: Outcome::Busy });
    assert!(matches!(instance.handle(candidate, 1, &wrote), Err(Misuse::UnknownAttempt(9))));
    let answered = Input::Answered(Answered { read: 9, answer: Ok(None) });
    assert!(matches!(instance.handle(candidate, 1, &answered), Err(Misuse::UnknownRead(9))));
    let nameless = Input::HandOver(String::new());
    assert!(matches!(instance.handle(candidate, 1, &nameless), Err(Misuse::NotAName)));
    assert!(matches!(instance.poll(candidate), Output::WakeAt(None)), "nothing came of it");
}

#[test]
fn a_setting_that_cannot_be_is_refused_with_the_remedy() {
    let mut instance = Instance::new(&compiled());
    let settings = CampaignSettings { lease: Some(1), ..defaults("a") };
    let refused = instance.create(&settings, capabilities(), store_info(), 0, NONCE, 1, 0).unwrap_err();
    assert_eq!(
        (refused.setting.as_str(), refused.value.as_str(), refused.limit.as_str()),
        ("lease", "1ns", "at least 5s")
    );
    assert_eq!(refused.remedy, "use a lease (or a bucket TTL) of 5s or more");
}

/// Returns numbers at and around every edge, and some in between.
fn odd(rng: &mut Rand64) -> u64 {
    const EDGES: [u64; 12] = [
        0,
        1,
        2,
        999_999_999,
        1_000_000_000,
        15_000_000_000,
        1 << 53,
        i64::MAX as u64,
        i64::MAX as u64 + 1,
        u64::MAX - 15_000_000_000,
        u64::MAX - 1,
        u64::MAX,
    ];
    match rng.rand_range(0..3) {
        0 => EDGES[rng.rand_range(0..EDGES.len() as u64) as usize],
        1 => rng.rand_range(0..60_000_000_000),
        _ => rng.rand_u64(),
    }
}

fn maybe(rng: &mut Rand64) -> Option<u64> {
    (rng.rand_range(0..2) == 0).then(|| odd(rng))
}

fn yes(rng: &mut Rand64) -> bool {
    rng.rand_range(0..2) == 0
}

fn text(rng: &mut Rand64) -> String {
    const TEXTS: [&str; 8] = [
        "",
        "a",
        " a",
        "a\n",
        "\u{0}",
        "ü\u{202e}",
        "00000000000000000000000000000007.1",
        "18446744073709551615 18446744073709551615",
    ];
    TEXTS[rng.rand_range(0..8) as usize].repeat(1 + rng.rand_range(0..40) as usize / 39 * 300)
}

fn headers(rng: &mut Rand64) -> Vec<(String, String)> {
    const NAMES: [&str; 6] = [
        "Incumbent-Nonce",
        "incumbent-lease",
        "Incumbent-Release",
        "Incumbent-Successor",
        "Incumbent-Meta-",
        "x",
    ];
    let own = |rng: &mut Rand64| match rng.rand_range(0..4) {
        0 => odd(rng).to_string(),
        1 => format!("{} {}", odd(rng), odd(rng)),
        2 => format!("{:032x}.{}", 7, rng.rand_range(0..4)),
        _ => text(rng),
    };
    (0..rng.rand_range(0..4)).map(|_| (NAMES[rng.rand_range(0..6) as usize].into(), own(rng))).collect()
}

fn odd_message(rng: &mut Rand64) -> Option<Message> {
    let kind = [Kind::Live, Kind::Tombstone, Kind::Expired][rng.rand_range(0..3) as usize];
    let revision = if yes(rng) { rng.rand_range(0..20) } else { odd(rng) };
    yes(rng).then(|| Message { headers: headers(rng), ..message(revision, kind, b"\xff\x00b") })
}

fn fault(rng: &mut Rand64) -> Fault {
    let detail = text(rng);
    match rng.rand_range(0..4) {
        0 => Fault::Unreachable(detail),
        1 => Fault::Denied(detail),
        2 => Fault::Broken(detail),
        _ => Fault::Other(detail),
    }
}

fn odd_info(rng: &mut Rand64) -> StoreInfo {
    StoreInfo {
        incarnation: if yes(rng) { 7 } else { odd(rng) },
        age: maybe(rng),
        never_used: yes(rng),
        max_age: maybe(rng),
        newest: maybe(rng),
    }
}

fn outcome(rng: &mut Rand64) -> Outcome {
    match rng.rand_range(0..6) {
        0 | 1 => Outcome::Applied(Applied {
            revision: if yes(rng) { rng.rand_range(0..20) } else { odd(rng) },
            incarnation: if yes(rng) { Some(7) } else { maybe(rng) },
        }),
        2 => Outcome::Refused([Some(odd(rng)), None][rng.rand_range(0..2) as usize]),
        3 => [Outcome::Busy, Outcome::NotSent][rng.rand_range(0..2) as usize].clone(),
        4 => Outcome::Unknown,
        _ => Outcome::Failed(fault(rng)),
    }
}

fn odd_settings(rng: &mut Rand64) -> CampaignSettings {
    let mut settings = defaults(&text(rng));
    settings.preset = [Preset::Standard, Preset::Fast, Preset::GoCompatible][rng.rand_range(0..3) as usize];
    settings.lease = maybe(rng);
    settings.skew = maybe(rng);
    settings.drift_ppm = maybe(rng).map(|odd| odd as u32);
    settings.slack = maybe(rng);
    settings.win_delay = match rng.rand_range(0..3) {
        0 => WinDelay::Automatic,
        1 => WinDelay::Cautious,
        _ => WinDelay::Fixed(odd(rng)),
    };
    settings.splay = maybe(rng);
    settings.drain = maybe(rng);
    settings.interval = maybe(rng);
    settings.back_off = if yes(rng) { BackOff::Standard } else { BackOff::Fixed(odd(rng)) };
    settings.metadata = headers(rng);
    settings
}

fn odd_capabilities(rng: &mut Rand64) -> Capabilities {
    Capabilities {
        own_lease: yes(rng),
        lease_step: odd(rng),
        shortest: odd(rng),
        longest: odd(rng),
        granularity: odd(rng),
        expiry_pushed: yes(rng),
        incarnation_acked: yes(rng),
        fail_over: odd(rng),
    }
}

fn odd_input(rng: &mut Rand64, attempt: u64, read: u64) -> Input {
    let near = |rng: &mut Rand64, number: u64| number.saturating_sub(rng.rand_range(0..2));
    match rng.rand_range(0..18) {
        0 => Input::Resign,
        1 => Input::HandOver(text(rng)),
        2 if rng.rand_range(0..40) == 0 => Input::Close,
        3 => Input::Health(rng.rand_range(0..8) > 0),
        4 => Input::Drained,
        5 => Input::HandlerFailed,
        6 => Input::Accept,
        7..=10 => Input::Wrote(Wrote { attempt: near(rng, attempt), outcome: outcome(rng) }),
        11 | 12 => {
            let answer = if yes(rng) { Ok(odd_message(rng)) } else { Err(fault(rng)) };
            Input::Answered(Answered { read: near(rng, read), answer })
        }
        13 => {
            let answer = if yes(rng) { Ok(odd_info(rng)) } else { Err(fault(rng)) };
            Input::Inspected(Inspection { asked_at: odd(rng), answer })
        }
        14 => Input::Watched(odd_message(rng)),
        15 => Input::Watching(odd(rng)),
        16 => Input::Reconnected,
        _ => Input::Tick,
    }
}

#[test]
fn settings_and_stores_of_any_numbers_are_accepted_or_refused() {
    let engine = compiled();
    let mut rng = Rand64::new(1);
    let mut instance = Instance::new(&engine);
    let mut accepted = 0;
    for _ in 0..3_000 {
        let (settings, can) = (odd_settings(&mut rng), odd_capabilities(&mut rng));
        let (info, now) = (odd_info(&mut rng), odd(&mut rng));
        let created = instance.create(&settings, can, info, odd(&mut rng), NONCE, odd(&mut rng), now);
        let Ok(candidate) = created else { continue };
        accepted += 1;
        instance.handle(candidate, now, &Input::Campaign).unwrap();
        for _ in 0..50 {
            let _ = instance.poll(candidate);
        }
        candidate.resource_drop(&mut instance.store).unwrap();
    }
    assert!(accepted > 0, "some are accepted");
}

#[test]
fn answers_of_any_numbers_at_any_time_never_trap_and_never_make_two_terms_at_once() {
    let engine = compiled();
    let mut leaderships = 0;
    for seed in 0..60 {
        let mut rng = Rand64::new(seed);
        let mut instance = Instance::new(&engine);
        let mut settings = defaults("a");
        settings.splay = Some(0);
        let candidate = instance.create(&settings, capabilities(), store_info(), 0, NONCE, 1, 0).unwrap();
        instance.handle(candidate, 0, &Input::Campaign).unwrap();
        let (mut now, mut attempt, mut read, mut leading) = (0u64, 0, 0, false);
        // After an operator accepts a reset, tokens may start again.
        let (mut last, mut reset) = ((0, 0), false);
        for _ in 0..600 {
            loop {
                match instance.poll(candidate) {
                    Output::Write(write) => attempt = write.attempt,
                    Output::Read(number) => read = number,
                    Output::Event(Event::Won(term)) => {
                        let token = (term.token.incarnation, term.token.sequence);
                        assert!(!leading, "seed {seed}: won twice");
                        assert!(token > last || reset, "seed {seed}: {token:?} after {last:?}");
                        (leading, last, reset) = (true, token, false);
                        leaderships += 1;
                    }
                    Output::Event(Event::Lost(_)) => {
                        assert!(leading, "seed {seed}: lost what was not won");
                        leading = false;
                    }
                    Output::Event(_) | Output::Inspect(_) | Output::Reconnect => {}
                    Output::WakeAt(_) => break,
                }
            }
            assert!(
                leading || !instance.is_leader(candidate, now),
                "seed {seed}: leads without a reported win"
            );
            // The clock moves mostly forward, sometimes far, sometimes back.
            let reading = match rng.rand_range(0..300) {
                0 => odd(&mut rng),
                1..20 => now / 2,
                _ => now.saturating_add(rng.rand_range(0..3_000_000_000)),
            };
            let input = odd_input(&mut rng, attempt, read);
            reset |= matches!(input, Input::Accept);
            let _ = instance.handle(candidate, reading, &input);
            now = now.max(reading);
            instance.call_getters(candidate);
        }
    }
    assert!(leaderships > 20, "only {leaderships} terms were won on the way");
}
