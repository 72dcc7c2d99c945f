import Foundation
import Incumbent
import Testing

/// The requirements of scenarios that each store meets.
private let offers: [String: Set<String>] = [
    "memory": [],
    "sqlite": ["operator"],
    "nats": ["operator", "reset", "network", "kill", "server"],
    "etcd": ["operator", "reset", "network", "kill", "server"],
    "kafka": ["network", "kill"],
]

/// The shortest lease of a candidate: three times the shortest that an etcd server grants by default.
private let leastLeaseMs = ["etcd": 6000.0]

/// The stores to run on; by default all, and Kafka if `INCUMBENT_KAFKA` has the address of a broker.
private let stores: [String] = {
    let environment = ProcessInfo.processInfo.environment
    if let named = environment["INCUMBENT_STORES"] { return named.split(separator: ",").map(String.init) }
    return ["memory", "sqlite", "nats", "etcd"] + (environment["INCUMBENT_KAFKA"] == nil ? [] : ["kafka"])
}()

/// A scenario on a store.
struct Case: Sendable, CustomTestStringConvertible {
    let store: String
    let scenario: JSON

    var testDescription: String { "\(store): \(scenario["name"]?.text ?? "?")" }

    /// Every scenario on every store on which it runs.
    static let all: [Case] = {
        guard let folder = try? source("lab/conformance/scenarios"),
            let files = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
        else { return [] }
        let scenarios = files.filter { $0.hasSuffix(".json") }.sorted().compactMap { file in
            try? JSON.parse(String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8))
        }
        return stores.flatMap { store in
            scenarios.filter { scenario in
                let needs = Set(scenario["needs"]?.list.compactMap(\.text) ?? [])
                return scenario["not_on"]?[store] == nil && needs.isSubset(of: offers[store] ?? [])
            }.map { Case(store: store, scenario: $0) }
        }
    }()

    func play() async throws {
        let lease = max(scenario["lease_ms"]?.number ?? 0, leastLeaseMs[store] ?? 0)
        let connections = (scenario["candidates"]?.fields ?? [:]).map { $0.value["connection"]?.text ?? $0.key }
        let harness = try await Harness()
        do {
            let prepared = try await harness.prepare(store, leaseMs: lease, connections: Array(Set(connections)).sorted())
            #expect(prepared.offers == offers[store], "another table of what the harness offers on \(store)")
            try await IncumbentTests.play(scenario, leaseMs: lease, prepared, harness)
            try await harness.ask("clean_up")
        } catch {
            try? await harness.end()
            throw error
        }
        try await harness.end()
    }
}

/// Lets a few scenarios run at a time: each starts a server.
private actor Turns {
    static let shared = Turns()

    private var free = 6
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func take() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    func give() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}

/// The scenarios of all languages, run through this library.
@Suite
struct ConformanceTests {
    @Test("every scenario is played", arguments: Case.all)
    func scenario(_ one: Case) async throws {
        await Turns.shared.take()
        let begin = ContinuousClock.now
        var failed: (any Error)?
        do {
            try await one.play()
        } catch {
            failed = error
        }
        let took = Double((ContinuousClock.now - begin).nanoseconds) / 1e9
        // The test runner does not report cases by name.
        report("Test \"\(one.testDescription)\" \(failed == nil ? "passed" : "failed") after \(took) seconds.")
        await Turns.shared.give()
        if let failed { throw failed }
    }

    @Test("there are scenarios for every store")
    func scenarios() {
        for store in stores {
            #expect(Case.all.filter { $0.store == store }.count > 30, "\(store)")
        }
    }

    @Test("a candidate that wins while stores close, as a scenario ends, works no more")
    func ends() async throws {
        let scenario = try JSON.parse("""
            {"name": "ends", "lease_ms": 10000,
             "candidates": {"a": {}, "b": {"works": true, "options": {"drain_ms": 60000}}},
             "steps": [
                {"do": "campaign", "candidate": "a"}, {"do": "expect_won", "candidate": "a"},
                {"do": "campaign", "candidate": "b"}, {"do": "expect_seen", "candidate": "b", "leader": "a"}]}
            """)
        let begin = ContinuousClock.now
        try await Case(store: "memory", scenario: scenario).play()
        // The first candidate's store is closed first, and then the second wins.
        #expect(ContinuousClock.now - begin < .seconds(60), "closing waited for the drain's limit")
    }

    @Test("a scenario that is wrong fails")
    func wrong() async throws {
        let won = #"{"do": "expect_won", "candidate": "a"}"#
        let cases = [
            ([won, #"{"do": "expect_is_leader", "candidate": "a", "leads": false}"#], "whether it leads is true"),
            ([won, #"{"do": "expect_returned", "candidate": "a"}"#], "there is no call"),
            ([#"{"do": "expect_state", "candidate": "a", "state": "LEADING"}"#], "what a reported besides"),
        ]
        for (steps, message) in cases {
            let scenario = try JSON.parse("""
                {"name": "wrong", "lease_ms": 10000, "candidates": {"a": {}},
                 "steps": [{"do": "campaign", "candidate": "a"}, \(steps.joined(separator: ","))]}
                """)
            var failed = ""
            do {
                try await Case(store: "memory", scenario: scenario).play()
            } catch {
                failed = "\(error)"
            }
            #expect(failed.contains(message), "\(failed)")
        }
    }
}

/// Writes a line in the test runner's format, at once.
private func report(_ line: String) {
    FileHandle.standardOutput.write(Data("= \(line)\n".utf8))
}
