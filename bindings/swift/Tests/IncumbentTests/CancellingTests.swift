import Foundation
import Incumbent
import IncumbentTesting
import Testing

/// Cancels every wait, and checks that nothing is left of it.
@Suite(.timeLimit(.minutes(3)))
struct CancellingTests {
    /// Begins a call that does not return, and cancels it. Loops over sequences end, everything else throws.
    private func cancelled(_ name: String, _ call: @escaping @Sendable () async throws -> Void) async throws {
        let isBegun = Shared(false)
        let isOver = Shared(false)
        let task = Task {
            isBegun.change { $0 = true }
            defer { isOver.change { $0 = true } }
            try await call()
        }
        try await until("it has begun") { isBegun.value }
        for _ in 0..<5 { await Task.yield() }
        #expect(!isOver.value, "\(name) returned at once")
        task.cancel()
        try await until("\(name) returns") { isOver.value }
        if case .failure(let error) = await task.result {
            #expect(error is CancellationError, "\(name)")
        }
    }

    @Test("waits for a candidate's terms and events are cancelled, and nothing holds the next term")
    func candidate() async throws {
        let election = try ScriptedElection()
        let candidate = election.candidate
        try await cancelled("nextTerm") { _ = try await candidate.nextTerm() }
        try await cancelled("closed") { try await candidate.closed() }
        try await cancelled("terms") { for await _ in candidate.terms {} }
        try await cancelled("lead") { try await candidate.lead { _ in } }
        try await cancelled("events") { for await _ in candidate.events {} }
        try election.acquire()
        let term = try #require(candidate.term)
        try await cancelled("nextTerm after it") { _ = try await candidate.nextTerm(after: term) }
        try await cancelled("ended") { _ = try await term.ended() }
        try await cancelled("draining") { try await term.draining() }
        try await cancelled("run") { try await term.run { try await untilCancelled() } }
        try await cancelled("the body of terms") { for await _ in candidate.terms { try await untilCancelled() } }
        #expect(term.isCurrent)
        try election.drain(.resigned)
        #expect(try await term.ended() == .resigned)
    }

    @Test("questions to a store that does not answer are cancelled")
    func store() async throws {
        let faulty = try await FaultyStore.open()
        let store = faulty.store
        let candidate = try await store.campaign("jobs", quick())
        try await candidate.nextTerm()?.release()
        try faulty.delayAnswers(by: .seconds(3600))
        try await cancelled("leader") { _ = try await store.leader("jobs") }
        try await cancelled("list") { _ = try await store.list() }
        try await cancelled("candidates") { _ = try await store.candidates("jobs") }
        try await cancelled("campaign") { try await store.campaign("others", .init(splay: .seconds(3600))).closed() }
        try await cancelled("run") { try await run(store, "others") { _ in try await untilCancelled() } }
        try await cancelled("observe") { for try await _ in store.observe("jobs") {} }
        try faulty.delayAnswers(by: .zero)
        try await store.close()
    }

    @Test("opening a store that does not answer is cancelled")
    func opening() async throws {
        // Accepts connections, and never writes.
        let silent = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(silent) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listens = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(silent, address, size) == 0 && listen(silent, 8) == 0 && getsockname(silent, address, &size) == 0
            }
        }
        try #require(listens)
        let url = "nats://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/ELECTIONS"
        let settings = StoreSettings(failFast: true, parameters: ["connect_timeout": "1h"])
        try await cancelled("connect") { _ = try await connect(url, settings) }
        try await cancelled("withStore") { try await withStore(url, settings) { _ in } }
        try await cancelled("run") { try await run(url, "jobs", storeSettings: settings) { _ in } }
    }

    @Test("leaving goes on though the wait for it is cancelled")
    func leaving() async throws {
        let ways: [(String, Incumbent.Reason, @Sendable (Store, Candidate) async throws -> Void)] = [
            ("resign", .resigned, { try await $1.resign() }),
            ("handOver", .handedOver, { try await $1.handOver(to: "b") }),
            ("close", .closed, { try await $1.close() }),
            ("closing the store", .closed, { store, _ in try await store.close() }),
        ]
        for (name, reason, leave) in ways {
            let store = try await connect("memory:")
            let candidate = try await store.campaign("jobs", quick(drain: .seconds(3600)))
            let hold = try #require(try await candidate.nextTerm())
            let second = try await store.campaign("jobs", quick("b"))
            try await cancelled(name) { try await leave(store, candidate) }
            try await hold.term.draining()
            #expect(hold.term.isCurrent, "\(name)")
            hold.release()
            #expect(try await hold.term.ended() == reason, "\(name)")
            try await second.close()
            try await store.close()
        }
    }

    @Test("a term that comes as its waiter is cancelled is not held")
    func race() async throws {
        for round in 0..<300 {
            let election = try ScriptedElection()
            let candidate = election.candidate
            let waiter = Task.detached { try await candidate.nextTerm()?.release() }
            let winner = Task.detached { try election.acquire() }
            for _ in 0..<(round % 7) { await Task.yield() }
            waiter.cancel()
            _ = await waiter.result
            _ = try await winner.value
            let term = try #require(candidate.term)
            try election.drain(.resigned)
            #expect(try await term.ended() == .resigned)
        }
    }
}
