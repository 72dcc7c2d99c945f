import Foundation
import Incumbent

let arguments = CommandLine.arguments.dropFirst()
switch arguments.first {
case "worker": try await worker(Array(arguments.dropFirst()))
case "asked": try await asked(Array(arguments.dropFirst()))
case "contender": try await contender(Array(arguments.dropFirst()))
case "commanded": try await commanded()
case "stubborn": try await stubborn(Array(arguments.dropFirst()))
case "blocked": try await blocked()
case "cost": try await cost()
case "leaks": try await leaks(Array(arguments.dropFirst()))
case "run": try await running(Array(arguments.dropFirst()))
default: fatalError("there is no such program")
}
