import Foundation
import Incumbent

/// The time limit of an expectation; no scenario depends on it.
private let expectationLimit = Duration.seconds(60)

/// Answers that are further apart may be from two terms, in nanoseconds.
private let close: Int64 = 50_000_000

/// The precision with which the beginning of a term is read, in nanoseconds.
private let precise: Int64 = 200_000

/// The rules of every scenario, checked by the polling thread and by the readers of events.
final class Rules: Sendable {
    private let performers: [Performer]
    private let state = Shared<(isOver: Bool, broken: String?, wins: [String: [(began: Int64, token: Token)]])>((false, nil, [:]))

    init(_ performers: [Performer]) {
        self.performers = performers
        Thread.detachNewThread { [self] in
            while !state.value.isOver {
                look()
                usleep(1000)
            }
        }
    }

    func end() { state.change { $0.isOver = true } }

    /// Checks that no two lead.
    private func look() {
        let begin = monotonic()
        for one in performers where one.leads {
            let other = performers.first { $0 !== one && $0.election == one.election && $0.leads }
            if let other, one.leads, monotonic() - begin < close {
                fail("\(one.id) and \(other.id) both lead")
            }
        }
    }

    /// Checks the tokens in the order in which terms began: their events are read by several tasks.
    func won(_ election: String, _ term: Term) {
        var (before, began): (Int64, Int64)
        repeat {
            before = monotonic()
            began = before - term.age.nanoseconds
        } while monotonic() - before > precise
        let wrong = state.change { state in
            state.wins[election, default: []].append((began, term.token))
            state.wins[election]?.sort { $0.began < $1.began }
            let tokens = state.wins[election, default: []].map(\.token)
            return zip(tokens, tokens.dropFirst()).contains { $0 >= $1 }
        }
        if wrong {
            fail("the token \(term.token) does not fit into the order of terms")
        }
    }

    private func fail(_ text: String) { state.change { $0.broken = $0.broken ?? text } }

    func check() throws {
        if let broken = state.value.broken ?? performers.lazy.compactMap(\.broken).first {
            throw Unmet(broken)
        }
    }
}

/// Runs a scenario; throws an error with the step, the expectation and the observation.
func play(_ scenario: JSON, leaseMs: Double, _ prepared: Prepared, _ harness: Harness) async throws {
    let run = try await ScenarioRun(scenario, leaseMs: leaseMs, prepared, harness)
    var place = "the begin"
    do {
        for (number, step) in (scenario["steps"]?.list ?? []).enumerated() {
            place = "step \(number + 1), \(step)"
            try await run.step(step)
            try run.rules.check()
        }
        place = "the end"
        try await run.end()
        try await run.own.close()
    } catch {
        run.rules.end()
        let story = run.story()
        await run.close()
        try? await run.own.close()
        throw Unmet("\(place): \(error)\n\(story)")
    }
    run.rules.end()
}

/// A running scenario, used by one task.
private final class ScenarioRun {
    let own: Store
    let rules: Rules
    private let leaseMs: Double
    private let prepared: Prepared
    private let harness: Harness
    private var performers: [String: Performer] = [:]
    /// The stores by connection, in the order of opening, which is also the order of closing.
    private var stores: [(connection: String, store: Store)] = []
    /// The stores of killed candidates, which are abandoned.
    private var killed: [Task<Void, any Error>] = []
    private var marks: [String: Int64] = [:]
    private var seen: [String: Shared<[Observation]>] = [:]
    private var observing: [Task<Void, any Error>] = []

    init(_ scenario: JSON, leaseMs: Double, _ prepared: Prepared, _ harness: Harness) async throws {
        (self.leaseMs, self.prepared, self.harness) = (leaseMs, prepared, harness)
        let performers = (scenario["candidates"]?.fields ?? [:]).map { Performer($0.key, $0.value) }
        own = try await connect(prepared.url)
        rules = Rules(performers)
        for one in performers {
            self.performers[one.id] = one
        }
    }

    func step(_ step: JSON) async throws {
        let election = step["election"]?.text ?? "jobs"
        let verb = step["do"]?.text ?? ""
        switch verb {
        case "campaign": try await campaign(step)
        case "resign":
            let (performer, candidate) = try both(step)
            performer.call { try await candidate.resign() }
        case "hand_over":
            let (performer, candidate) = try both(step)
            let name = step["to"]?.text ?? ""
            performer.call { try await candidate.handOver(to: name) }
        case "close":
            let (performer, candidate) = try both(step)
            performer.call { try await candidate.close() }
        case "close_store":
            let performer = try performer(step)
            guard let store = opened(performer.connection) else { throw Unmet("it has no store") }
            performer.call { try await store.close() }
        case "set_healthy": try both(step).1.setHealthy(step["healthy"]?.flag ?? true)
        case "finish_work": try performer(step).finish()
        case "fail_work": try both(step).1.term?.fail()
        case "observe": observe(step["observer"]?.text ?? "", election)
        case "kill":
            let performer = try performer(step)
            try await harness.ask("kill", ["connection": .text(performer.connection)])
            performer.kill()
            // A store left open would keep dialling a port that another scenario may get, and campaign there.
            if let store = opened(performer.connection) {
                stores.removeAll { $0.connection == performer.connection }
                killed.append(Task { try await store.close() })
            }
        case "cut", "heal": try await harness.ask(verb, ["connection": .text(try performer(step).connection)])
        case "put_key": try await harness.ask(verb, ["key": .text(election), "value": step["value"] ?? .null])
        case "delete_key": try await harness.ask(verb, ["key": .text(election)])
        case "reset_store", "stop_server", "start_server": try await harness.ask(verb)
        case "mark": marks[step["mark"]?.text ?? ""] = monotonic()
        default: try await expect(verb, step, election)
        }
    }

    private func expect(_ verb: String, _ step: JSON, _ election: String) async throws {
        switch verb {
        case "expect_won": try inTime(step, try await next(try performer(step), "won"))
        case "expect_any_won":
            let any = (step["candidates"]?.list ?? []).compactMap { $0.text.flatMap { performers[$0] } }
            try await waiting("one of them reports") { any.contains { !$0.unread.isEmpty } }
            let reporting = any.filter { !$0.unread.isEmpty }
            guard let first = reporting.min(by: { $0.unread[0].at < $1.unread[0].at }) else { return }
            performers[step["as"]?.text ?? ""] = first
            try inTime(step, try await next(first, "won"))
        case "expect_draining":
            let draining = try await next(try performer(step), "draining")
            try same("the reason", draining.reason?.rawValue, [step["reason"]?.text])
        case "expect_lost":
            let performer = try performer(step)
            try await waiting("something is reported") { !performer.unread.isEmpty }
            if performer.unread.first?.type == "draining" {
                _ = performer.takeReported()
            }
            let lost = try await next(performer, "lost")
            try same("the reason", lost.reason?.rawValue, [step["reason"]?.text, step["or"]?.text].filter { $0 != nil })
            if let drained = step["drained"]?.flag {
                try same("whether it drained", "\(lost.drained)", ["\(drained)"])
            }
            try inTime(step, lost)
        case "expect_returned":
            guard let call = try performer(step).takeCall() else { throw Unmet("there is no call to return") }
            try same("what it returned with", try await answer(call), [step["error"]?.text])
        case "expect_is_leader":
            try same("whether it leads", "\(try performer(step).leads)", ["\(step["leads"]?.flag ?? false)"])
        case "expect_still_leads":
            let (performer, candidate) = try both(step)
            let token = candidate.term?.token
            try await during(step, "it leads on") {
                token != nil && performer.leads && candidate.term?.token == token && performer.unread.isEmpty
            }
        case "expect_nobody_leads":
            let all = performers.values.filter { $0.election == election }
            try await during(step, "no candidate leads") { !all.contains { $0.candidate?.isLeader == true } }
        case "expect_state":
            let candidate = try both(step).1
            let state = step["state"]?.text
            try await waiting("the state is \(state ?? "?")") { candidate.state.rawValue == state }
        case "expect_seen":
            let candidate = try both(step).1
            try await waiting("it sees the leader") { candidate.leader?.name == step["leader"]?.text }
        case "expect_warning":
            let performer = try performer(step)
            let warning = step["warning"]?.text ?? ""
            try await waiting("there is \(warning)") { performer.warnings.contains(warning) }
        case "expect_leader":
            try await waiting("the leader is read") { [own] in
                do {
                    return fits(try await own.leader(election), step)
                } catch is IncumbentError {
                    return false
                }
            }
        case "expect_observed":
            guard let observations = seen[step["observer"]?.text ?? ""] else { throw Unmet("it observes nothing") }
            try await waiting("the leader is observed") {
                observations.change { all in
                    let place = all.firstIndex { fits($0.leader, step) }
                    all.removeFirst(place.map { $0 + 1 } ?? all.count)
                    return place != nil
                }
            }
        default: throw Unmet("there is no such step")
        }
    }

    private func campaign(_ step: JSON) async throws {
        let performer = try performer(step)
        var store = opened(performer.connection)
        if store == nil {
            guard let url = prepared.connections[performer.connection] else { throw Unmet("there is no such connection") }
            let new = try await connect(url)
            stores.append((performer.connection, new))
            store = new
        }
        let settings = try settings(of: performer.id, performer.part, leaseMs: leaseMs)
        var failed: IncumbentError?
        do {
            if let candidate = try await store?.campaign(performer.election, settings) {
                performer.begin(candidate) { [rules] term in rules.won(performer.election, term) }
            }
        } catch let error as IncumbentError {
            failed = error
        }
        try same("the error", failed?.code.rawValue, [step["error"]?.text])
        guard let named = step["names"]?.text else { return }
        let words = named.split(separator: "_").map(String.init)
        let camel = words[0] + words.dropFirst().map(\.capitalized).joined()
        let message = failed?.message ?? ""
        guard message.contains(named) || message.contains(camel) else {
            throw Unmet("the error does not name \(named): \(message)")
        }
    }

    private func observe(_ observer: String, _ election: String) {
        let observations = Shared<[Observation]>([])
        seen[observer] = observations
        let all = own.observe(election)
        // An observer that fails sees nothing, and the step then fails for lack of it.
        observing.append(Task { for try await one in all { observations.change { $0.append(one) } } })
    }

    private func next(_ performer: Performer, _ type: String) async throws -> Reported {
        try await waiting("\(performer.id) reports \(type)") { !performer.unread.isEmpty }
        guard let reported = performer.unread.first, reported.type == type else {
            throw Unmet("\(performer.id) reports \(performer.unread), and should report \(type)")
        }
        _ = performer.takeReported()
        return reported
    }

    private func inTime(_ step: JSON, _ reported: Reported) throws {
        func instant(_ moment: JSON) throws -> Int64 {
            guard let mark = marks[moment["mark"]?.text ?? ""] else { throw Unmet("there is no such mark") }
            return mark + Int64((moment["leases"]?.number ?? 0) * leaseMs * 1e6)
        }
        if let moment = step["not_before"], reported.at < (try instant(moment)) {
            throw Unmet("it came \(try instant(moment) - reported.at) ns too soon")
        }
        if let moment = step["before"], reported.at >= (try instant(moment)) {
            throw Unmet("it came \(reported.at - (try instant(moment))) ns too late")
        }
    }

    private func waiting(_ what: String, _ isSo: @Sendable () async throws -> Bool) async throws {
        try await until(what, within: expectationLimit) { [rules] in
            try rules.check()
            return try await isSo()
        }
    }

    /// Checks that a condition holds for as long as the scenario says.
    private func during(_ step: JSON, _ what: String, _ isSo: () -> Bool) async throws {
        let end = monotonic() + Int64((step["leases"]?.number ?? 0) * leaseMs * 1e6)
        repeat {
            guard isSo() else { throw Unmet("it is not so that \(what)") }
            try await Task.sleep(for: .milliseconds(2))
        } while monotonic() < end
    }

    private func answer(_ call: Task<String?, Never>) async throws -> String? {
        let answered = Shared<String??>(nil)
        let waiting = Task {
            let value = await call.value
            answered.change { $0 = .some(value) }
        }
        defer { waiting.cancel() }
        try await self.waiting("the call returns") { answered.value != nil }
        return answered.value ?? nil
    }

    /// Checks that calls return, that no event is unread, and that the stores close without a broken rule.
    func end() async throws {
        for performer in Set(performers.values.map(ObjectIdentifier.init)).compactMap({ id in
            performers.values.first { ObjectIdentifier($0) == id }
        }) {
            while let call = performer.takeCall() {
                try same("what a call of \(performer.id) returned with", try await answer(call), [nil])
            }
            // Events are read by other tasks: a term that its candidate is in must have arrived.
            try await waiting("the events of \(performer.id) are read") {
                let token = performer.candidate?.term?.token
                return token == nil || performer.log.contains { $0.token == token }
            }
            guard performer.unread.isEmpty else {
                throw Unmet("what \(performer.id) reported besides: \(performer.unread)")
            }
        }
        try rules.check()
        // Stores close one after another. A candidate that wins in between has no work, or closing would wait for it.
        performers.values.forEach { $0.retire() }
        for (_, store) in stores { try await store.close() }
        for store in killed { try await store.value }
        try rules.check()
        observing.forEach { $0.cancel() }
    }

    /// Closes stores that a failed scenario left open; the scenario does not test errors of that.
    func close() async {
        observing.forEach { $0.cancel() }
        performers.values.forEach { $0.retire() }
        for (_, store) in stores { try? await store.close() }
        for store in killed { try? await store.value }
    }

    func story() -> String {
        let all = performers.values.flatMap { performer in performer.log.map { ($0.at, "\(performer.id) \($0)") } }
        return all.sorted { $0.0 < $1.0 }.map(\.1).joined(separator: "\n")
    }

    private func performer(_ step: JSON) throws -> Performer {
        guard let performer = performers[step["candidate"]?.text ?? ""] else { throw Unmet("there is no such candidate") }
        return performer
    }

    private func opened(_ connection: String) -> Store? {
        stores.first { $0.connection == connection }?.store
    }

    private func both(_ step: JSON) throws -> (Performer, Candidate) {
        let performer = try performer(step)
        guard let candidate = performer.candidate else { throw Unmet("\(performer.id) does not campaign") }
        return (performer, candidate)
    }
}

private func fits(_ leader: Leader?, _ step: JSON) -> Bool {
    let wanted = step["metadata"]?.fields ?? [:]
    return leader?.name == step["leader"]?.text && wanted.allSatisfy { leader?.metadata[$0.key] == $0.value.text }
}

private func same(_ what: String, _ seen: String?, _ wanted: [String?]) throws {
    guard wanted.contains(seen) else {
        let all = wanted.map { $0 ?? "none" }.joined(separator: " or ")
        throw Unmet("\(what) is \(seen ?? "none"), and should be \(all)")
    }
}
