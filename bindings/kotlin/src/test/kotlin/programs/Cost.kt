/**
 * Measures how long a Kotlin program waits, for `cargo xtask bench languages`: the same as
 * `runtime/benches/languages.rs`. Prints one JSON array of figures.
 */
package programs

import incumbent.Event
import incumbent.testing.ScriptedElection
import java.util.concurrent.Semaphore
import kotlin.concurrent.thread
import kotlinx.coroutines.flow.mapNotNull
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.runBlocking

private const val CALLS = 10_000
private const val RUNS = 100
private const val EVENTS = 2_000
private const val WARM = 500

/** The time of one call in the quickest of many short runs. */
private inline fun nanoseconds(call: () -> Boolean): Double {
    var least = Double.MAX_VALUE
    repeat(RUNS) {
        var leads = 0
        val began = System.nanoTime()
        repeat(CALLS) { if (call()) leads += 1 }
        least = minOf(least, (System.nanoTime() - began).toDouble() / CALLS)
        check(leads == CALLS) { "it led $leads times" }
    }
    return least
}

/** The microseconds from another thread's report of a leader until the collector has the event, sorted. */
private fun events(election: ScriptedElection): List<Double> {
    val ready = Semaphore(1)
    thread(isDaemon = true) {
        while (true) {
            ready.acquire()
            // The collector is idle by then, as in a real program.
            Thread.sleep(1)
            election.leader(System.nanoTime().toString())
        }
    }
    val took = ArrayList<Double>()
    runBlocking {
        val changes = election.candidate.events().mapNotNull { (it as? Event.LeaderChanged)?.leader }
        changes.take(EVENTS).collect { leader ->
            took.add((System.nanoTime() - leader.name.toLong()) / 1e3)
            ready.release()
        }
    }
    return took.drop(WARM).sorted()
}

fun main() {
    val election = ScriptedElection()
    election.acquire()
    val candidate = election.candidate
    val term = candidate.term!!
    val isLeader = nanoseconds { candidate.isLeader }
    val isCurrent = nanoseconds { term.isCurrent }
    val took = events(election)
    val figures = listOf(
        figure("is_leader()", isLeader, "ns", RUNS),
        figure("term.is_current()", isCurrent, "ns", RUNS),
        figure("an event, p50", took[took.size / 2], "µs", took.size),
        figure("an event, p99", took[took.size * 99 / 100], "µs", took.size),
    )
    println(figures.joinToString(",", "[", "]"))
}

private fun figure(name: String, value: Double, unit: String, samples: Int) =
    """{"figure": "$name", "value": $value, "unit": "$unit", "samples": $samples}"""
