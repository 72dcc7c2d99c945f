import Foundation

/// A value of JSON.
enum JSON: Codable, Hashable, Sendable, CustomStringConvertible {
    case null, bool(Bool), number(Double), text(String), list([JSON]), fields([String: JSON])

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let flag = try? value.decode(Bool.self) {
            self = .bool(flag)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let list = try? value.decode([JSON].self) {
            self = .list(list)
        } else {
            self = .fields(try value.decode([String: JSON].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .null: try value.encodeNil()
        case .bool(let flag): try value.encode(flag)
        case .number(let number) where number == number.rounded(): try value.encode(Int64(number))
        case .number(let number): try value.encode(number)
        case .text(let text): try value.encode(text)
        case .list(let list): try value.encode(list)
        case .fields(let fields): try value.encode(fields)
        }
    }

    static func parse(_ text: String) throws -> JSON {
        try JSONDecoder().decode(JSON.self, from: Data(text.utf8))
    }

    /// The field of that name; nil if there is none.
    subscript(name: String) -> JSON? { fields[name] }

    var fields: [String: JSON] { if case .fields(let fields) = self { fields } else { [:] } }
    var list: [JSON] { if case .list(let list) = self { list } else { [] } }
    /// A text; nil for everything else, including null.
    var text: String? { if case .text(let text) = self { text } else { nil } }
    var number: Double? { if case .number(let number) = self { number } else { nil } }
    var flag: Bool? { if case .bool(let flag) = self { flag } else { nil } }

    var description: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "?"
    }
}

/// The store and connections on which a scenario runs.
struct Prepared {
    let url: String
    let offers: Set<String>
    let connections: [String: String]
}

/// The program that controls the store and the network. One task at a time asks it.
final class Harness: Sendable {
    private let child: Child

    init() async throws {
        child = try Child(try tool("INCUMBENT_HARNESS"))
        let hello = try await read()
        guard hello["harness"]?.text == "incumbent", hello["protocol"]?.number == 1 else {
            throw Unmet("another protocol: \(hello)")
        }
    }

    func prepare(_ store: String, leaseMs: Double, connections: [String]) async throws -> Prepared {
        let reply = try await ask("prepare", [
            "store": .text(store), "lease_ms": .number(leaseMs), "connections": .list(connections.map { .text($0) }),
        ])
        return Prepared(
            url: reply["url"]?.text ?? "",
            offers: Set(reply["offers"]?.list.compactMap(\.text) ?? []),
            connections: reply["connections"]?.fields.compactMapValues(\.text) ?? [:]
        )
    }

    @discardableResult
    func ask(_ what: String, _ fields: [String: JSON] = [:]) async throws -> JSON {
        try child.say("\(JSON.fields(fields.merging(["do": .text(what)]) { $1 }))")
        let reply = try await read()
        guard reply["ok"]?.flag == true else { throw Unmet("the harness does not \(what): \(reply)") }
        return reply
    }

    private func read() async throws -> JSON {
        guard let line = try await child.line() else { throw Unmet("the harness has ended") }
        return try JSON.parse(line)
    }

    /// Ends the program by closing its input.
    func end() async throws {
        child.closeInput()
        _ = try await child.ended()
    }
}
