import Foundation
import Incumbent
import Testing

/// Prepares stores from Swift, as `incumbent init` does.
@Suite(.timeLimit(.minutes(3)))
struct PreparationTests {
    /// Passes `body` a folder for the test's files.
    private func inFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("incumbent-swift-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.path)
    }

    @Test("a file that is stated to be new has a leader at once")
    func file() async throws {
        try await inFolder { (folder: String) async throws in
            let url = "sqlite:\(folder)/new.db"
            let made = try await prepareStore(url, .init(new: true))
            #expect((made.created, made.updated, made.neverUsed, made.differences) == (true, false, true, []))
            #expect((made.lease, made.topic) == (nil, nil))
            let again = try await prepareStore(url)
            #expect((again.created, again.neverUsed) == (false, true))
            // Otherwise no candidate leads before the file is as old as this lease.
            let settings = CampaignSettings(lease: .seconds(600), splay: .zero)
            try await withStore(url) { store in
                try await store.withCandidate("jobs", settings) { candidate in
                    let hold = try await candidate.nextTerm()
                    #expect(hold?.term.isCurrent == true)
                }
            }
        }
    }

    @Test("a bucket is made, and one that differs is an error and changed only when asked to")
    func bucket() async throws {
        let server = try await NatsServer()
        let url = "\(server.address)/PREPARED"
        #expect(await failure { try await connect(url) }?.code == .notFound)
        let made = try await prepareStore(url, .init(lease: .seconds(5), markers: true))
        #expect((made.created, made.neverUsed, made.lease) == (true, false, .seconds(5)))
        let refused = await failure { try await prepareStore(url, .init(lease: .seconds(10), markers: true)) }
        #expect(refused?.code == .unsafeStore)
        #expect(refused?.message.contains("max_age (lease) is 5s, and should be 10s") == true, "\(refused?.message ?? "")")
        let changed = try await prepareStore(url, .init(lease: .seconds(10), markers: true, update: true))
        #expect((changed.created, changed.updated, changed.lease) == (false, true, .seconds(10)))
        #expect(changed.differences.map { [$0.setting, $0.former, $0.present] } == [["max_age", "5s", "10s"]])
        try await connect(url).close()
        withExtendedLifetime(server) {}
    }

    @Test("what does not fit is refused by the name of the setting")
    func refused() async throws {
        try await inFolder { (folder: String) async throws in
            let cases: [(String, PreparationSettings, String)] = [
                ("memory:", .init(), "a store of this kind needs no preparation"),
                ("sqlite:\(folder)/e.db", .init(ownLeases: true), "`ownLeases` is only for NATS buckets"),
                ("sqlite:\(folder)/e.db", .init(parameters: ["fresh": true]), "has no setting \"fresh\""),
                ("nats://127.0.0.1:1/B", .init(lease: .seconds(-1)), "lease is -1"),
                ("nats://127.0.0.1:1/B", .init(replicas: -1), "replicas is -1"),
            ]
            for (url, settings, message) in cases {
                let error = await failure { try await prepareStore(url, settings) }
                #expect(error?.code == .invalidSetting, "\(message)")
                #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
    }

    @Test("a missing file is reported with the call that creates it")
    func missing() async throws {
        try await inFolder { (folder: String) async throws in
            let error = await failure { try await connect("sqlite:\(folder)/no.db?create=false") }
            #expect(error?.code == .notFound)
            #expect(error?.message.contains("; `prepareStore(url)` creates it") == true, "\(error?.message ?? "")")
        }
    }

    @Test("a server that is not there is an error and no wait")
    func absent() async {
        let error = await failure { try await prepareStore("nats://127.0.0.1:9/ELECTIONS") }
        #expect(error?.code == .storeUnavailable)
    }
}
