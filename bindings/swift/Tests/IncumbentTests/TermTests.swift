import Incumbent
import IncumbentTesting
import Testing

/// Terms, and the work that is bound to them, in a scripted election.
@Suite(.timeLimit(.minutes(3)))
struct TermTests {
    private let election: ScriptedElection
    private var candidate: Candidate { election.candidate }

    init() throws {
        election = try ScriptedElection()
    }

    @Test("a term has its token, its election and no reason while it lasts")
    func views() async throws {
        let token = try election.acquire()
        let term = try #require(candidate.term)
        #expect((term.token, term.election, term.isCurrent, term.reason) == (token, "jobs", true, nil))
        #expect(Token(token.description) == token)
        #expect(token.description.count == 33)
        try election.revoke(.usurped)
        #expect((term.isCurrent, term.reason) == (false, .usurped))
        #expect(await failure { try term.check() }?.reason == .usurped)
        #expect(candidate.term == nil)
    }

    @Test("later tokens are larger, and so is their text")
    func tokens() throws {
        let first = try election.acquire()
        try election.revoke(.expired)
        let second = try election.acquire()
        #expect(first < second && first.description < second.description)
        #expect(Token("7") == nil)
    }

    @Test("a lease ends by the clock")
    func lease() throws {
        let clock = ManualClock()
        let election = try ScriptedElection(clock: clock)
        try election.acquire(lease: .seconds(5))
        let term = try #require(election.candidate.term)
        try clock.advance(by: .seconds(4))
        #expect(term.isCurrent && term.remaining > .zero && term.remaining <= .seconds(1))
        try clock.advance(by: .seconds(1))
        #expect((term.isCurrent, term.remaining, term.reason) == (false, .zero, .expired))
        #expect(!election.candidate.isLeader)
    }

    @Test("work that ends before its term returns its value and the term goes on")
    func value() async throws {
        try election.acquire()
        #expect(try await candidate.term?.run { 7 } == 7)
        #expect(candidate.isLeader)
    }

    @Test("work and all that it started is cancelled when the term ends, and the caller gets the reason")
    func cancelled() async throws {
        try election.acquire()
        let term = try #require(candidate.term)
        let started = Shared(false)
        let child = Shared(false)
        async let running = failure {
            try await term.run {
                async let inner: Void = {
                    started.change { $0 = true }
                    defer { child.change { $0 = true } }
                    try await untilCancelled()
                }()
                try await inner
            }
        }
        try await until("it has started") { started.value }
        try election.revoke(.expired)
        #expect(await running?.reason == .expired)
        #expect(child.value)
    }

    @Test("an error of the work reaches the caller as it is")
    func failing() async throws {
        try election.acquire()
        let term = try #require(candidate.term)
        await #expect(throws: Unmet.self) { try await term.run { throw Unmet("on purpose") } }
        #expect(candidate.isLeader)
    }

    @Test("the work of a term that is over does not begin")
    func over() async throws {
        try election.acquire()
        let term = try #require(candidate.term)
        try election.revoke(.deleted)
        let begun = Shared(false)
        let error = await failure { try await term.run { begun.change { $0 = true } } }
        #expect(error?.code == .termEnded)
        #expect(!begun.value)
    }

    @Test("a drain waits for the body of a loop over terms")
    func draining() async throws {
        try election.acquire()
        let begun = Shared<Term?>(nil)
        let done = Shared(false)
        let candidate = candidate
        let loop = Task {
            for await term in candidate.terms {
                begun.change { $0 = term }
                try await term.draining()
                #expect(term.isDraining && term.isCurrent)
                try await until("it may end") { done.value }
                #expect(term.isCurrent)
            }
        }
        try await until("the term has come") { begun.value != nil }
        let term = try #require(begun.value)
        try election.drain(.resigned)
        try await term.draining()
        #expect(candidate.isLeader)
        done.change { $0 = true }
        #expect(try await term.ended() == .resigned)
        #expect(!term.isDraining)
        loop.cancel()
        _ = await loop.result
    }

    @Test("terms come one after another and end with the campaign")
    func sequence() async throws {
        let seen = Shared<[Token]>([])
        let candidate = candidate
        let loop = Task { for await term in candidate.terms { seen.change { $0.append(term.token) } } }
        var tokens: [Token] = []
        for at in 1...3 {
            tokens.append(try election.acquire())
            try await until("the term has come") { seen.value.count == at }
            try election.revoke(.usurped)
        }
        try await candidate.close()
        await loop.value
        #expect(seen.value == tokens)
    }

    @Test("lead cancels its work at the end of a term, and begins with the next")
    func lead() async throws {
        let begun = Shared<[Token]>([])
        let ended = Shared<[Token]>([])
        let candidate = candidate
        let leading = Task {
            try await candidate.lead { term in
                begun.change { $0.append(term.token) }
                defer { ended.change { $0.append(term.token) } }
                try await untilCancelled()
            }
        }
        var tokens: [Token] = []
        for at in 1...3 {
            tokens.append(try election.acquire())
            try await until("the work has begun") { begun.value.count == at }
            try election.revoke(.usurped)
            try await until("the work has ended") { ended.value.count == at }
        }
        try await candidate.close()
        try await leading.value
        #expect((begun.value, ended.value) == (tokens, tokens))
    }

    @Test("work of lead that throws ends its term, and the handler gets the error")
    func leadFails() async throws {
        let errors = Shared<[String]>([])
        let candidate = candidate
        let leading = Task {
            try await candidate.lead(onError: { error in errors.change { $0.append("\(error)") } }) { _ in
                throw Unmet("on purpose")
            }
        }
        try election.acquire()
        try await until("the failure is reported") { try election.asked.contains(.fail) && !errors.value.isEmpty }
        #expect(errors.value == ["on purpose"])
        try await candidate.close()
        try await leading.value
    }

    @Test("cancelling lead cancels its work and resigns")
    func leadCancelled() async throws {
        let begun = Shared(false)
        let candidate = candidate
        let leading = Task {
            try await candidate.lead { _ in
                begun.change { $0 = true }
                try await untilCancelled()
            }
        }
        try election.acquire()
        try await until("the work has begun") { begun.value }
        leading.cancel()
        await #expect(throws: CancellationError.self) { try await leading.value }
        #expect(try election.asked.contains(.resign))
    }

    @Test("work that resigns does not wait for itself")
    func resigning() async throws {
        try await withStore("memory:") { store in
            try await store.withCandidate("jobs", quick(drain: .seconds(3600))) { candidate in
                var last: Term?
                for await term in candidate.terms {
                    last = term
                    try await candidate.resign()
                    #expect(term.isDraining)
                    break
                }
                let first = try #require(last)
                #expect(try await first.ended() == .resigned)
                let hold = try #require(try await candidate.nextTerm(after: first))
                let second = hold.term
                hold.release()
                try await second.run {
                    // Tasks inherit it.
                    try await Task { try await candidate.resign() }.value
                    #expect(second.isDraining && second.isCurrent)
                }
                #expect(try await second.ended() == .resigned)
            }
        }
    }

    @Test("a hold ends when it is released, and when it is not kept any more")
    func holds() async throws {
        for round in 0..<2 {
            let election = try ScriptedElection()
            try election.acquire()
            var hold = try await election.candidate.nextTerm()
            let term = try #require(hold?.term)
            if round == 0 {
                hold?.release()
                hold?.release()
            } else {
                hold = nil
            }
            try election.drain(.resigned)
            #expect(try await term.ended() == .resigned)
        }
    }

    @Test("events come in order, and begin with the present state")
    func events() async throws {
        let token = try election.acquire()
        var events = candidate.events.makeAsyncIterator()
        try election.leader("other")
        try election.warning()
        try election.revoke(.storeReset)
        var seen: [String] = []
        reading: while let event = await events.next() {
            switch event {
            case .won(let term): seen.append(term.token == token ? "won" : "another")
            case .leaderChanged(let leader): if let leader { seen.append("leader \(leader.name)") }
            case .warning(let code, _): seen.append(code)
            case .lost(_, let reason):
                seen.append("lost \(reason.rawValue)")
                break reading
            case .draining, .stateChanged: break
            }
        }
        #expect(seen == ["won", "leader other", "MARKERS_MISLEAD", "lost STORE_RESET"])
    }

    @Test("the requests of the code under test are listed")
    func asked() async throws {
        try candidate.setHealthy(false)
        try candidate.acceptReset()
        try await candidate.close()
        #expect(try election.asked == [.setHealthy(false), .acceptReset, .close])
        #expect(candidate.state == .closed)
        try await candidate.closed()
        #expect(try await candidate.nextTerm() == nil)
    }
}
