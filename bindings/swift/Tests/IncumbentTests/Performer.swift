import Foundation
import Incumbent

/// An event that a candidate reported of its terms.
struct Reported: Sendable, CustomStringConvertible {
    let type: String
    let at: Int64
    let token: Token
    var reason: Incumbent.Reason?
    var drained = false

    var description: String { "\(at / 1_000_000) \(type) \(reason?.rawValue ?? "") \(token)" }
}

/// The settings of a scenario's candidate.
func settings(of id: String, _ part: JSON, leaseMs: Double) throws -> CampaignSettings {
    var settings = CampaignSettings(
        name: part["name"]?.text ?? id, preset: .fast, lease: .milliseconds(leaseMs), splay: .zero
    )
    for (name, value) in part["options"]?.fields ?? [:] {
        let length = value.number.map { Duration.milliseconds($0) }
        switch name {
        case "preset": settings.preset = Preset(rawValue: value.text ?? "")
        case "lease_ms": settings.lease = length
        case "drain_ms": settings.drain = length
        case "interval_ms": settings.interval = length
        case "skew_ms": settings.skew = length
        case "slack_ms": settings.slack = length
        case "splay_ms": settings.splay = length
        case "drift_ppm": settings.driftPpm = value.number.map { Int($0) }
        case "metadata": settings.metadata = value.fields.compactMapValues(\.text)
        case "win_delay":
            switch value["kind"]?.text {
            case "automatic": settings.winDelay = .automatic
            case "cautious": settings.winDelay = .cautious
            case "fixed": settings.winDelay = .fixed(.milliseconds(value["ms"]?.number ?? 0))
            default: throw Unmet("no win delay is \(value)")
            }
        default: throw Unmet("the runner knows no option \(name)")
        }
    }
    return settings
}

/// A candidate of a scenario, and its log of events.
final class Performer: Sendable {
    struct State {
        var candidate: Candidate?
        var log: [Reported] = []
        var warnings: Set<String> = []
        var calls: [Task<String?, Never>] = []
        /// The number of log entries that steps have read.
        var read = 0
        /// The first violation that the performer saw.
        var broken: String?
        /// A candidate that was killed counts as the leader until then.
        var leadsUntil = Int64.min
        var hold: Hold?
        /// It holds the terms that it wins.
        var works: Bool
        var reading: Task<Void, Never>?
    }

    let id: String
    let part: JSON
    let election: String
    let connection: String
    private let state: Shared<State>

    init(_ id: String, _ part: JSON) {
        (self.id, self.part) = (id, part)
        election = part["election"]?.text ?? "jobs"
        connection = part["connection"]?.text ?? id
        state = Shared(State(works: part["works"]?.flag ?? false))
    }

    var candidate: Candidate? { state.value.candidate }
    var log: [Reported] { state.value.log }
    var warnings: Set<String> { state.value.warnings }
    var unread: [Reported] { state.change { Array($0.log.dropFirst($0.read)) } }
    var broken: String? { state.value.broken }

    var leads: Bool {
        let (candidate, until) = state.change { ($0.candidate, $0.leadsUntil) }
        return candidate?.isLeader ?? (monotonic() < until)
    }

    /// Campaigns, and reads the events from the first.
    func begin(_ candidate: Candidate, won: @escaping @Sendable (Term) -> Void) {
        let events = candidate.events.makeAsyncIterator()
        let reading = Task.detached { [self] in
            var (events, term, drained) = (events, Term?.none, false)
            while let event = await events.next() {
                let at = monotonic()
                switch event {
                case .warning(let code, _):
                    state.change { _ = $0.warnings.insert(code) }
                case .won(let new):
                    must(term == nil, "won twice")
                    (term, drained) = (new, false)
                    won(new)
                    state.change { state in
                        if state.works { state.hold = new.hold() }
                        state.log.append(Reported(type: "won", at: at, token: new.token))
                    }
                case .draining(let which, let reason):
                    must(which == term && !drained, "draining of no term, or twice")
                    drained = true
                    state.change { $0.log.append(Reported(type: "draining", at: at, token: which.token, reason: reason)) }
                case .lost(let which, let reason):
                    must(which == term, "lost what it did not have")
                    must(!which.isCurrent, "lost a term that is current")
                    term = nil
                    finish()
                    let lost = Reported(type: "lost", at: at, token: which.token, reason: reason, drained: drained)
                    state.change { $0.log.append(lost) }
                case .leaderChanged, .stateChanged:
                    break
                }
            }
        }
        state.change { ($0.candidate, $0.reading) = (candidate, reading) }
    }

    /// Begins a call that returns later; its answer is the code of its error.
    func call(_ what: @escaping @Sendable () async throws -> Void) {
        let call = Task<String?, Never> {
            do {
                try await what()
                return nil
            } catch {
                return (error as? IncumbentError)?.code.rawValue ?? "\(error)"
            }
        }
        state.change { $0.calls.append(call) }
    }

    /// Takes the oldest call that no step has expected yet.
    func takeCall() -> Task<String?, Never>? {
        state.change { $0.calls.isEmpty ? nil : $0.calls.removeFirst() }
    }

    /// Takes the next entry of the log.
    func takeReported() -> Reported? {
        state.change { state in
            guard state.read < state.log.count else { return nil }
            state.read += 1
            return state.log[state.read - 1]
        }
    }

    func finish() {
        state.change { state in
            state.hold?.release()
            state.hold = nil
        }
    }

    /// Finishes its work, and begins no work in terms that it wins from now on.
    func retire() {
        state.change { $0.works = false }
        finish()
    }

    /// Marks it as killed: nothing asks it or reads its events any longer.
    func kill() {
        state.change { state in
            state.reading?.cancel()
            state.leadsUntil = monotonic() + (state.candidate?.term?.remaining.nanoseconds ?? 0)
            (state.candidate, state.calls, state.log, state.read) = (nil, [], [], 0)
        }
        finish()
    }

    private func must(_ isSo: Bool, _ otherwise: String) {
        if !isSo {
            state.change { $0.broken = $0.broken ?? "\(id): \(otherwise)" }
        }
    }
}

extension Duration {
    var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
