import Foundation
import Incumbent
import IncumbentTesting
import Testing
import enum IncumbentRaw.Reason
import func IncumbentRaw.errorCodes

/// Stores, settings, errors, health and logs.
@Suite(.timeLimit(.minutes(3)))
struct StoreTests {
    @Test("a store elects, and shows its leader and its candidates")
    func elects() async throws {
        try await withStore("memory:") { store in
            var settings = quick("a")
            settings.metadata = ["zone": "b"]
            let first = try await store.campaign("jobs", settings)
            try await first.nextTerm()?.release()
            let second = try await store.campaign("jobs", quick("b"))
            #expect(try await store.leader("jobs")?.name == "a")
            #expect(try await store.leader("jobs")?.metadata == ["zone": "b"])
            #expect(try await store.list().map { "\($0.election) \($0.leader?.name ?? "")" } == ["jobs a"])
            #expect(Set(try await store.candidates("jobs")?.map(\.name) ?? []) == ["a", "b"])
            var seen: String?
            for try await one in store.observe("jobs") where one.leader != nil {
                seen = one.leader?.name
                break
            }
            #expect(seen == "a")
            try await first.handOver(to: "b")
            try await second.nextTerm()?.release()
            #expect(await failure { try await first.handOver(to: "b") }?.code == .notLeader)
        }
    }

    @Test("what is closed refuses, and closing twice is no error")
    func closed() async throws {
        let store = try await connect("memory:")
        let candidate = try await store.campaign("jobs", quick())
        try await store.close()
        try await store.close()
        try await candidate.close()
        #expect(candidate.state == .closed)
        #expect(await failure { try await store.campaign("jobs", quick()) }?.code == .closed)
    }

    @Test("a candidate that is not kept any more leaves")
    func dropped() async throws {
        try await withStore("memory:") { store in
            var first: Candidate? = try await store.campaign("jobs", quick("a"))
            try await first?.nextTerm()?.release()
            let second = try await store.campaign("jobs", quick("b"))
            first = nil
            _ = first
            #expect(try await second.nextTerm()?.term.isCurrent == true)
        }
    }

    #if os(Linux)
    /// The number of times that this process has a file open.
    private func openings(_ file: String) -> Int {
        let folder = "/proc/self/fd"
        let all = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return all.filter { one in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(one)")) == file
        }.count
    }

    @Test("a store that is not kept any more is closed")
    func droppedStore() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("incumbent-swift-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.resolvingSymlinksInPath().appendingPathComponent("elections.db").path
        _ = try await prepareStore("sqlite:\(file)")
        var store: Store? = try await connect("sqlite:\(file)")
        #expect(store != nil && openings(file) > 0)
        store = nil
        _ = store
        try await until("the file is closed") { openings(file) == 0 }
    }
    #endif

    @Test("settings that do not fit are refused with their names")
    func refused() async throws {
        let unknown = await failure { try await connect("memory:", .init(parameters: ["credz": "a"])) }
        #expect(unknown?.code == .invalidSetting && unknown?.message.contains("credz") == true)
        #expect(await failure { try await connect("carrier-pigeon:") }?.code == .invalidURL)
        #expect(await failure { try await connect("memory:n\n") }?.code == .invalidURL)
        try await withStore("memory:") { store in
            let drift = await failure { try await store.campaign("jobs", .init(driftPpm: -1)) }
            #expect(drift?.message.contains("driftPpm is -1") == true, "\(drift?.message ?? "")")
            let watch = await failure { try await store.campaign("jobs", .init(watchLimit: .milliseconds(1))) }
            #expect(watch?.message.contains("watchLimit") == true, "\(watch?.message ?? "")")
            let key = await failure { try await store.campaign("jobs", .init(metadata: ["drift_ppm": "x"])) }
            #expect(key?.message.contains("metadata key is \"drift_ppm\", and") == true, "\(key?.message ?? "")")
            let lease = await failure { try await store.campaign("jobs", .init(lease: .seconds(-1))) }
            #expect(lease?.message.contains("lease is -1") == true, "\(lease?.message ?? "")")
        }
    }

    @Test("the codes are those of the compiled part, and each has a case")
    func codes() {
        #expect(Set(errorCodes().keys) == Set(ErrorCode.allCases.map(\.rawValue)))
        #expect(ErrorCode.storeUnavailable.isTemporary && !ErrorCode.notLeader.isTemporary)
        #expect(IncumbentRaw.Reason.allCases.map(Incumbent.Reason.init) == Incumbent.Reason.allCases)
        #expect(Incumbent.Reason.allCases.map(\.raw) == IncumbentRaw.Reason.allCases)
        #expect(Incumbent.Reason.resigned.mayDrain && !Incumbent.Reason.expired.mayDrain)
        #expect(Incumbent.Reason.allCases.allSatisfy { !$0.explanation.isEmpty })
    }

    @Test("the stores of the build are listed")
    func stores() {
        #expect(Set(Store.stores).isSuperset(of: ["memory", "sqlite", "nats", "etcd"]), "\(Store.stores)")
    }

    @Test("a store that does not answer is an error where that is asked for")
    func unavailable() async {
        let settings = StoreSettings(failFast: true, parameters: ["connect_timeout": "200ms"])
        let error = await failure { try await connect("nats://127.0.0.1:9/ELECTIONS", settings) }
        #expect(error?.code == .storeUnavailable && error?.isTemporary == true)
    }

    @Test("a term whose store is gone ends by the clock, and its work with it")
    func gone() async throws {
        let faulty = try await FaultyStore.open()
        var settings = quick()
        settings.lease = .seconds(2)
        let candidate = try await faulty.store.campaign("jobs", settings)
        let hold = try #require(try await candidate.nextTerm())
        try faulty.partition()
        #expect(await failure { try await hold.term.run { try await untilCancelled() } }?.reason == .expired)
        #expect(!candidate.isLeader)
        try faulty.heal()
        try await faulty.store.close()
    }

    @Test("an unhealthy candidate leaves until its check says otherwise")
    func unhealthy() async throws {
        try await withStore("memory:") { store in
            let isHealthy = Shared(true)
            var settings = quick()
            settings.watch = false
            settings.healthInterval = .milliseconds(50)
            settings.health = { if isHealthy.value { true } else { throw Unmet("on purpose") } }
            let candidate = try await store.campaign("jobs", settings)
            let hold = try #require(try await candidate.nextTerm())
            let first = hold.term
            hold.release()
            isHealthy.change { $0 = false }
            #expect(try await first.ended() == .unhealthy)
            isHealthy.change { $0 = true }
            let second = try #require(try await candidate.nextTerm(after: first))
            #expect(first.token < second.term.token)
            second.release()
        }
    }

    @Test("log records reach the program's sink")
    func logs() async throws {
        let records = Shared<[LogRecord]>([])
        try logTo(.debug) { record in records.change { $0.append(record) } }
        try await withStore("memory:") { store in
            try await store.withCandidate("logged", quick()) { candidate in
                try await candidate.nextTerm()?.release()
            }
        }
        try await until("there is a record") { records.value.contains { $0.fields["election"] == "logged" } }
        try logTo(nil)
    }
}
