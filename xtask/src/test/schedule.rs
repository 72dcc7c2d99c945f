//! Runs steps at the same time.
//!
//! Steps that compute run one after another at a low priority, or two at a time if no other step waits. Steps that
//! mostly wait for leases and servers run at the same time as these. So the processors are busy while tests sleep, and
//! a test that measures time still gets a processor when it needs one. A spare step takes the time that the other steps
//! leave. The output of one step is printed as it comes. The output of other steps is kept until their turn, so that a
//! step's lines stay together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::Part;
use super::tally::Report;
use crate::shell;

/// The interval at which a run lists the steps for which it waits.
const NOTICE: Duration = Duration::from_secs(60);

/// A lower priority than that of waiting steps, so that a test that wakes up runs before the compiler.
const NICE: i32 = 10;

/// The lowest priority of all.
const NICEST: i32 = 19;

/// The way in which a step spends its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// The step keeps all processors busy. One such step runs at a time, or two if no step of [`Wait`](Self::Wait)
    /// runs.
    Compute,
    /// The step mostly waits; a few such steps run at a time.
    Wait,
    /// The step takes the time that all others leave, on one processor; one such step runs at a time.
    Spare,
}

/// The work of a step, which adds its checks to the report.
pub(super) type Work<'env> = Box<dyn FnOnce(&mut Report) -> Result<()> + Send + 'env>;

/// One step of a run.
pub(super) struct Step<'env> {
    name: String,
    part: Part,
    lane: Lane,
    needs: Vec<String>,
    work: Work<'env>,
}

impl<'env> Step<'env> {
    /// A step of a part, with a unique name.
    pub(super) fn new(
        part: Part,
        name: impl Into<String>,
        lane: Lane,
        work: impl FnOnce(&mut Report) -> Result<()> + Send + 'env,
    ) -> Self {
        let (name, work) = (name.into(), Box::new(work));
        Self { name, part, lane, needs: Vec::new(), work }
    }

    /// Makes this step wait for the step of that name, if there is one, and not run if that step fails.
    pub(super) fn after(mut self, name: impl Into<String>) -> Self {
        self.needs.push(name.into());
        self
    }
}

/// Runs steps in the order of the list, several at the same time: at most one that computes, or two if none waits;
/// `waiting` that wait; and one that is spare.
///
/// If a step ends with an error, its part fails. The steps that need it do not run, and their parts fail, too.
pub(super) fn run(steps: Vec<Step<'_>>, waiting: usize, report: &mut Report) {
    let begin = Instant::now();
    let printer = Arc::new(Printer { steps: Mutex::default(), print: Box::new(|line| println!("{line}")) });
    let names: BTreeSet<String> = steps.iter().map(|step| step.name.clone()).collect();
    let mut pending = steps;
    let mut running: BTreeMap<String, Lane> = BTreeMap::new();
    let mut ended: BTreeMap<String, bool> = BTreeMap::new();
    let (sender, ends) = mpsc::channel();
    thread::scope(|scope| {
        loop {
            let (mut index, mut computing) = (0, 1);
            loop {
                let Some(step) = pending.get(index) else {
                    // If no waiting step runs, a second one may compute, because no step keeps all processors busy
                    // until its end.
                    if computing == 1 && !running.values().any(|lane| *lane == Lane::Wait) {
                        (index, computing) = (0, 2);
                        continue;
                    }
                    break;
                };
                let ready = |need: &String| !names.contains(need) || ended.contains_key(need);
                let taken = running.values().filter(|lane| **lane == step.lane).count();
                let room = match step.lane {
                    Lane::Compute => taken < computing,
                    Lane::Wait => taken < waiting.max(1),
                    Lane::Spare => taken < 1,
                };
                if !step.needs.iter().all(ready) || !room {
                    index += 1;
                    continue;
                }
                let step = pending.remove(index);
                if let Some(need) = step.needs.iter().find(|need| ended.get(*need) == Some(&false)) {
                    report.check(step.part, &format!("{} did not run, as {need} failed", step.name), false);
                    ended.insert(step.name, false);
                    // Starts again at the first step, because an earlier step may have waited for the step that does
                    // not run.
                    index = 0;
                    continue;
                }
                running.insert(step.name.clone(), step.lane);
                let (sender, printer) = (sender.clone(), Arc::clone(&printer));
                scope.spawn(move || {
                    let name = step.name.clone();
                    let from = Instant::now();
                    let outcome = perform(step, &printer);
                    // Sending cannot fail, because the loop receives until all steps have ended.
                    let _ = sender.send((name, from.elapsed(), outcome));
                });
            }
            if running.is_empty() {
                break;
            }
            match ends.recv_timeout(NOTICE) {
                Ok((name, took, (result, well, cpu))) => {
                    printer.end(&name, took, cpu);
                    report.times.step(&name, took, cpu);
                    report.merge(result);
                    running.remove(&name);
                    ended.insert(name, well);
                }
                Err(RecvTimeoutError::Timeout) => {
                    let names: Vec<&str> = running.keys().map(String::as_str).collect();
                    let minutes = begin.elapsed().as_secs() / 60;
                    printer.notice(&format!("==> {minutes} min, running: {}", names.join(", ")));
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
}

/// Runs a step on this thread. Returns its report, true if the steps that need it may run, and the processor time of
/// the programs that it ran.
fn perform(step: Step<'_>, printer: &Arc<Printer>) -> (Report, bool, Duration) {
    let Step { name, part, lane, work, .. } = step;
    match lane {
        Lane::Compute => yield_to_others(NICE),
        Lane::Spare => yield_to_others(NICEST),
        Lane::Wait => {}
    }
    let mut report = Report::new(&[]);
    let sink = {
        let (printer, name) = (Arc::clone(printer), name.clone());
        Arc::new(move |line: &str| printer.line(&name, line))
    };
    printer.begin(&name);
    let guard = std::panic::AssertUnwindSafe(|| shell::printing_to(sink, || work(&mut report)));
    let well = match std::panic::catch_unwind(guard) {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            printer.line(&name, &format!("error: {error:#}"));
            report.check(part, &format!("{name}: {error:#}"), false);
            false
        }
        Err(_) => {
            report.check(part, &format!("{name} panicked"), false);
            false
        }
    };
    (report, well, shell::cpu_time())
}

/// Lowers the priority of this thread, and of the programs that it starts.
fn yield_to_others(nice: i32) {
    // On other systems this call would change the whole process, permanently.
    if cfg!(target_os = "linux") {
        let _ = rustix::process::nice(nice);
    }
}

/// Prints the output of steps that run at the same time, one step after another.
struct Printer {
    steps: Mutex<Steps>,
    /// Prints a line.
    print: Box<dyn Fn(&str) + Send + Sync>,
}

#[derive(Default)]
struct Steps {
    /// The step whose output is printed as it comes.
    front: Option<String>,
    /// Steps whose output is kept, in the order in which they began.
    kept: Vec<Kept>,
}

struct Kept {
    name: String,
    lines: Vec<String>,
    ended: bool,
}

impl Printer {
    fn steps(&self) -> MutexGuard<'_, Steps> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, name: &str) {
        let mut steps = self.steps();
        if steps.front.is_none() {
            steps.front = Some(name.to_owned());
        } else {
            steps.kept.push(Kept { name: name.to_owned(), lines: Vec::new(), ended: false });
        }
    }

    fn line(&self, name: &str, line: &str) {
        let mut steps = self.steps();
        match steps.kept.iter_mut().find(|kept| kept.name == name) {
            Some(kept) => kept.lines.push(line.to_owned()),
            None => (self.print)(line),
        }
    }

    fn end(&self, name: &str, took: Duration, cpu: Duration) {
        let (took, cpu) = (took.as_secs_f64(), cpu.as_secs_f64());
        self.line(name, &format!("==> {name}: {took:.1} s, {cpu:.1} s of processor time"));
        let mut steps = self.steps();
        if steps.front.as_deref() != Some(name) {
            steps.kept.iter_mut().filter(|kept| kept.name == name).for_each(|kept| kept.ended = true);
            return;
        }
        steps.front = None;
        // Prints the whole output of the steps that have ended. From now on, prints the output of the oldest running
        // step as it comes.
        let (ended, mut kept): (Vec<_>, Vec<_>) = steps.kept.drain(..).partition(|kept| kept.ended);
        let next = if kept.is_empty() { None } else { Some(kept.remove(0)) };
        for step in ended.iter().chain(&next) {
            step.lines.iter().for_each(|line| (self.print)(line));
        }
        steps.front = next.map(|next| next.name);
        steps.kept = kept;
    }

    /// Prints a line that belongs to no step, if the output of some step is kept.
    fn notice(&self, line: &str) {
        if !self.steps().kept.is_empty() {
            (self.print)(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use anyhow::bail;

    use super::*;

    /// The number of steps that run: the present one and the largest so far.
    #[derive(Default)]
    struct Crowd {
        now: AtomicUsize,
        most: AtomicUsize,
    }

    impl Crowd {
        /// Runs until `others` steps have run at the same time, or for a minute.
        fn join(&self, others: usize) {
            let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            let begin = Instant::now();
            while self.most.load(Ordering::SeqCst) < others && begin.elapsed() < Duration::from_secs(60) {
                thread::yield_now();
            }
            self.now.fetch_sub(1, Ordering::SeqCst);
        }

        fn most(&self) -> usize {
            self.most.load(Ordering::SeqCst)
        }
    }

    fn performed(steps: Vec<Step<'_>>, waiting: usize) -> Report {
        let mut report = Report::new(&[]);
        run(steps, waiting, &mut report);
        report
    }

    #[test]
    fn waiting_steps_run_at_the_same_time_and_with_one_that_computes() {
        let (all, computing) = (Crowd::default(), Crowd::default());
        let step = |name: &str, lane| {
            let (all, computing) = (&all, &computing);
            Step::new(Part::Core, name, lane, move |_| {
                if lane == Lane::Compute {
                    computing.join(1);
                }
                all.join(3);
                Ok(())
            })
        };
        let steps = vec![
            step("a", Lane::Compute),
            step("b", Lane::Compute),
            step("c", Lane::Wait),
            step("d", Lane::Wait),
            step("e", Lane::Wait),
        ];
        performed(steps, 2);
        assert_eq!((all.most(), computing.most()), (3, 1));
    }

    #[test]
    fn two_steps_compute_at_a_time_if_none_waits() {
        let computing = Crowd::default();
        let step = |name: &str| {
            let computing = &computing;
            Step::new(Part::Core, name, Lane::Compute, move |_| {
                computing.join(2);
                Ok(())
            })
        };
        performed(vec![step("a"), step("b"), step("c"), step("d")], 2);
        assert_eq!(computing.most(), 2);
    }

    #[test]
    fn a_spare_step_runs_with_those_that_compute_and_wait() {
        let all = Crowd::default();
        let step = |name: &str, lane| {
            let all = &all;
            Step::new(Part::Core, name, lane, move |_| {
                all.join(3);
                Ok(())
            })
        };
        performed(vec![step("a", Lane::Compute), step("b", Lane::Wait), step("c", Lane::Spare)], 1);
        assert_eq!(all.most(), 3);
    }

    #[test]
    fn a_step_begins_when_what_it_needs_has_ended_and_names_without_a_step_are_no_need() {
        let order = Mutex::new(Vec::new());
        let step = |name: &'static str| {
            let order = &order;
            Step::new(Part::Core, name, Lane::Wait, move |_| {
                order.lock().unwrap().push(name);
                Ok(())
            })
        };
        let steps =
            vec![step("last").after("middle"), step("middle").after("first").after("nothing"), step("first")];
        performed(steps, 9);
        assert_eq!(*order.lock().unwrap(), ["first", "middle", "last"]);
    }

    #[test]
    fn a_step_that_fails_fails_its_part_and_what_needs_it_and_no_other() {
        let failing = Step::new(Part::Core, "build", Lane::Compute, |_| bail!("no compiler"));
        let needs = |part, name, need| {
            Step::new(part, name, Lane::Wait, move |report| {
                report.check(part, "done", true);
                Ok(())
            })
            .after(need)
        };
        let steps = vec![
            needs(Part::Sim, "two", "one"),
            needs(Part::Nats, "one", "build"),
            failing,
            needs(Part::Cli, "free", "nothing"),
        ];
        let report = performed(steps, 1);
        let well = [Part::Core, Part::Nats, Part::Sim, Part::Cli].map(|part| report.is_well(part));
        assert_eq!(well, [false, false, false, true]);
    }

    #[test]
    fn a_step_that_panics_fails_its_part() {
        let report = performed(vec![Step::new(Part::Core, "a", Lane::Wait, |_| panic!("for the test"))], 1);
        assert!(!report.is_well(Part::Core));
    }

    /// Returns what the printer prints while steps begin, print and end.
    #[test]
    fn the_output_of_a_step_stays_together() {
        let printed = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&printed);
        let printer = Printer {
            steps: Mutex::default(),
            print: Box::new(move |line| sink.lock().unwrap().push(line.to_owned())),
        };
        let s = Duration::from_secs_f64;
        for name in ["a", "b", "c"] {
            printer.begin(name);
        }
        for (name, line) in [("a", "1"), ("b", "2"), ("c", "3"), ("a", "4"), ("b", "5")] {
            printer.line(name, line);
        }
        printer.end("c", s(1.0), s(0.5));
        printer.notice("running: a, b");
        printer.end("a", s(2.0), s(3.5));
        printer.line("b", "6");
        printer.end("b", s(2.5), s(0.0));
        printer.notice("nothing is kept back");
        let expected = [
            "1",
            "4",
            "running: a, b",
            "==> a: 2.0 s, 3.5 s of processor time",
            "3",
            "==> c: 1.0 s, 0.5 s of processor time",
            "2",
            "5",
            "6",
            "==> b: 2.5 s, 0.0 s of processor time",
        ];
        assert_eq!(*printed.lock().unwrap(), expected);
    }
}
