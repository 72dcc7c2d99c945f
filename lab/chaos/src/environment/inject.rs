//! Makes and repairs faults.

use std::time::Duration;

use anyhow::{Context, Result};
use incumbent_rig::candidate::Order;
use incumbent_testkit::{process, wait};

use super::{Environment, Leading, foreign};
use crate::kind::Kind;
use crate::log::Note;
use crate::script::Fault;

/// A fault that was made.
#[derive(Clone, Debug)]
pub(crate) struct Injected {
    pub(crate) kind: Kind,
    pub(crate) election: usize,
    /// The victim, as printed.
    pub(crate) on: String,
    /// The leader just before the fault.
    pub(crate) before: Option<Leading>,
    pub(crate) at: u64,
    /// The duration of the fault.
    pub(crate) hold: Duration,
    number: u32,
    undo: Undo,
}

/// The repair of a fault.
#[derive(Clone, Debug)]
enum Undo {
    Nothing,
    Start(usize),
    StartWhenGone(usize),
    Resume(usize),
    Heal(usize),
    /// Heal the connection, but lose the data that was held back.
    Reconnect(usize),
    Hasten(usize),
    Respawn(Vec<usize>),
    ResumeServers(Vec<usize>),
    Join,
    BeginForeign,
    ResumeForeign,
}

/// The victim.
enum Victim {
    Candidate(usize),
    Key,
    Foreign,
    Servers(Vec<usize>),
}

impl Environment {
    /// Makes a fault; returns `None` if no process or server can be its victim.
    pub(crate) fn inject(&mut self, fault: &Fault) -> Result<Option<Injected>> {
        self.catch_up();
        let election = fault.aim;
        let before = self.leader(election);
        let Some(victim) = self.victim(fault, before.as_ref()) else { return Ok(None) };
        let key = self.scenario.elections[election].key;
        let on = match &victim {
            Victim::Candidate(member) => self.name(*member).to_owned(),
            Victim::Key => key.to_owned(),
            Victim::Foreign => foreign::NAME.to_owned(),
            Victim::Servers(which) => {
                which.iter().map(|at| format!("n{}", at + 1)).collect::<Vec<_>>().join("+")
            }
        };
        self.faults += 1;
        let (number, at, kind) = (self.faults, self.now(), fault.kind);
        self.notes.write(&Note::Fault { number, kind, on: on.clone(), key: key.into(), at });
        let undo = match victim {
            Victim::Candidate(member) => self.inject_in_candidate(fault, member)?,
            Victim::Key => {
                let bucket = self.scenario.elections[election].bucket;
                let meddled = self.runtime.block_on(self.operator.meddle(kind, bucket, key));
                meddled.with_context(|| format!("{kind} of {key}"))?;
                Undo::Nothing
            }
            Victim::Foreign => self.inject_in_foreign(kind),
            Victim::Servers(which) => self.inject_in_servers(kind, which),
        };
        let hold = hold(fault, self.scenario.elections[election].lease);
        Ok(Some(Injected { kind, election, on, before, at, hold, number, undo }))
    }

    fn victim(&self, fault: &Fault, leader: Option<&Leading>) -> Option<Victim> {
        let contest = &self.scenario.elections[fault.aim];
        let count = self.servers.addresses().len();
        let member = match fault.kind {
            Kind::Delete | Kind::Overwrite | Kind::Purge | Kind::Revoke => return Some(Victim::Key),
            Kind::ResignGo => return self.is_led_by_foreign(fault.aim).then_some(Victim::Foreign),
            Kind::KillGo | Kind::FreezeGo => return Some(Victim::Foreign),
            Kind::RestartServer | Kind::PauseServer => return Some(Victim::Servers(vec![0])),
            Kind::KillStreamLeader
            | Kind::PauseStreamLeader
            | Kind::IsolateStreamLeader
            | Kind::KillMetaLeader
            | Kind::KillRaftLeader
            | Kind::PauseRaftLeader
            | Kind::IsolateRaftLeader => {
                return Some(Victim::Servers(vec![self.servers.leader(fault.kind, contest.bucket)?]));
            }
            Kind::SeparateMembers => {
                let between = fault.pick % count;
                return Some(Victim::Servers((0..count).filter(|at| *at != between).collect()));
            }
            Kind::RollingRestart => return Some(Victim::Servers((0..count).collect())),
            Kind::KillQuorum | Kind::PauseQuorum => {
                let survivor = fault.pick % count;
                return Some(Victim::Servers((0..count).filter(|at| *at != survivor).collect()));
            }
            Kind::KillFollower | Kind::FreezeFollower | Kind::CutFollower => {
                let is_idle = |at: &usize| self.fleet.members[*at].is_idle();
                let idle: Vec<usize> = contest.among.iter().copied().filter(is_idle).collect();
                *idle.get(fault.pick.checked_rem(idle.len())?)?
            }
            _ => leader?.member,
        };
        Some(Victim::Candidate(member))
    }

    fn inject_in_candidate(&mut self, fault: &Fault, member: usize) -> Result<Undo> {
        let contest = &self.scenario.elections[fault.aim];
        let (key, lease) = (contest.key, contest.lease);
        let well = |at: &usize| *at != member && self.fleet.members[*at].takes_part(key);
        let others: Vec<usize> = contest.among.iter().copied().filter(well).collect();
        let successor = fault.pick.checked_rem(others.len()).map(|at| self.name(others[at]));
        let victim = &mut self.fleet.members[member];
        let links = &self.links[member];
        let (name, life) = (victim.name.clone(), victim.run);
        Ok(match fault.kind {
            Kind::Kill | Kind::KillFollower => {
                victim.kill()?;
                wait::until_some("the end of a killed candidate", wait::GENEROUS, || victim.exit_status());
                self.notes.write(&Note::Killed { name, life, at: self.now() });
                Undo::Start(member)
            }
            Kind::Nap | Kind::Freeze | Kind::FreezeFollower => {
                victim.stop()?;
                // This returns when all threads of the process are stopped.
                victim.pid().into_iter().for_each(process::pause);
                self.notes.write(&Note::Stopped { name, life, at: self.now() });
                Undo::Resume(member)
            }
            Kind::Resign => {
                victim.order(Order::Resign { key: key.into() });
                Undo::Nothing
            }
            Kind::HandOver => {
                // The report names no successor if there is no other candidate.
                let to = successor.unwrap_or("no candidate").to_owned();
                victim.order(Order::HandOver { key: key.into(), to });
                Undo::Nothing
            }
            Kind::Close => {
                victim.order(Order::Close);
                Undo::StartWhenGone(member)
            }
            Kind::CutFromMember => {
                links[fault.pick % links.len()].cut();
                Undo::Heal(member)
            }
            Kind::CutRequests => {
                links.iter().for_each(|link| link.cut_to_server());
                Undo::Heal(member)
            }
            Kind::CutReplies => {
                links.iter().for_each(|link| link.cut_to_client());
                Undo::Heal(member)
            }
            Kind::HalfOpen => {
                links.iter().for_each(|link| link.cut());
                Undo::Reconnect(member)
            }
            Kind::Slow => {
                let delay = (lease / 12).mul_f64(0.2 + fault.hold);
                links.iter().for_each(|link| {
                    link.delay_to_client(delay);
                    link.delay_to_server(delay);
                });
                Undo::Hasten(member)
            }
            _ => {
                links.iter().for_each(|link| link.cut());
                Undo::Heal(member)
            }
        })
    }

    fn inject_in_foreign(&mut self, kind: Kind) -> Undo {
        let Some(foreign) = &mut self.foreign else { return Undo::Nothing };
        match kind {
            Kind::KillGo => {
                foreign.end();
                Undo::BeginForeign
            }
            Kind::FreezeGo => {
                foreign.stop();
                Undo::ResumeForeign
            }
            _ => {
                foreign.resign();
                Undo::Nothing
            }
        }
    }

    fn inject_in_servers(&mut self, kind: Kind, which: Vec<usize>) -> Undo {
        match kind {
            Kind::PauseServer | Kind::PauseStreamLeader | Kind::PauseRaftLeader | Kind::PauseQuorum => {
                self.servers.pause(&which);
                Undo::ResumeServers(which)
            }
            Kind::IsolateStreamLeader | Kind::IsolateRaftLeader => {
                which.iter().for_each(|at| self.servers.isolate(*at));
                Undo::Join
            }
            Kind::SeparateMembers => {
                if let [one, other, ..] = which[..] {
                    self.servers.separate(one, other);
                }
                Undo::Join
            }
            Kind::RollingRestart => {
                self.servers.roll();
                Undo::Nothing
            }
            _ => {
                self.servers.kill(&which);
                Undo::Respawn(which)
            }
        }
    }

    /// Repairs the fault.
    pub(crate) fn repair(&mut self, fault: &Injected) -> Result<()> {
        match &fault.undo {
            Undo::Nothing => {}
            Undo::Start(member) => self.start(*member)?,
            Undo::StartWhenGone(member) => {
                self.await_end(*member)?;
                self.start(*member)?;
            }
            Undo::Resume(member) => {
                let at = self.now();
                let victim = &mut self.fleet.members[*member];
                self.notes.write(&Note::Resumed { name: victim.name.clone(), life: victim.run, at });
                victim.resume()?;
            }
            Undo::Heal(member) => self.links[*member].iter().for_each(|link| link.heal()),
            Undo::Reconnect(member) => self.links[*member].iter().for_each(|link| {
                link.close_all();
                link.heal();
            }),
            Undo::Hasten(member) => self.links[*member].iter().for_each(|link| {
                link.delay_to_client(Duration::ZERO);
                link.delay_to_server(Duration::ZERO);
            }),
            Undo::Respawn(which) => self.servers.respawn(which),
            Undo::ResumeServers(which) => self.servers.resume(which),
            Undo::Join => self.servers.heal(),
            Undo::BeginForeign => {
                if let Some(foreign) = &mut self.foreign {
                    foreign.begin();
                }
            }
            Undo::ResumeForeign => {
                if let Some(foreign) = &mut self.foreign {
                    foreign.resume();
                }
            }
        }
        if fault.kind.is_of_servers() {
            wait::until("the store to take writes again", Duration::from_secs(90), || self.store_is_there());
        }
        self.notes.write(&Note::Repaired { number: fault.number, at: self.now() });
        Ok(())
    }
}

/// The duration of a fault. For some faults it is a fraction of the lease, for others the time that servers take to
/// notice the fault.
fn hold(fault: &Fault, lease: Duration) -> Duration {
    let between = |least: f64, most: f64| least + (most - least) * fault.hold;
    let leases = |least, most| lease.mul_f64(between(least, most));
    let seconds = |least, most| Duration::from_secs_f64(between(least, most));
    match fault.kind {
        Kind::Kill | Kind::KillFollower | Kind::KillGo => leases(0.2, 1.5),
        Kind::Nap => leases(0.1, 0.3),
        Kind::Freeze | Kind::FreezeFollower | Kind::CutFollower | Kind::FreezeGo => leases(1.1, 1.8),
        Kind::CutFromMember | Kind::Cut | Kind::CutRequests | Kind::CutReplies | Kind::HalfOpen => {
            leases(0.4, 1.8)
        }
        Kind::Slow => leases(0.5, 2.0),
        Kind::RestartServer => seconds(0.1, 1.5),
        Kind::PauseServer => leases(0.3, 1.6),
        Kind::KillStreamLeader
        | Kind::PauseStreamLeader
        | Kind::KillMetaLeader
        | Kind::KillRaftLeader
        | Kind::PauseRaftLeader => seconds(2.0, 6.0),
        Kind::IsolateStreamLeader | Kind::IsolateRaftLeader | Kind::SeparateMembers => seconds(3.0, 7.0),
        Kind::KillQuorum | Kind::PauseQuorum => seconds(1.0, 6.0),
        Kind::Resign
        | Kind::HandOver
        | Kind::Close
        | Kind::Delete
        | Kind::Overwrite
        | Kind::Purge
        | Kind::Revoke
        | Kind::ResignGo
        | Kind::RollingRestart => Duration::ZERO,
    }
}
