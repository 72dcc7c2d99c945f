import Foundation
import Incumbent
import Testing

/// A candidate in its own process, which writes a line of JSON each time that it leads.
private final class Contender {
    /// The time during which it certainly led, by its own answers.
    struct Leadership {
        let name: String
        let token: Token
        let from: Double
        var until: Double
    }

    /// The number of lines after which a leader is killed.
    private static let enough = 20

    let name: String
    let child: Child
    private(set) var leaderships: [Leadership] = []
    private var lines = 0

    init(_ name: String, _ program: String, _ arguments: [String]) throws {
        (self.name, child) = (name, try Child(program, arguments))
    }

    deinit {
        child.signal(SIGKILL)
        child.closeInput()
    }

    /// Reads its output, and returns its newest token once it has led with it for a while.
    func leads() throws -> Token? {
        // The command line's own lines are not JSON.
        for line in child.take() where line.hasPrefix(#"{"event":"leads""#) {
            let view = try JSON.parse(line)
            guard let token = Token(view["token"]?.text ?? ""), let before = view["before"]?.number,
                let after = view["after"]?.number
            else { throw Unmet(line) }
            if leaderships.last?.token == token {
                leaderships[leaderships.count - 1].until = before
                lines += 1
            } else {
                leaderships.append(Leadership(name: name, token: token, from: after, until: before))
                lines = 1
            }
        }
        return lines >= Self.enough ? leaderships.last?.token : nil
    }

    /// Kills it, and reads the rest of its output.
    func end() async throws {
        child.signal(SIGKILL)
        _ = try await child.ended()
        _ = try leads()
    }
}

/// Elections between processes, on a real nats-server: fail-over, signals, and the command line.
@Suite(.serialized, .timeLimit(.minutes(16)))
struct ProcessesTests {
    /// The settings of a candidate of this process, with the bucket's short lease.
    private let second = CampaignSettings(name: "second", preset: .fast, splay: .zero)

    private func token(_ text: String) throws -> Token {
        guard let token = Token(text) else { throw Unmet("\(text) is no token") }
        return token
    }

    @Test("a worker that is killed is followed when its lease is over")
    func killed() async throws {
        let server = try await NatsServer()
        let bucket = try await server.bucket("ELECTIONS", lease: "2s")
        try await Child.using(try program("programs"), ["worker", bucket, "first"]) { first in
            let before = try token(try await first.expect("won"))
            try await withStore(bucket) { store in
                let candidate = try await store.campaign("jobs", second)
                first.signal(SIGKILL)
                #expect(try await candidate.nextTerm()?.term.token ?? before > before)
            }
        }
        withExtendedLifetime(server) {}
    }

    @Test("a run that is terminated drains, releases at once, returns and is followed")
    func terminated() async throws {
        let server = try await NatsServer()
        let bucket = try await server.bucket("ELECTIONS", lease: "60s")
        try await Child.using(try program("programs"), ["run", bucket, "first"]) { first in
            let before = try token(try await first.expect("won"))
            try await withStore(bucket) { store in
                let candidate = try await store.campaign("jobs", second)
                try await until("it waits") { candidate.leader?.name == "first" }
                first.signal(SIGTERM)
                #expect(try await first.expect("drained") == "true")
                #expect(try await candidate.nextTerm()?.term.token ?? before > before)
                #expect(try await first.expect("result") == "done")
                #expect(try await first.ended() == 0)
            }
        }
        withExtendedLifetime(server) {}
    }

    @Test("SIGINT lets a run finish its work, too")
    func interrupted() async throws {
        let server = try await NatsServer()
        let bucket = try await server.bucket("ELECTIONS", lease: "60s")
        try await Child.using(try program("programs"), ["run", bucket, "first"]) { first in
            _ = try await first.expect("won")
            first.signal(SIGINT)
            #expect(try await first.expect("result") == "done")
            #expect(try await first.ended() == 0)
        }
        withExtendedLifetime(server) {}
    }

    @Test("another signal, or the same one a second later, ends a run whose work does not", arguments: [SIGINT, SIGTERM])
    func twice(_ second: Int32) async throws {
        try await Child.using(try program("programs"), ["stubborn", "memory:"]) { stubborn in
            _ = try await stubborn.expect("won")
            stubborn.signal(SIGINT)
            _ = try await stubborn.expect("asked")
            #expect(stubborn.status == nil)
            // The same signal within a second is the same request.
            try await until("it ends") {
                stubborn.signal(second)
                return stubborn.status != nil
            }
            #expect(try await stubborn.ended() == 128 + second)
        }
    }

    @Test("a leader that blocks the threads of Swift's concurrency leaves, and leads again when they run")
    func blocked() async throws {
        try await Child.using(try program("programs"), ["blocked"]) { (blocked: Child) async throws in
            #expect(try await blocked.expect("left") == "UNHEALTHY false")
            #expect(try await blocked.expect("leads again") == "true")
            #expect(try await blocked.ended() == 0)
        }
    }

    @Test("ten thousand campaigns that were closed leave neither memory nor files")
    func leaks() async throws {
        try await Child.using(try program("programs"), ["leaks", "10000"]) { (leaks: Child) async throws in
            let before = numbers(try await leaks.expect("before"))
            // The program computes for half a minute, and for several minutes next to other tests.
            let after = numbers(try await leaks.expect("after", within: .seconds(900)))
            #expect(try await leaks.ended() == 0)
            #expect(before[1] == after[1], "files")
            // 500 bytes for each campaign would be a leak.
            #expect(after[0] - before[0] < 4_000_000, "resident: \(before[0]), \(after[0])")
        }
    }

    private func numbers(_ text: String) -> [Int] {
        text.split(separator: " ").compactMap { Int($0) }
    }

    @Test("a child of the tests ends by SIGPIPE, which the tests ignore")
    func brokenPipe() async throws {
        try await Child.using("sh", ["-c", "kill -PIPE $$; echo ignored"]) { (child: Child) async throws in
            #expect(try await child.ended() == 128 + SIGPIPE)
        }
    }

    @Test("a leader that was stopped beyond its lease knows at its first line")
    func stopped() async throws {
        let server = try await NatsServer()
        let bucket = try await server.bucket("ELECTIONS", lease: "2s")
        try await Child.using(try program("programs"), ["asked", bucket]) { first in
            let before = try token(try await first.expect("won"))
            first.signal(SIGSTOP)
            try await withStore(bucket) { store in
                let other = try await store.campaign("jobs", second)
                // Asked before it continues, so that the answer is its first action.
                try first.say("?")
                #expect(try await other.nextTerm()?.term.token ?? before > before)
                first.signal(SIGCONT)
                #expect(try await first.expect("leads") == "false false true")
            }
        }
        withExtendedLifetime(server) {}
    }

    @Test("Swift follows the command line, and the command line Swift")
    func commandLine() async throws {
        let server = try await NatsServer()
        let bucket = try await server.bucket("ELECTIONS", lease: "10s")
        let run = [
            "run", "--store", bucket, "--key", "jobs", "--name", "cli", "--preset", "fast", "--once",
            "--", "sh", "-c", "echo token $INCUMBENT_TOKEN; exec sleep 600",
        ]
        var tokens: [Token] = []
        let store = try await connect(bucket)
        let candidate = try await Child.using(try tool("INCUMBENT_CLI"), run) { supervisor in
            tokens.append(try token(try await supervisor.expect("token")))
            let waiting = try await store.campaign("jobs", second)
            supervisor.signal(SIGTERM)
            _ = try await supervisor.ended()
            return waiting
        }
        let hold = try #require(try await candidate.nextTerm())
        tokens.append(hold.term.token)
        hold.release()
        try await Child.using(try tool("INCUMBENT_CLI"), run) { supervisor in
            try await candidate.close()
            tokens.append(try token(try await supervisor.expect("token")))
            supervisor.signal(SIGTERM)
            _ = try await supervisor.ended()
        }
        try await store.close()
        #expect(tokens == tokens.sorted() && Set(tokens).count == 3)
        withExtendedLifetime(server) {}
    }

    // The Kotlin tests have the same election with Kotlin, and with Python and Node if they are built.
    @Test("candidates in Swift and of the command line never lead together")
    func contenders() async throws {
        let server = try await NatsServer()
        let url = try await server.bucket("LANGUAGES", lease: "2s")
        let (key, programs) = ("jobs.processes", try program("programs"))
        let run = ["run", "--store", url, "--key", key, "--name", "cli", "--preset", "fast", "--", programs, "commanded"]
        let all = [
            try Contender("swift", programs, ["contender", url, key, "swift"]),
            try Contender("cli", try tool("INCUMBENT_CLI"), run),
            try Contender("another", programs, ["contender", url, key, "another"]),
        ]
        var racing = all
        var last: Token?
        while !racing.isEmpty {
            var leader: Int?
            try await until("a leader with a larger token than \(last?.description ?? "none")") {
                for (at, one) in racing.enumerated() {
                    if let token = try one.leads(), last.map({ $0 < token }) ?? true { (leader, last) = (at, token) }
                }
                return leader != nil
            }
            try await racing.remove(at: try #require(leader)).end()
        }
        let history = all.flatMap(\.leaderships).sorted { $0.from < $1.from }
        for (one, next) in zip(history, history.dropFirst()) {
            #expect(one.until < next.from, "two led at once: \(one), \(next)")
            #expect(one.token < next.token, "a token does not grow: \(one), \(next)")
        }
        #expect(Set(history.map(\.name)) == Set(all.map(\.name)), "each has led")
        withExtendedLifetime(server) {}
    }

    @Test("the README's worker leads, also after its lease was taken away, and the example works and is followed")
    func documented() async throws {
        let server = try await NatsServer()
        let bucket = try await server.bucket("README", lease: "10s")
        // The program prints into a pipe, which would otherwise buffer lines.
        try await Child.using("stdbuf", ["-oL", try program("readme"), bucket]) { worker in
            let first = try token(try await worker.expect("leading with token"))
            try await server.evict(bucket, "billing-cron")
            #expect(try token(try await worker.expect("leading with token")) > first)
        }
        var tokens: [Token] = []
        for _ in 0..<2 {
            try await Child.using(try program("scheduled-job"), [bucket]) { job in
                tokens.append(try token(try await job.expect("the invoices go out with token")))
                job.signal(SIGTERM)
                #expect(try await job.ended() == 0)
            }
        }
        #expect(tokens[0] < tokens[1])
        withExtendedLifetime(server) {}
    }

    @Test("the README's programs are those of the tests")
    func readme() throws {
        let readme = try String(contentsOf: try source("bindings/swift/README.md"), encoding: .utf8)
        let blocks = readme.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "\n```")[0] }
        let worker = try String(contentsOf: try source("bindings/swift/Tests/Readme/main.swift"), encoding: .utf8)
        let tests = try String(contentsOf: try source("bindings/swift/Tests/IncumbentTests/ReadmeTests.swift"), encoding: .utf8)
        #expect(blocks == [worker.trimmingCharacters(in: .newlines), tests.trimmingCharacters(in: .newlines)])
    }
}
