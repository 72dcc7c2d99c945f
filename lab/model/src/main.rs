//! `incumbent-model`: explores small worlds to their end.

mod report;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use clap::Parser;
use incumbent_model::{Key, World, check, worlds};

/// Explores small worlds with the real election rules: everything that can happen in them
///
/// Each world is explored to its end: every order of everything that can happen within its bounds. If a property is
/// broken, the path to it is printed, one line per event.
#[derive(Debug, Parser)]
#[command(name = "incumbent-model", version, after_help = EXAMPLES)]
struct Args {
    /// Explore only this world; may be given more than once
    #[arg(long, value_name = "NAME")]
    world: Vec<String>,
    /// Print one line of JSON for each world
    #[arg(long)]
    json: bool,
    /// Print the worlds and what is checked, and explore nothing
    #[arg(long)]
    list: bool,
    /// The number of worlds to explore at the same time
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,
    /// Let records vanish this many seconds before their lease of 12 s is over; the settings allow for 1
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(0..=11))]
    expire_early: Option<u32>,
    /// Let the first candidate's clock be slow by this many parts per million; the settings allow for 10000
    #[arg(long, value_name = "PPM", value_parser = clap::value_parser!(u32).range(0..=500_000))]
    slow_clock: Option<u32>,
}

const EXAMPLES: &str = "Examples:
  incumbent-model                                  all worlds, with a table
  incumbent-model --list                           print all worlds
  incumbent-model --world loss --json              one world, for a program
  incumbent-model --world quiet --expire-early 2   how two come to lead when a store breaks its word";

fn main() -> ExitCode {
    let args = Args::parse();
    if args.list {
        return list();
    }
    let chosen = match choose(&args) {
        Ok(chosen) => chosen,
        Err(unknown) => {
            eprintln!("error: there is no world {unknown:?}; --list prints all worlds");
            return ExitCode::from(2);
        }
    };
    if !args.json {
        println!("{}", report::head());
    }
    if explore(&chosen, &args) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn list() -> ExitCode {
    for world in worlds() {
        println!("{:<13} {}\n{:<13} {}", world.name(), world.about(), "", world.bounds());
    }
    println!();
    for property in World::<Key>::properties() {
        println!("{:<13} {}", property.name(), property.states());
    }
    ExitCode::SUCCESS
}

/// The requested worlds, modified by the faults that the arguments add; or a name that no world has.
fn choose(args: &Args) -> Result<Vec<World<Key>>, &str> {
    let all = worlds();
    if let Some(unknown) = args.world.iter().find(|name| all.iter().all(|world| world.name() != *name)) {
        return Err(unknown);
    }
    let wanted =
        |world: &World<Key>| args.world.is_empty() || args.world.iter().any(|name| world.name() == name);
    let beyond = |mut world: World<Key>| {
        if let Some(seconds) = args.expire_early {
            world = world.expiring_early(seconds);
        }
        if let Some(parts) = args.slow_clock {
            world = world.with_a_slow_clock(parts);
        }
        world
    };
    Ok(all.into_iter().filter(wanted).map(beyond).collect())
}

/// Explores worlds and prints them in order. Returns whether all properties hold.
fn explore(worlds: &[World<Key>], args: &Args) -> bool {
    let (taken, well) = (AtomicUsize::new(0), AtomicBool::new(true));
    let lines = Mutex::new((0, vec![None; worlds.len()]));
    thread::scope(|scope| {
        for _ in 0..args.jobs {
            scope.spawn(|| {
                // The large worlds are last in the list, so the first lines are printed while those worlds still run.
                while let Some(place) =
                    Some(taken.fetch_add(1, Ordering::Relaxed)).filter(|place| *place < worlds.len())
                {
                    let world = &worlds[place];
                    let begun = Instant::now();
                    let found = check(world);
                    let took = begun.elapsed();
                    if found.violation.is_some() {
                        well.store(false, Ordering::Relaxed);
                    }
                    let line = if args.json {
                        report::json(world, &found, took)
                    } else {
                        report::line(world, &found, took)
                    };
                    // If a thread panicked, some of its lines are missing; the other threads continue.
                    let mut lines = lines.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    let (printed, texts) = &mut *lines;
                    texts[place] = Some(line);
                    while let Some(text) = texts.get_mut(*printed).and_then(Option::take) {
                        println!("{text}");
                        *printed += 1;
                    }
                }
            });
        }
    });
    well.into_inner()
}
