import Foundation
import Incumbent

/// A worker that prints what happens to it: worker URL NAME
func worker(_ arguments: [String]) async throws {
    let store = try await connect(arguments[0])
    let candidate = try await store.campaign("jobs", .init(name: arguments[1], preset: .fast, splay: .zero))
    for await term in candidate.terms {
        say("won \(term.token)")
        do {
            try await term.run { try await Task.sleep(for: .seconds(1 << 20)) }
        } catch IncumbentError.termEnded(let reason, _) {
            say("lost \(reason.rawValue) \(candidate.isLeader)")
        }
    }
}

/// A worker in one call, which the signals end: run URL NAME
func running(_ arguments: [String]) async throws {
    let settings = CampaignSettings(name: arguments[1], preset: .fast, splay: .zero)
    let result = try await run(arguments[0], "jobs", settings, cancelOnStop: false) { term in
        say("won \(term.token)")
        try await term.draining()
        say("drained \(term.isCurrent)")
        return "done"
    }
    say("result \(result ?? "none")")
}

/// A worker with work that never ends, even when asked to: stubborn URL
func stubborn(_ arguments: [String]) async throws {
    let settings = CampaignSettings(name: "stubborn", preset: .fast, drain: .seconds(3600), splay: .zero)
    try await run(arguments[0], "jobs", settings) { term in
        say("won \(term.token)")
        try? await term.draining()
        // The request to leave is sent just before the work is cancelled.
        while !Task.isCancelled { await Task.yield() }
        say("asked")
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    }
}

/// A leader that blocks every thread of Swift's concurrency until it no longer leads: blocked
func blocked() async throws {
    let store = try await connect("memory:")
    let settings = CampaignSettings(preset: .fast, splay: .zero, watchLimit: .milliseconds(500))
    let candidate = try await store.campaign("jobs", settings)
    guard let hold = try await candidate.nextTerm() else { return }
    let first = hold.term
    hold.release()
    let gate = DispatchSemaphore(value: 0)
    let threads = 4 * ProcessInfo.processInfo.activeProcessorCount
    Thread.detachNewThread {
        while first.isCurrent { usleep(1000) }
        say("left \(first.reason?.rawValue ?? "") \(candidate.isLeader)")
        for _ in 0..<threads { gate.signal() }
    }
    for _ in 0..<threads {
        Task.detached { block(on: gate) }
    }
    guard let second = try await candidate.nextTerm(after: first) else { return }
    say("leads again \(second.term.token > first.token)")
    second.release()
    try await store.close()
}

private func block(on gate: DispatchSemaphore) {
    gate.wait()
}

/// Opens and closes campaigns, eight at a time, and prints the memory and the files after some and after all: leaks COUNT
func leaks(_ arguments: [String]) async throws {
    let (some, lanes) = (1000, 8)
    let store = try await connect("memory:")
    let settings = CampaignSettings(preset: .fast, lease: .seconds(60), splay: .zero)
    // The campaigns of one election share a lane, so they run one after the other.
    @Sendable func campaigns(_ numbers: Range<Int>, in lane: Int) async throws {
        for number in numbers where number % lanes == lane {
            let candidate = try await store.campaign("jobs-\(number % some)", settings)
            let hold = try await candidate.nextTerm()
            try await hold?.term.run {}
            hold?.release()
            try await candidate.close()
        }
    }
    func campaigns(_ numbers: Range<Int>) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<lanes {
                group.addTask { try await campaigns(numbers, in: lane) }
            }
            try await group.waitForAll()
        }
    }
    // The first campaigns warm up: they allocate the elections' own memory and bring the allocator to its peak.
    let warm = 2 * some
    try await campaigns(0..<warm)
    say("before \(try left())")
    try await campaigns(warm..<(Int(arguments[0]) ?? warm))
    say("after \(try left())")
    try await store.close()
}

/// The resident memory in bytes, and the number of open files.
private func left() throws -> String {
    let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")[1]
    let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    return "\((Int(pages) ?? 0) * 4096) \(files)"
}

/// A leader that answers each line of its input by whether it leads: asked URL
func asked(_ arguments: [String]) async throws {
    let store = try await connect(arguments[0])
    let settings = CampaignSettings(name: "asked", preset: .fast, splay: .zero, watch: false)
    let candidate = try await store.campaign("jobs", settings)
    guard let term = try await candidate.nextTerm()?.term else { return }
    say("won \(term.token)")
    while readLine() != nil {
        say("leads \(candidate.isLeader) \(term.isCurrent) \(term.remaining == .zero)")
    }
    try await store.close()
}

/// A candidate that writes a line of JSON each time that it leads by its own answers: contender URL KEY NAME
func contender(_ arguments: [String]) async throws {
    let store = try await connect(arguments[0])
    let candidate = try await store.campaign(arguments[1], .init(name: arguments[2], preset: .fast))
    while true {
        let before = monotonic()
        if let term = candidate.term, candidate.isLeader, term.isCurrent {
            record("\(term.token)", since: before)
        }
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// The command of `incumbent run`, which leads for as long as it lives: commanded
func commanded() async throws {
    while true {
        record(ProcessInfo.processInfo.environment["INCUMBENT_TOKEN"] ?? "", since: monotonic())
        try await Task.sleep(for: .milliseconds(5))
    }
}

private func record(_ token: String, since before: Int64) {
    say(#"{"event":"leads","token":"\#(token)","before":\#(before),"after":\#(monotonic())}"#)
}

/// The clock that all processes of the machine share, in nanoseconds.
func monotonic() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// Prints a line at once: `print` buffers lines if the output is not a terminal.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
}
