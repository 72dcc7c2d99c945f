import Foundation
import Incumbent
import Testing

/// A real nats-server.
private final class NatsServer: Sendable {
    private let child: Child
    private let folder: URL
    private let address: String

    init() async throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("incumbent-swift-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let ports = folder.path
        // It chooses a free port itself, and writes it to a file.
        child = try Child(try tool("NATS_SERVER"), [
            "-a", "127.0.0.1", "-p", "-1", "-js", "-sd", ports, "--ports_file_dir", ports, "-l", "\(ports)/log",
        ])
        var found: String?
        try await until("the server serves") {
            let files = try FileManager.default.contentsOfDirectory(atPath: ports)
            guard let file = files.first(where: { $0.hasSuffix(".ports") }) else { return false }
            let text = try String(contentsOf: URL(fileURLWithPath: "\(ports)/\(file)"), encoding: .utf8)
            found = (try? JSON.parse(text))?["nats"]?.list.first?.text
            return found != nil
        }
        address = found ?? ""
    }

    deinit {
        child.signal(SIGKILL)
        child.closeInput()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Creates a bucket for candidates with that lease, and returns its URL.
    func bucket(_ name: String, lease: String) async throws -> String {
        let url = "\(address)/\(name)"
        let initialise = try Child(try tool("INCUMBENT_CLI"), ["init", "--store", url, "--lease", lease, "--new"])
        guard try await initialise.ended() == 0 else { throw Unmet(initialise.take().joined(separator: "\n")) }
        return url
    }
}

/// Elections between processes, on a real nats-server: fail-over, signals, and the command line.
@Suite(.serialized, .timeLimit(.minutes(5)))
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
            #expect(try await stubborn.expect("asked") == "true")
            #expect(stubborn.status == nil)
            // The same one within a second is the same request.
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
            let (before, after) = (numbers(try await leaks.expect("before")), numbers(try await leaks.expect("after")))
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

    @Test("the README's worker leads, and the example works and is followed")
    func documented() async throws {
        let server = try await NatsServer()
        let bucket = try await server.bucket("README", lease: "10s")
        // It prints into a pipe, where lines are kept back otherwise.
        try await Child.using("stdbuf", ["-oL", try program("readme"), bucket]) { worker in
            _ = try token(try await worker.expect("leading with token"))
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
