import Foundation
import Incumbent
import IncumbentTesting

private let calls = 10_000
private let runs = 100
private let count = 2_000
private let warm = 500

/// Measures how long a Swift program waits, for `cargo xtask bench languages`: the same as
/// `runtime/benches/languages.rs`. Prints one JSON array of figures: cost
func cost() async throws {
    let election = try ScriptedElection()
    try election.acquire()
    let candidate = election.candidate
    guard let term = candidate.term else { fatalError("it does not lead") }
    let isLeader = nanoseconds { candidate.isLeader }
    let isCurrent = nanoseconds { term.isCurrent }
    let took = await events(of: election)
    let figures = [
        figure("is_leader()", isLeader, "ns", runs),
        figure("term.is_current()", isCurrent, "ns", runs),
        figure("an event, p50", took[took.count / 2], "µs", took.count),
        figure("an event, p99", took[took.count * 99 / 100], "µs", took.count),
    ]
    say("[\(figures.joined(separator: ","))]")
}

/// The time of one call in the quickest of many short runs.
private func nanoseconds(_ call: () -> Bool) -> Double {
    var least = Double.infinity
    for _ in 0..<runs {
        var leads = 0
        let began = monotonic()
        for _ in 0..<calls where call() { leads += 1 }
        least = min(least, Double(monotonic() - began) / Double(calls))
        precondition(leads == calls, "it led \(leads) times")
    }
    return least
}

/// The microseconds from another thread's report of a leader until the loop has the event, sorted.
private func events(of election: ScriptedElection) async -> [Double] {
    let ready = DispatchSemaphore(value: 1)
    Thread.detachNewThread {
        while true {
            ready.wait()
            // The loop is idle by then, as in a real program.
            usleep(1000)
            try? election.leader("\(monotonic())")
        }
    }
    var took: [Double] = []
    for await event in election.candidate.events {
        guard case .leaderChanged(let leader?) = event, let sent = Int64(leader.name) else { continue }
        took.append(Double(monotonic() - sent) / 1e3)
        if took.count == count { break }
        ready.signal()
    }
    return took.dropFirst(warm).sorted()
}

private func figure(_ name: String, _ value: Double, _ unit: String, _ samples: Int) -> String {
    #"{"figure": "\#(name)", "value": \#(value), "unit": "\#(unit)", "samples": \#(samples)}"#
}
