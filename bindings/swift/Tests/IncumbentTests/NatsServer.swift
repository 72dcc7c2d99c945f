import Foundation

/// A real nats-server.
final class NatsServer: Sendable {
    private let child: Child
    private let folder: URL
    /// Its URL, without a bucket.
    let address: String

    init() async throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("incumbent-swift-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let ports = folder.path
        // The server chooses a free port itself, and writes it to a file.
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
        try await commandLine(["init", "--store", url, "--lease", lease, "--new"])
        return url
    }

    /// Takes the lease away from an election's leader.
    func evict(_ url: String, _ election: String) async throws {
        try await commandLine(["evict", "--store", url, "--key", election, "--yes"])
    }

    private func commandLine(_ words: [String]) async throws {
        let program = try Child(try tool("INCUMBENT_CLI"), words)
        guard try await program.ended() == 0 else { throw Unmet(program.take().joined(separator: "\n")) }
    }
}
